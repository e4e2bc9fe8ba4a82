"""Does a suspect's load rise when the victim loses time? Many suspects tested at once, against chance.

Rank correlation (C. Spearman 1904) between the victim's loss and each suspect's load, the largest over a few lags.
Chance is what the same loss does when its stretches stand at other times: the stationary bootstrap (D. N. Politis and
J. P. Romano, The stationary bootstrap, JASA 89, 1994) draws blocks of random length from the loss, so that surrogates
have its distribution and its short-range dependence, but neither its times nor a period. The largest correlation over
the lags is taken in the surrogates too, so that looking at several lags earns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from crosswind.analysis.errors import InputError

__all__ = ["LAGS", "Association", "associate"]

LAGS: tuple[int, ...] = (0, 1, 2)  # slices by which the loss may follow the load: caches and queues drain late
SURROGATES = 3999
LEAST_SLICES = 20  # that victim and suspect share
_MOST_IN_A_BLOCK = 0.1  # of the run: mean length of a block


@dataclass(frozen=True)
class Association:
    """Per suspect, each [suspect]; NaN (lag: 0) where too few slices are shared or one of the two never changes.

    rho: the rank correlation at the best lag, -1 to 1. lag: slices by which the loss follows the load there. p: how
    often chance does as well, from 1 / (surrogates + 1) to 1. loss_when_high, loss_when_low: mean loss in the slices
    where the suspect's load (at that lag) is above its mean, and in the others; in the unit of the loss. slices_high:
    how many of the former there are.
    """

    rho: NDArray[np.float64]
    lag: NDArray[np.int64]
    p: NDArray[np.float64]
    loss_when_high: NDArray[np.float64]
    loss_when_low: NDArray[np.float64]
    slices_high: NDArray[np.int64]


def associate(
    loss: NDArray[np.float64],
    loads: NDArray[np.float64],
    *,
    lags: tuple[int, ...] = LAGS,
    surrogates: int = SURROGATES,
    seed: int = 0,
) -> Association:
    """Test each suspect against the victim.

    loss: [slice], what the victim lost (seconds, or the depth of dents), NaN where it was not there. loads: [suspect,
    slice] on the same slices, 0 where the suspect was not running, NaN where nobody knows. The same input and seed give
    the same result. InputError: shapes that do not fit, no or negative lags.
    """
    if loss.ndim != 1 or loads.ndim != 2 or loads.shape[1] != loss.size:
        raise InputError("loads must have a row per suspect and a column per slice of the loss")
    if not lags or min(lags) < 0:
        raise InputError("a loss can follow a load, not go before it: lags are 0 or more")
    there = np.flatnonzero(~np.isnan(loss))
    victim = loss[there]
    drawn = _surrogates(victim, surrogates, np.random.default_rng(seed))
    best = _Best.nothing(loads.shape[0], surrogates)
    for lag in lags:
        shifted = _loads_at(loads, there - lag)
        known = ~np.isnan(shifted)
        ranks = np.where(known, rankdata(shifted, axis=1, nan_policy="omit"), 0.0)
        weights = known.astype(np.float64)
        best = best.better(
            _correlation(ranks, weights, rankdata(victim)[None]), _correlation(ranks, weights, drawn), lag
        )
    p = (1 + np.count_nonzero(best.chance >= best.rho[:, None], axis=1)) / (surrogates + 1)
    unknown = np.isnan(best.rho)
    contrast = _Contrast.of(victim, loads, there, best.lag)
    return Association(
        rho=best.rho,
        lag=np.where(unknown, 0, best.lag),
        p=np.where(unknown, np.nan, p),
        loss_when_high=np.where(unknown, np.nan, contrast.when_high),
        loss_when_low=np.where(unknown, np.nan, contrast.when_low),
        slices_high=contrast.slices_high,
    )


@dataclass(frozen=True)
class _Best:
    """The largest correlation so far over the lags, [suspect], and of each surrogate, [suspect, surrogate]."""

    rho: NDArray[np.float64]
    lag: NDArray[np.int64]
    chance: NDArray[np.float64]

    @classmethod
    def nothing(cls, suspects: int, surrogates: int) -> _Best:
        return cls(
            np.full(suspects, np.nan), np.zeros(suspects, dtype=np.int64), np.full((suspects, surrogates), np.nan)
        )

    def better(self, rho: NDArray[np.float64], chance: NDArray[np.float64], lag: int) -> _Best:
        """With the correlations at one more lag: rho [suspect, 1], chance [suspect, surrogate]."""
        this = rho[:, 0]
        wins = ~np.isnan(this) & (np.isnan(self.rho) | (this > self.rho))
        return _Best(np.where(wins, this, self.rho), np.where(wins, lag, self.lag), np.fmax(self.chance, chance))


def _loads_at(loads: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
    """The loads in slices ``at``, [suspect, len(at)]; NaN before the first."""
    return np.where(at >= 0, loads[:, np.maximum(at, 0)], np.nan)


def _surrogates(victim: NDArray[np.float64], n: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Ranks of the loss with its blocks at other times, [surrogate, slice]."""
    size = victim.size
    ranks = rankdata(victim)
    starts = random.random((n, size)) < 1 / _block_length(ranks)
    starts[:, :1] = True
    origin = random.integers(0, max(size, 1), (n, size))
    position = np.arange(size)
    begin = np.maximum.accumulate(np.where(starts, position, 0), axis=1)  # of the block that a slice is in
    return ranks[(np.take_along_axis(origin, begin, axis=1) + position - begin) % max(size, 1)]


