"""When the segments of an estimated run began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import median_over_rows
from crosswind.analysis.errors import InputError
from crosswind.analysis.result import Estimate
from crosswind.profile.segments import SegmentTable

__all__ = ["begins_us"]


def begins_us(table: SegmentTable, estimate: Estimate) -> NDArray[np.float64]:
    """The begin of each segment in UTC microseconds, the median over its ranks, [segment].

    InputError: the table has no start times, or is not the one that was estimated.
    """
    if "t_start_us" not in table.columns:
        raise InputError("the segments have no start times (t_start_us)")
    if estimate.hit.size != table.n_segments:
        raise InputError(f"the estimate is of {estimate.hit.size} segments, the table has {table.n_segments}")
    return median_over_rows(table.columns["t_start_us"])
