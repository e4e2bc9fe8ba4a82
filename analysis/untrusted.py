"""When not to trust a measurement: the stretches of a run that were hit, for a person who wants to drop them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.result import Estimate
from crosswind.analysis.starts import begins_us
from crosswind.profile.segments import SegmentTable

__all__ = ["UntrustedIntervals", "untrusted_intervals"]

_BRIDGED = 2  # quiet segments between two hit ones that do not part an interval


@dataclass(frozen=True)
class UntrustedIntervals:
    """Stretches of hit segments in run order, as columns [interval].

    begin_us, end_us: float64, UTC microseconds; begin_s: float64, seconds after the first segment's begin. first,
    last: int64, numbers of the segments since MPI_Init. segments, hit: int64, how many lie in it and how many of them
    were hit; segments that the library merged are hit together. lost_s: float64.
    """

    begin_us: NDArray[np.float64]
    end_us: NDArray[np.float64]
    begin_s: NDArray[np.float64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    segments: NDArray[np.int64]
    hit: NDArray[np.int64]
    lost_s: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of intervals."""
        return int(self.first.size)


def untrusted_intervals(table: SegmentTable, estimate: Estimate) -> UntrustedIntervals:
    """Join the hit segments of a run to intervals; up to two quiet segments between hit ones are bridged.

    InputError: the table has no start times, or is not the one that was estimated.
    """
    begins = begins_us(table, estimate)
    hit = np.flatnonzero(estimate.hit)
    opens = np.flatnonzero(np.diff(hit, prepend=-1 - _BRIDGED - 1) > _BRIDGED + 1)
    first = hit[opens]
    last = hit[np.append(opens[1:] - 1, hit.size - 1)] if hit.size else hit
    run_begin_us = float(np.nanmin(begins)) if begins.size else 0.0
    return UntrustedIntervals(
        begin_us=begins[first],
        end_us=begins[last] + estimate.duration_us[last],
        begin_s=(begins[first] - run_begin_us) / 1e6,
        first=table.index[first],
        last=table.index[last] + table.stride[last] - 1,
        segments=_sums(table.stride, first, last),
        hit=_sums(np.where(estimate.hit, table.stride, 0), first, last),
        lost_s=_sums(estimate.excess_us, first, last) / 1e6,
    )


def _sums(values: NDArray[Any], first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[Any]:
    """Sum of values[first : last + 1] for each pair, of the type of the values."""
    until = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])
    return until[last + 1] - until[first]