def _block_length(ranks: NDArray[np.float64]) -> float:
    """Mean length of blocks: twice the slices after which the loss has forgotten itself."""
    size = ranks.size
    longest = max(1, int(size * _MOST_IN_A_BLOCK))
    centred = ranks - ranks.mean() if size else ranks
    power = float(centred @ centred)
    if power == 0:
        return 1.0
    spectrum = np.abs(np.fft.rfft(centred, 2 * size)) ** 2
    memory = np.fft.irfft(spectrum)[: longest + 1] / power
    forgotten = np.flatnonzero(memory < 2 / np.sqrt(size))
    return float(np.clip(2 * (forgotten[0] if forgotten.size else longest), 1, longest))


def _correlation(
    ranks: NDArray[np.float64], weights: NDArray[np.float64], victims: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Correlation over the slices whose weight is 1. ranks, weights: [suspect, slice]; victims: [row, slice].

    Returns [suspect, row], NaN where too few slices are known or one side is constant.
    """
    count = weights.sum(axis=1)[:, None]
    x, xx = ranks.sum(axis=1)[:, None], (ranks**2).sum(axis=1)[:, None]
    y, yy, xy = weights @ victims.T, weights @ (victims**2).T, ranks @ victims.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x**2 / count) * (yy - y**2 / count)
        rho = (xy - x * y / count) / np.sqrt(spread)
    return np.where((count >= LEAST_SLICES) & (spread > 1e-9 * count**2), rho, np.nan)


@dataclass(frozen=True)
class _Contrast:
    """Mean loss where each suspect's load is above its mean, and where it is not; each [suspect]."""

    when_high: NDArray[np.float64]
    when_low: NDArray[np.float64]
    slices_high: NDArray[np.int64]

    @classmethod
    def of(
        cls, victim: NDArray[np.float64], loads: NDArray[np.float64], there: NDArray[np.intp], lag: NDArray[np.int64]
    ) -> _Contrast:
        """victim: [slice there]; there: indices of these slices; lag: [suspect]."""
        at = there[None] - lag[:, None]
        shifted = np.where(at >= 0, np.take_along_axis(loads, np.maximum(at, 0), axis=1), np.nan)
        known = ~np.isnan(shifted)
        mean = np.where(known, shifted, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        with np.errstate(invalid="ignore"):
            high = known & (shifted > mean[:, None])
        return cls(_mean_where(victim, high), _mean_where(victim, known & ~high), high.sum(axis=1))


def _mean_where(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean of values [slice] over the chosen slices of each row, [row]; NaN where none is chosen."""
    count = chosen.sum(axis=1)
    return np.divide(chosen @ values, count, out=np.full(count.shape, np.nan), where=count > 0)
