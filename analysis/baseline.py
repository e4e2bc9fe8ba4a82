"""The undisturbed level of a group, from ratios of measured to expected time of which many may be disturbed.

Interference only adds time. So the level lies where the values are densest, or at their median, whichever is lower and
believable; and its noise is told by the values below it, which interference cannot have touched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Baseline", "find_baseline", "period_of_hits", "saturated_baseline"]

_DENSEST_SHARE = 0.3  # of the values, in the shortest interval
_THRESHOLD_NOISES = 4.0
_SATURATED_QUANTILE = 0.05
_QUICK_NOISE = 0.02  # of that level; what lies below must agree so well to be taken for undisturbed
_LONGEST_PERIOD = 200
_PERIODS_SEEN = 8  # at least: each part must be large enough to have a baseline of its own
_REPEATS = 0.75  # autocorrelation at the period
_CLUSTERED = 0.5  # autocorrelation of neighbours, above which hits come in stretches and not in turns


@dataclass(frozen=True)
class Baseline:
    """level, noise: of the ratios. hit: bool [member], beyond level + 4 noises."""

    level: float
    noise: float
    hit: NDArray[np.bool_]

    @property
    def threshold(self) -> float:
        """The ratio beyond which a member is hit."""
        return self.level + _THRESHOLD_NOISES * self.noise


def find_baseline(ratios: NDArray[np.float64], least_noise: float) -> Baseline:
    """The baseline of ratios [member]; `least_noise` bounds its noise from below, for what clocks cannot tell apart.

    The level is the middle of the densest 30 % if that lies below the median by more than its own noise, else the
    median.
    """
    ordered = np.sort(ratios)
    median, densest = _median_of_sorted(ordered), _densest(ordered)
    level = densest if median - densest > _noise_below(ordered, densest) else median
    return _judged(ratios, ordered, level, least_noise)


def saturated_baseline(ratios: NDArray[np.float64], least_noise: float) -> Baseline | None:
    """The baseline of a group that is disturbed nearly all the time: the 5 % quantile of the ratios [member].

    None: what is quicker still differs too much: the group varies by nature, and none of it is known to be undisturbed.
    """
    ordered = np.sort(ratios)
    level = float(np.quantile(ordered, _SATURATED_QUANTILE))
    if _noise_below(ordered, level) > _QUICK_NOISE * level:
        return None
    return _judged(ratios, ordered, level, least_noise)


def _judged(ratios: NDArray[np.float64], ordered: NDArray[np.float64], level: float, least_noise: float) -> Baseline:
    noise = max(_noise_below(ordered, level), least_noise)
    return Baseline(level, noise, ratios > level + _THRESHOLD_NOISES * noise)


def _median_of_sorted(ordered: NDArray[np.float64]) -> float:
    n = ordered.size
    return float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def _densest(ordered: NDArray[np.float64]) -> float:
    """Median of the shortest interval that holds 30 % of the values."""
    k = max(int(np.ceil(_DENSEST_SHARE * ordered.size)), 1)
    begin = int(np.argmin(ordered[k - 1 :] - ordered[: ordered.size - k + 1]))
    return _median_of_sorted(ordered[begin : begin + k])


def _noise_below(ordered: NDArray[np.float64], level: float) -> float:
    """Median distance from `level` of the values below it; 0 if there are none."""
    below = ordered[: np.searchsorted(ordered, level)]
    return level - _median_of_sorted(below) if below.size else 0.0


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
