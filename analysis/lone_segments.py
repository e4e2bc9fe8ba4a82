"""What segments without their like lost amid a stretch that was hit.

Nothing says how long such a segment should have taken. But interference lasts: where all segments next to it were hit,
it was hit as well, and lost at the rate at which the time beside it did. Delays that come at random, one segment here
and one there, say nothing of the segment between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["lost_amid_hits"]

_NEIGHBOURS = 8  # on either side, all of which must have been hit; as many as make a baseline
_TOLD = 0.5  # of the time beside it: judged, or there is less to go by than to tell


def lost_amid_hits(
    lone: NDArray[np.bool_], judged: NDArray[np.bool_], duration_us: NDArray[np.float64], excess_us: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What each lone segment is taken to have lost, microseconds [segment]; 0 for all others.

    Arrays are [segment] in run order. lone: which have no like. judged: which were compared with theirs, and lost
    excess_us. Lone segments that follow one another are one stretch. It lies amid hits if the 8 segments before it and
    the 8 after it were all hit; at the begin and the end of a run one side is enough. It lost what judged segments lost
    in as long a time on either side as it takes itself, if these make up half of that time or more.
    """
    stretch = _stretches(lone)
    n, length_us = lone.size, _between(duration_us, *stretch)
    near = np.maximum(stretch[0] - _NEIGHBOURS, 0), np.minimum(stretch[1] + _NEIGHBOURS, n)
    before, after = stretch[0] - near[0], near[1] - stretch[1]
    amid = _beside(excess_us > 0, stretch, near) == before + after
    amid &= np.maximum(before, after) == _NEIGHBOURS

    as_long = _as_long(duration_us, stretch, length_us)
    around = np.minimum(as_long[0], near[0]), np.maximum(as_long[1], near[1])
    told_us = _beside(np.where(judged, duration_us, 0.0), stretch, around)
    lost_us = _beside(np.where(judged, excess_us, 0.0), stretch, around)
    amid &= told_us >= _TOLD * np.maximum(_beside(duration_us, stretch, around), length_us)
    amid &= told_us > 0

    rate = np.where(amid, lost_us, 0.0) / np.where(amid, told_us, 1.0)
    found_us = np.zeros(n)
    found_us[lone] = duration_us[lone] * np.repeat(rate, stretch[1] - stretch[0])
    return found_us


Ranges = tuple[NDArray[np.intp], NDArray[np.intp]]  # first and one past the last, [stretch] each


def _stretches(chosen: NDArray[np.bool_]) -> Ranges:
    """Each run of chosen segments."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2]


def _as_long(duration_us: NDArray[np.float64], stretch: Ranges, length_us: NDArray[np.float64]) -> Ranges:
    """Each stretch with segments on either side that take `length_us` [stretch] at least, where the run has them."""
    begins_us = _cumulated(duration_us)
    first = np.searchsorted(begins_us, begins_us[stretch[0]] - length_us, "right") - 1
    last = np.searchsorted(begins_us, begins_us[stretch[1]] + length_us)
    return np.maximum(first, 0), np.minimum(last, duration_us.size)


def _beside(values: NDArray, stretch: Ranges, around: Ranges) -> NDArray[np.float64]:
    """Sums of values [segment] over what `around` has beside each stretch, [stretch]."""
    return _between(values, around[0], stretch[0]) + _between(values, stretch[1], around[1])


def _between(values: NDArray, first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sums of values[first:last] for each pair."""
    until = _cumulated(values)
    return until[last] - until[first]


def _cumulated(values: NDArray) -> NDArray[np.float64]:
    """Sums of the values before each place, [segment + 1]."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
