"""What is known of each segment of a run, over all ranks: the input of every method.

The thesis works on one value per segment and feature. Which one is fixed here: durations are medians over ranks (all
ranks leave a synchronising collective together, so one late rank lengthens the segment for all), work is that of the
busiest rank, calls and bytes are sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import median_over_rows
from crosswind.analysis.errors import InputError
from crosswind.profile.segments import SegmentTable

__all__ = ["SegmentFeatures", "merged_twos", "segment_features"]

_WORK_COLUMNS = ("flops", "instructions", "cpu_us")  # in the order of trust
_CALL_COLUMNS = ("p2p_calls", "coll_calls", "io_calls")
_BYTE_COLUMNS = ("p2p_bytes", "coll_bytes", "io_bytes")
_MOST_TWOS = 16  # bits of a signature that merging may cost


@dataclass(frozen=True)
class SegmentFeatures:
    """Features of the segments of one run; every array is [segment].

    duration_us: median over ranks. work: maximum over ranks of the best work feature there is, outside MPI and I/O;
    work_kind names it: ``flops``, ``instructions``, ``cpu_us`` or, with work None, ``none``. cpu_us: maximum over
    ranks of CPU time outside MPI, or None. calls, bytes: sums over ranks by column name; absent columns are left out.
    signature: uint64, one hash of the call sites of all MPI calls on all ranks, or None where they are not known; equal
    for merges of the same segments, however many. ranks: how many ranks have the segment. stride: how many real
    segments it merges. from_call_sites: bool, whether a recurring call site cut it, not a global collective.
    """

    duration_us: NDArray[np.float64]
    work: NDArray[np.float64] | None
    work_kind: str
    cpu_us: NDArray[np.float64] | None
    calls: dict[str, NDArray[np.float64]]
    bytes: dict[str, NDArray[np.float64]]
    signature: NDArray[np.uint64] | None
    ranks: NDArray[np.int64]
    stride: NDArray[np.int64]
    from_call_sites: NDArray[np.bool_]

    @property
    def has_counters(self) -> bool:
        """Whether the work is what processor counters counted."""
        return self.work_kind in ("flops", "instructions")

    @property
    def total_us(self) -> float:
        """Duration of the run as far as segments cover it."""
        return float(self.duration_us.sum())


def segment_features(table: SegmentTable, lost_bits: int | None = None) -> SegmentFeatures:
    """Reduce a segment table over its ranks.

    lost_bits: of the signatures, to merging (merged_twos); to compare several runs the largest of theirs.
    A segment that no rank has gets zeros, so that it weighs nothing. InputError: a duration or feature is negative,
    infinite or missing on all ranks; the message names column and segment.
    """
    work_kind, work = _best_work(table)
    return SegmentFeatures(
        duration_us=_checked(table, "dur_us", median_over_rows(table.columns["dur_us"])),
        work=work,
        work_kind=work_kind,
        cpu_us=work if work_kind == "cpu_us" else _maximum(table, "cpu_us"),
        calls={name: _sum(table, name) for name in _CALL_COLUMNS if name in table.columns},
        bytes={name: _sum(table, name) for name in _BYTE_COLUMNS if name in table.columns},
        signature=_signature(table, merged_twos(table.stride) if lost_bits is None else lost_bits),
        ranks=np.count_nonzero(table.valid, axis=0).astype(np.int64),
        stride=table.stride,
        from_call_sites=table.from_call_sites,
    )


def _best_work(table: SegmentTable) -> tuple[str, NDArray[np.float64] | None]:
    """The first work feature that is not zero everywhere (a machine without counters writes zeros)."""
    for name in _WORK_COLUMNS:
        work = _maximum(table, name)
        if work is not None and np.any(work > 0):
            return name, work
    return "none", None


def _maximum(table: SegmentTable, name: str) -> NDArray[np.float64] | None:
    """Maximum over ranks of a column, [segment]; None where the table has no such column."""
    if name not in table.columns:
        return None
    return _checked(table, name, np.fmax.reduce(table.columns[name], axis=0, initial=np.nan))


def _sum(table: SegmentTable, name: str) -> NDArray[np.float64]:
    """Sum of a column over the ranks that have the segment, [segment]."""
    column = table.columns[name]
    total = np.add.reduce(column, axis=0)
    holed = np.isnan(total)
    if np.any(holed):
        total[holed] = np.nansum(column[:, holed], axis=0)
    return _checked(table, name, total)


def merged_twos(stride: NDArray[np.int64]) -> int:
    """How often 2 divides the numbers of merged segments, at most; 16 where it is more."""
    return min(int(_twos(stride).max(initial=0)), _MOST_TWOS)


def _twos(stride: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often 2 divides each, [segment]."""
    return np.bitwise_count((stride & -stride) - 1).astype(np.int64)


def _signature(table: SegmentTable, lost_bits: int) -> NDArray[np.uint64] | None:
    """One hash [segment] of the ranks' signatures, whichever rank has which; None where none is recorded.

    Rank by rank: arrays of all ranks at once would be as large as the table, and fresh memory costs most of the time.
    """
    signatures = table.columns.get("sig")
    if signatures is None or not np.any(signatures):
        return None
    of_one = _of_one_segment(table.stride, lost_bits)
    total = np.zeros(table.n_segments, dtype=np.uint64)
    for sums, valid in zip(signatures, table.valid, strict=True):
        mixed = of_one(sums) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed *= valid
        total += mixed
    return total


def _of_one_segment(stride: NDArray[np.int64], lost_bits: int) -> Callable[[NDArray[np.uint64]], NDArray[np.uint64]]:
    """What sums of 32-bit signatures modulo 2**32 [segment] say of one of the merged segments, as a function: the same
    for merges of any number of equal ones.

    Of n = odd * 2**k segments of signature s the sum is n * s. Times the inverse of odd it is s * 2**k: the upper k
    bits of s are lost. Those with a smaller k lose as many by a shift; those with a larger one keep to themselves.
    """
    if lost_bits == 0 and not np.any(stride > 1):
        return lambda sums: sums
    twos = _twos(stride)
    odd = (stride >> twos).astype(np.uint64)
    inverse = odd  # right in 3 bits; each step doubles them
    for _ in range(4):
        inverse = inverse * (np.uint64(2) - odd * inverse)
    factor = inverse << np.maximum(lost_bits - twos, 0).astype(np.uint64)
    apart = np.maximum(twos - lost_bits, 0).astype(np.uint64) << np.uint64(32)
    return lambda sums: (sums * factor) & np.uint64(0xFFFFFFFF) | apart


def _checked(table: SegmentTable, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with zeros for absent segments; InputError for what no measurement can be."""
    absent = ~table.valid.any(axis=0)
    wrong = np.flatnonzero(~absent & ~((values >= 0) & (values < np.inf)))
    if wrong.size:
        raise InputError(f"segment {table.index[wrong[0]]}: {name} is {values[wrong[0]]:g}")
    return np.where(absent, 0.0, values)
