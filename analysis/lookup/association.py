"""Does a suspect's load rise when the victim loses time? Many suspects tested at once, against chance.

Rank correlation (C. Spearman 1904) between the victim's loss and each suspect's load, the largest over a few lags.
Chance is what the same loss does when its stretches stand at other times: the stationary bootstrap (D. N. Politis and
J. P. Romano, The stationary bootstrap, JASA 89, 1994) draws blocks of random length from the loss, so that surrogates
have its distribution and its short-range dependence, but neither its times nor a period. The largest correlation over
the lags is taken in the surrogates too, so that looking at several lags earns nothing. For a suspect that chance has
matched often enough no more is drawn (J. Besag and P. Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from crosswind.analysis.errors import InputError

__all__ = ["LAGS", "Association", "associate"]

LAGS: tuple[int, ...] = (0, 1, 2)  # slices by which the loss may follow the load: caches and queues drain late
SURROGATES = 3999
LEAST_SLICES = 20  # that victim and suspect share
LEAST_STRETCHES = 5  # of a loss that remembers itself for long: with fewer, one coincidence looks like many
ENOUGH = 40  # matches by chance after which a suspect's p is known well enough
_MOST_IN_A_BLOCK = 0.1  # of the run: mean length of a block
_BATCH_VALUES = 1 << 20  # of surrogates at a time: 8 MB

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Association:
    """Per suspect, each [suspect]; NaN (lag: 0) where too few slices are shared or one of the two never changes.

    rho: the rank correlation at the best lag, -1 to 1. lag: slices by which the loss follows the load there. p: how
    often chance does as well, from 1 / (surrogates + 1) to 1; 1 where rho is not above 0. loss_when_high,
    loss_when_low: mean loss in the slices where the suspect's load (at that lag) is above its mean, and in the others;
    in the unit of the loss. slices_high: how many of the former there are. repeats: whether the loss came in
    enough stretches for p to mean anything.
    """

    rho: Floats
    lag: NDArray[np.int64]
    p: Floats
    loss_when_high: Floats
    loss_when_low: Floats
    slices_high: NDArray[np.int64]
    repeats: bool


def associate(
    loss: Floats,
    loads: Floats,
    *,
    lags: tuple[int, ...] = LAGS,
    surrogates: int = SURROGATES,
    seed: int = 0,
) -> Association:
    """Test each suspect against the victim.

    loss: [slice], what the victim lost (seconds, or how far it fell short), NaN where it was not there. loads:
    [suspect, slice] on the same slices, 0 where the suspect was not running, NaN where nobody knows. The same input and
    seed give the same result. Memory: some ten times the loads. InputError: shapes that do not fit, negative lags.
    """
    if loss.ndim != 1 or loads.ndim != 2 or loads.shape[1] != loss.size:
        raise InputError("loads must have a row per suspect and a column per slice of the loss")
    if not lags or min(lags) < 0:
        raise InputError("a loss can follow a load, not go before it: lags are 0 or more")
    there = np.flatnonzero(~np.isnan(loss))
    victim = loss[there]
    ranks = rankdata(victim)
    shifted = [_Shifted.of(loads, there - lag) for lag in lags]
    rho, best = _best([each.correlation(ranks[None])[:, 0] for each in shifted])
    lag = np.array(lags)[best]
    longest = max(1.0, victim.size * _MOST_IN_A_BLOCK)
    block = _block_length(ranks)
    p = _p_values(rho, ranks, shifted, min(block, longest), surrogates, seed)
    contrast = _Contrast.of(victim, loads, there, lag)
    unknown = np.isnan(rho)
    return Association(
        rho=rho,
        lag=np.where(unknown, 0, lag),
        p=np.where(unknown, np.nan, p),
        loss_when_high=np.where(unknown, np.nan, contrast.when_high),
        loss_when_low=np.where(unknown, np.nan, contrast.when_low),
        slices_high=contrast.slices_high,
        repeats=block <= longest or _stretches(victim) >= LEAST_STRETCHES,
    )


@dataclass(frozen=True)
class _Shifted:
    """The ranks of the loads at one lag, [suspect, slice], 0 where unknown; weights: 1 where known."""

    ranks: Floats
    weights: Floats

    @classmethod
    def of(cls, loads: Floats, at: NDArray[np.intp]) -> _Shifted:
        """The loads in slices ``at``; unknown before the first."""
        values = loads[:, np.maximum(at, 0)]
        known = ~np.isnan(values) & (at >= 0)
        ranks = np.zeros(values.shape)
        begin = int(np.count_nonzero(at < 0))
        whole = known[:, begin:].all(axis=1)
        ranks[whole, begin:] = rankdata(values[whole, begin:], axis=1)
        for row in np.flatnonzero(~whole):
            ranks[row, known[row]] = rankdata(values[row, known[row]])
        return cls(ranks, known.astype(np.float64))

    def only(self, suspects: NDArray[np.intp]) -> _Shifted:
        """Of some suspects."""
        return _Shifted(self.ranks[suspects], self.weights[suspects])

    def correlation(self, victims: Floats) -> Floats:
        """With each row of victims [row, slice], over the known slices: [suspect, row]; NaN where too few are known or
        one side is constant.
        """
        count = self.weights.sum(axis=1)[:, None]
        x, xx = self.ranks.sum(axis=1)[:, None], (self.ranks**2).sum(axis=1)[:, None]
        gaps = np.flatnonzero((self.weights == 0).any(axis=0))  # few: the first slices of a lag
        missing, there = 1 - self.weights[:, gaps], victims[:, gaps].T
        y = victims.sum(axis=1) - missing @ there
        yy = (victims**2).sum(axis=1) - missing @ there**2
        xy = self.ranks @ victims.T
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (xx - x**2 / count) * (yy - y**2 / count)
            rho = (xy - x * y / count) / np.sqrt(spread)
        return np.where((count >= LEAST_SLICES) & (spread > 1e-9 * count**2), rho, np.nan)


def _best(by_lag: Sequence[Floats]) -> tuple[Floats, NDArray[np.int64]]:
    """The largest correlation of each suspect over the lags, NaN where there is none, and the number of its lag."""
    values = np.stack(by_lag)
    best = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=0)
    return np.take_along_axis(values, best[None], axis=0)[0], best


def _p_values(
    rho: Floats, ranks: Floats, shifted: Sequence[_Shifted], block: float, surrogates: int, seed: int
) -> Floats:
    """How often chance does as well, [suspect]. ranks: of the victim."""
    as_well, drawn = np.zeros((2, rho.size), dtype=np.int64)
    open_ = np.flatnonzero(rho > 0)
    for loss in _surrogates(ranks, block, surrogates, np.random.default_rng(seed)):
        chance = np.full((open_.size, loss.shape[0]), np.nan)
        for each in shifted:
            chance = np.fmax(chance, each.only(open_).correlation(loss))
        as_well[open_] += np.count_nonzero(chance >= rho[open_, None], axis=1)
        drawn[open_] += loss.shape[0]
        open_ = open_[as_well[open_] < ENOUGH]
        if not open_.size:
            break
    return (1 + as_well) / (1 + drawn)


def _surrogates(ranks: Floats, block: float, n: int, random: np.random.Generator) -> Iterator[Floats]:
    """Ranks of the loss with its blocks at other times, in batches of rows [surrogate, slice]."""
    size = max(ranks.size, 1)
    position = np.arange(ranks.size)
    batch = max(1, _BATCH_VALUES // size)
    for done in range(0, n, batch):
        shape = (min(batch, n - done), ranks.size)
        starts = random.random(shape, dtype=np.float32) < 1 / block
        starts[:, :1] = True
        row, begin = np.nonzero(starts)
        shift = random.integers(0, size, row.size) - begin  # of a block: from its slices to those it is taken from
        length = np.diff(row * size + begin, append=shape[0] * size)
        yield ranks[(np.repeat(shift, length).reshape(shape) + position) % size]


def _block_length(ranks: Floats) -> float:
    """Mean length of blocks: twice the slices after which the loss has forgotten itself."""
    size = ranks.size
    centred = ranks - ranks.mean() if size else ranks
    power = float(centred @ centred)
    if power == 0:
        return 1.0
    spectrum = np.abs(np.fft.rfft(centred, 2 * size)) ** 2
    memory = np.fft.irfft(spectrum)[:size] / power
    forgotten = np.flatnonzero(memory < 2 / np.sqrt(size))
    return float(max(2 * (forgotten[0] if forgotten.size else size), 1))


def _stretches(victim: Floats) -> int:
    """In how many separate stretches the loss is nearer to its high values than to its low ones."""
    low, high = np.quantile(victim, (0.05, 0.95))
    return int(np.count_nonzero(np.diff((victim > (low + high) / 2).astype(np.int8), prepend=0) == 1))


@dataclass(frozen=True)
class _Contrast:
    """Mean loss where each suspect's load is above its mean, and where it is not; each [suspect]."""

    when_high: Floats
    when_low: Floats
    slices_high: NDArray[np.int64]

    @classmethod
    def of(cls, victim: Floats, loads: Floats, there: NDArray[np.intp], lag: NDArray[np.int64]) -> _Contrast:
        """victim: [slice there]; there: indices of these slices; lag: [suspect]."""
        at = there[None] - lag[:, None]
        shifted = np.where(at >= 0, np.take_along_axis(loads, np.maximum(at, 0), axis=1), np.nan)
        known = ~np.isnan(shifted)
        mean = np.where(known, shifted, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        with np.errstate(invalid="ignore"):
            high = known & (shifted > mean[:, None])
        return cls(_mean_where(victim, high), _mean_where(victim, known & ~high), high.sum(axis=1))


def _mean_where(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Mean of values [slice] over the chosen slices of each row, [row]; NaN where none is chosen."""
    count = chosen.sum(axis=1)
    return np.divide(chosen @ values, count, out=np.full(count.shape, np.nan), where=count > 0)
