"""The segments of one process as its spool file holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import varint
from crosswind.profile.records import MAX_VALUE, committed, fixed, prefix, report, running_index

__all__ = ["SITE_BITS", "SegmentLog", "read_segments"]

SITE_BITS = 31
"""A position is world << SITE_BITS | site: how many world-sized cuts there were before it, how many cuts at recurring
call sites since then."""
HEAD = 5  # numbers of a record before its values
MAX_WORLD = 1 << 32

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SegmentLog:
    """Segments, or neighbours merged, in the order of the run.

    All int64. begin, end: positions; the end is the position of the segment behind it. count: how many it merges.
    begin_tick: of its begin. function: number of the function that closed it. signature: 32 bits. values: [row, field],
    fields in the order of the table.
    """

    begin: Ints
    end: Ints
    count: Ints
    begin_tick: Ints
    function: Ints
    signature: Ints
    values: Ints

    def __len__(self) -> int:
        return int(self.begin.size)


def read_segments(chunks: list[bytes], n_fields: int, n_functions: int) -> tuple[SegmentLog, list[str]]:
    """All segment records of the chunks of this kind, and what was wrong, one sentence a chunk."""
    longest = 10 * (HEAD + n_fields)
    logs: list[SegmentLog] = []
    problems: list[str] = []
    for numbers in committed(chunks, longest, "segment", problems):
        log, good = _records(numbers, n_fields, n_functions)
        report("segment", good, problems)
        logs.append(log)
    return _joined(logs), problems


def _joined(logs: Sequence[SegmentLog]) -> SegmentLog:
    """One after the other."""
    return SegmentLog(*(np.concatenate([getattr(log, field.name) for log in logs]) for field in fields(SegmentLog)))


def _records(numbers: varint.Varints, n_fields: int, n_functions: int) -> tuple[SegmentLog, NDArray[np.bool_]]:
    """Good records of a chunk up to the first bad one; which were good."""
    good = numbers.good & (numbers.count == HEAD + n_fields)
    rows = fixed(numbers, good, HEAD + n_fields)
    index, index_good = running_index(rows[:, 0], MAX_WORLD)
    good = good & index_good & (rows[:, 1] > 0) & (rows[:, 1] < MAX_WORLD) & (rows[:, 3] < max(n_functions, 1))
    good &= (rows[:, 4] < 1 << 32) & (rows[:, HEAD:] < MAX_VALUE).all(axis=1)
    duration = rows[:, HEAD] if n_fields else np.zeros(len(rows), np.uint64)
    # begin[i] = end[i - 1] + step[i], end[i] = begin[i] + duration[i]; from 0, modulo 2**64
    begin = (np.cumsum(varint.unzigzag(rows[:, 2]).view(np.uint64)) + np.cumsum(duration) - duration).view(np.int64)
    good &= (begin >= 0) & (begin < MAX_VALUE)
    good &= index + rows[:, 1].view(np.int64) < MAX_WORLD
    n = prefix(good)
    signed = rows[:n].astype(np.int64)
    begins, count = index[:n] << SITE_BITS, signed[:, 1]
    ends = begins + (count << SITE_BITS)
    return SegmentLog(begins, ends, count, begin[:n], signed[:, 3], signed[:, 4], signed[:, HEAD:]), good
