"""The undisturbed level of a group, from ratios of measured to expected time of which many may be disturbed.

Interference only adds time. So the level lies where the values are densest, or at their median, whichever is lower and
believable; and its noise is told by the values below it, which interference cannot have touched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrc

from crosswind.analysis.arrays import median

__all__ = [
    "THRESHOLD_NOISES",
    "Baseline",
    "find_baseline",
    "levels_of_rows",
    "minority_baseline",
    "period_of_hits",
    "quickest_baseline",
]  # fmt: skip

THRESHOLD_NOISES = 4.0
_DENSEST_SHARE = 0.3  # of the values, in the shortest interval
_MINORITY_SHARE = 0.15  # where more than 70 % are disturbed
_AGREEING_LEAST = 8  # members, as many as have a baseline of their own
_SATURATED_QUANTILE = 0.05
_QUICK_NOISE = 0.02  # of a member at that level; what lies below must agree so well to be taken for undisturbed
_BY_CHANCE = 0.05  # the probability from which on agreement is put down to chance
_LONGEST_PERIOD = 200
_PERIODS_SEEN = 8  # at least: each part must be large enough to have a baseline of its own
_REPEATS = 0.75  # autocorrelation at the period
_CLUSTERED = 0.5  # autocorrelation of neighbours, above which hits come in stretches and not in turns


@dataclass(frozen=True)
class Baseline:
    """level, noise: of the ratios. hit: bool [member], beyond level + 4 noises.

    spread: the noise as measured; `noise` is at least what clocks cannot tell apart.
    """

    level: float
    spread: float
    noise: float
    hit: NDArray[np.bool_]

    @property
    def threshold(self) -> float:
        """The ratio beyond which a member is hit."""
        return self.level + THRESHOLD_NOISES * self.noise

    def agrees(self, ratios: NDArray[np.float64], beside: float = 0.0) -> bool:
        """Of the quickest_baseline of ratios [member]: whether what lies below the level differs little, and more
        members lie about it than chance puts there. Else the group varies by nature, and even its quickest members are
        not known to be undisturbed.

        beside: what members have besides what is judged (CPU time without counters), in the unit of the ratios: little
        is measured by all of a member.
        """
        little = _QUICK_NOISE * (self.level + beside)
        return self.spread <= little and _is_pile(ratios, self.level, little)


def _is_pile(ratios: NDArray[np.float64], level: float, within: float) -> bool:
    """Whether 8 members lie `within` the 5 % quantile, or beside one there so many more that chance is unlikely.

    Of few members that vary, two or three are close to one another anyway: their number would be Poisson's, as if those
    up to the median were spread evenly.
    """
    about = int(np.count_nonzero(np.abs(ratios - level) <= within))
    reach = max(median(ratios) - level, within)
    by_chance = (0.5 - _SATURATED_QUANTILE) * ratios.size * 2 * within / reach
    return about >= _AGREEING_LEAST or float(pdtrc(about - 2, by_chance)) < _BY_CHANCE


def find_baseline(ratios: NDArray[np.float64], least_noise: float) -> Baseline:
    """The baseline of ratios [member]; `least_noise` bounds its noise from below, for what clocks cannot tell apart.

    The level is the middle of the densest 30 % if that lies below the median by more than its own noise, else the
    median.
    """
    ordered = np.sort(ratios)
    return _judged(ratios, ordered, float(levels_of_rows(ordered[None, :])[0]), least_noise)


def minority_baseline(ratios: NDArray[np.float64], least_noise: float, usual_noise: float) -> Baseline | None:
    """The baseline of a group of which more than 70 % may be disturbed: the middle of the densest 15 %.

    usual_noise: what ratios of other groups of the run differ by. None: no 8 members agree within that, so they are
    no undisturbed minority.
    """
    ordered = np.sort(ratios)
    found = _judged(ratios, ordered, float(_densest(ordered[None, :], _MINORITY_SHARE)[0]), least_noise)
    within = THRESHOLD_NOISES * max(usual_noise, least_noise)
    agreeing = np.count_nonzero(np.abs(ratios - found.level) <= within)
    believable = found.spread <= 2 * max(usual_noise, least_noise)
    return found if believable and agreeing >= max(_AGREEING_LEAST, _MINORITY_SHARE * ratios.size) else None


def quickest_baseline(ratios: NDArray[np.float64], least_noise: float) -> Baseline:
    """The baseline of a group that is disturbed nearly all the time, if it is: the 5 % quantile of the ratios [member].

    See Baseline.agrees for whether what is quicker still may be taken for undisturbed.
    """
    ordered = np.sort(ratios)
    return _judged(ratios, ordered, float(np.quantile(ordered, _SATURATED_QUANTILE)), least_noise)


def _judged(ratios: NDArray[np.float64], ordered: NDArray[np.float64], level: float, least_noise: float) -> Baseline:
    spread = float(_noise_below(ordered[None, :], np.array([level]))[0])
    noise = max(spread, least_noise)
    return Baseline(level, spread, noise, ratios > level + THRESHOLD_NOISES * noise)


def levels_of_rows(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """The undisturbed level of each row, [row]; ordered: [row, value], each row sorted. The rule is find_baseline's."""
    median, densest = _middle(ordered, np.zeros(ordered.shape[0], dtype=np.intp), ordered.shape[1]), _densest(ordered)
    return np.where(median - densest > _noise_below(ordered, densest), densest, median)


