"""When the time was lost: the loss of each segment spread over the slices it lies in, for pages that shade them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.result import Estimate
from crosswind.analysis.starts import begins_us
from crosswind.profile.segments import SegmentTable

__all__ = ["lost_per_slice"]


def lost_per_slice(
    table: SegmentTable, estimate: Estimate, slice_ns: int, first_slice: int, n_slices: int
) -> NDArray[np.float64]:
    """Seconds lost in each slice, [slice]; slice j is [(first_slice + j) * slice_ns, + slice_ns) in UTC.

    The loss of a segment is spread evenly over its duration, from the median over ranks of its start. Losses outside
    the slices asked for are left out; over slices that hold the whole run the sum is ``estimate.interference_s``.
    InputError: the table has no start times, or is not the one that was estimated.
    """
    begins = begins_us(table, estimate)
    hit = np.flatnonzero(estimate.hit)
    edges_us = np.arange(n_slices + 1, dtype=np.float64) * (slice_ns / 1e3)
    origin_us = first_slice * (slice_ns / 1e3)
    begin = begins[hit] - origin_us
    return np.diff(_lost_until(edges_us, begin, estimate.duration_us[hit], estimate.excess_us[hit] / 1e6))


def _lost_until(
    times_us: NDArray[np.float64],
    begin_us: NDArray[np.float64],
    duration_us: NDArray[np.float64],
    lost_s: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Seconds lost up to each of ``times_us`` (ascending), when each segment loses at a constant rate while it lasts.

    The sum of ramps is piecewise linear with a knee at each begin and end: sort the knees, add up slopes, interpolate.
    """
    if begin_us.size == 0:
        return np.zeros_like(times_us)
    slope = lost_s / duration_us  # a hit segment has a positive duration
    knees = np.concatenate([begin_us, begin_us + duration_us])
    order = np.argsort(knees, kind="stable")
    knees = knees[order]
    slopes = np.cumsum(np.concatenate([slope, -slope])[order])
    levels = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(knees))])
    return np.interp(times_us, knees, levels)
