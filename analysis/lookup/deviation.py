"""Dents and peaks: where a series leaves its usual level, and by how much. Pure functions on arrays.

The usual level moves slowly with the run, so it is a running median; the noise is told from the differences of
neighbouring slices, which a slow change does not touch (J. von Neumann et al., The mean square successive difference,
Ann. Math. Stat. 12, 1941; here with the median absolute deviation in the place of the mean square).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import quantile_of_sorted
from crosswind.analysis.errors import InputError

__all__ = ["Deviation", "Episode", "Side", "deviation", "shortfall"]

WINDOW = 225  # slices of the running median: 15 minutes of 4 s
THRESHOLD = 4.0  # noises
LEAST_DEPTH = 0.05  # of the level: a smaller deviation interests nobody
_END = 15  # slices that tell where a series ends
_TO_DEVIATION = 1.4826  # of a normal distribution: standard deviation over MAD


class Side(IntEnum):
    """Which way a series leaves its level."""

    DENT = -1
    PEAK = 1


@dataclass(frozen=True)
class Episode:
    """Neighbouring slices beyond the threshold. first, last: their indices, both included. area: sum of the depths."""

    first: int
    last: int
    area: float


@dataclass(frozen=True)
class Deviation:
    """Where a series leaves its level.

    level: float64 [slice], the usual one, in the unit of the series. depth: float64 [slice], how far beyond it the
    series is on the side asked for, in parts of the level for a dent (0 to 1) and in its unit for a peak; 0 on the
    other side and within the noise, NaN in a gap. noise: one, in the unit of the series. episodes: in order of time.
    """

    level: NDArray[np.float64]
    depth: NDArray[np.float64]
    noise: float
    episodes: tuple[Episode, ...]


def deviation(values: NDArray[np.float64], side: Side, *, window: int = WINDOW) -> Deviation:
    """Dents or peaks of a series [slice], NaN in gaps. InputError: a series of more than one dimension, no window.

    A series must be at its usual level for more than half of each window. One that is dented longer has a lower level,
    as a running median sees it.
    """
    if values.ndim != 1 or window < 1:
        raise InputError("dents are looked for in one series, and in a window of at least one slice")
    level = _running_median(values, window)
    noise = _noise(values)
    beyond = side * (values - level)
    least = np.maximum(THRESHOLD * noise, LEAST_DEPTH * np.abs(level))
    with np.errstate(invalid="ignore"):
        out = beyond > least
    depth = np.where(np.isnan(values), np.nan, np.where(out, beyond, 0.0))
    if side is Side.DENT:
        depth = np.divide(depth, level, out=np.zeros_like(depth), where=(level > 0) | np.isnan(depth))
        depth = np.minimum(depth, 1.0)
    return Deviation(level, depth, noise, _episodes(out, np.nan_to_num(depth)))


def shortfall(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a rate [slice] is below its median, in parts of it: negative above, 1 where nothing moved, NaN in gaps.

    The loss to test suspects against where no segments tell it. Not taken about a running level: that would hide what
    lasts longer than its window.
    """
    there = rate[~np.isnan(rate)]
    level = float(np.median(there)) if there.size else 0.0
    return 1 - rate / level if level > 0 else np.where(np.isnan(rate), np.nan, 0.0)


def _running_median(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The median around each slice, gaps left out; NaN where the whole window is a gap."""
    half = min(window, values.size) // 2
    padded = np.concatenate([_beyond_the_end(values[::-1], half)[::-1], values, _beyond_the_end(values, half)])
    if not padded.size:
        return values
    around = np.sort(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)  # NaN goes last
    return quantile_of_sorted(around, 0.5)


def _beyond_the_end(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """A series [slice] continued by n slices: turned around its end, so that drift makes no dent."""
    if not n:
        return np.zeros(0)
    end = values[-_END:]
    pivot = float(np.median(end[~np.isnan(end)])) if not np.isnan(end).all() else np.nan
    return 2 * pivot - values[-n - 1 : -1][::-1]


def _noise(values: NDArray[np.float64]) -> float:
    """The standard deviation of a slice about a slowly moving level; 0 where it can't be told."""
    steps = np.diff(values)
    steps = steps[~np.isnan(steps)]
    return float(_TO_DEVIATION * np.median(np.abs(steps)) / np.sqrt(2)) if steps.size else 0.0


def _episodes(out: NDArray[np.bool_], depth: NDArray[np.float64]) -> tuple[Episode, ...]:
    edges = np.diff(np.concatenate(([0], out.astype(np.int8), [0])))
    total = np.concatenate(([0.0], np.cumsum(depth)))
    return tuple(
        Episode(int(first), int(behind) - 1, float(total[behind] - total[first]))
        for first, behind in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    )