def _middle(ordered: NDArray[np.float64], begin: NDArray[np.intp], n: int | NDArray[np.intp]) -> NDArray[np.float64]:
    """Median of n values of each sorted row from `begin` on, [row]; n is 1 or more."""
    each = np.arange(ordered.shape[0])
    return (ordered[each, begin + (n - 1) // 2] + ordered[each, begin + n // 2]) / 2


def _densest(ordered: NDArray[np.float64], share: float = _DENSEST_SHARE) -> NDArray[np.float64]:
    """Median of the shortest interval that holds `share` of the values of each sorted row, [row]."""
    n = ordered.shape[1]
    k = max(int(np.ceil(share * n)), 1)
    begin = np.argmin(ordered[:, k - 1 :] - ordered[:, : n - k + 1], axis=1)
    return _middle(ordered, begin, k)


def _noise_below(ordered: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median distance from the level [row] of the values of each sorted row below it, [row]; 0 if there are none."""
    below = np.count_nonzero(ordered < level[:, None], axis=1)
    middle = _middle(ordered, np.zeros(below.size, dtype=np.intp), np.maximum(below, 1))
    return np.where(below > 0, level - middle, 0.0)


def period_of_hits(hit: NDArray[np.bool_]) -> int | None:
    """After how many members hits recur, if they come in turns: the first lag from 2 on with autocorrelation > 0.75.

    hit: bool [member] in run order. Hits in turns are a phase of the program that its calls do not tell from others
    (every tenth step writes more), not interference. None: they come in stretches, or without order.
    """
    longest = min(_LONGEST_PERIOD, hit.size // _PERIODS_SEEN)
    if longest < 2 or hit.all() or not hit.any():
        return None
    correlation = _autocorrelation(hit.astype(np.float64), longest)
    if correlation[1] > _CLUSTERED:
        return None
    recurring = np.flatnonzero(correlation[2:] > _REPEATS)
    return int(recurring[0]) + 2 if recurring.size else None


def _autocorrelation(values: NDArray[np.float64], longest: int) -> NDArray[np.float64]:
    """Autocorrelation at the lags 0 to `longest`, [lag], each over the pairs that exist."""
    centred = values - values.mean()
    size = 1 << int(2 * values.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    sums = np.fft.irfft(spectrum * spectrum.conj(), size)[: longest + 1]
    pairs = values.size - np.arange(longest + 1)
    return sums / pairs / max(sums[0] / values.size, 1e-300)
