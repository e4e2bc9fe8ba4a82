"""What a spool file tells of the segments of its process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FUNCTION", "MAX_SITE", "MAX_WORLD", "PLACE_SHIFT", "SITE_BITS", "SegmentLog", "end_of", "join_logs", "no_rows",
]  # fmt: skip

SITE_BITS = 31
"""A position is world << SITE_BITS | site: how many world-sized cuts there were before it, how many cuts at recurring
call sites since then."""
MAX_WORLD = 1 << 32
MAX_SITE = 1 << SITE_BITS
PLACE_SHIFT = 16
"""A call is function | place << PLACE_SHIFT. Up to version 2 of the format all places are 0."""
FUNCTION = (1 << PLACE_SHIFT) - 1

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SegmentLog:
    """Rows of segments, one or neighbours merged, in the order of the run.

    All int64. begin, end: positions; the end is the position of the segment behind it. count: how many cuts it reaches
    over. begin_tick: of its begin. function: number of the function that closed it. signature: 32 bits, the sum over
    merged ones. values: [row, field], fields in the order of the table. block: number of the block that a row came
    from, -1 for one that is in none. place: number of the call site (`SpoolFile.sites`) whose call closed it, 0 where
    that is not known.
    """

    begin: Ints
    end: Ints
    count: Ints
    begin_tick: Ints
    function: Ints
    signature: Ints
    values: Ints
    block: Ints
    place: Ints

    def __len__(self) -> int:
        return int(self.begin.size)

    def of(self, rows: Ints) -> SegmentLog:
        """The rows of these numbers."""
        return SegmentLog(*(getattr(self, field.name)[rows] for field in fields(self)))


def no_rows(n_fields: int) -> SegmentLog:
    """A log of nothing."""
    none = np.zeros(0, dtype=np.int64)
    return SegmentLog(none, none, none, none, none, none, np.zeros((0, n_fields), dtype=np.int64), none, none)


def join_logs(logs: Sequence[SegmentLog]) -> SegmentLog:
    """One after the other."""
    return SegmentLog(*(np.concatenate([getattr(log, field.name) for log in logs]) for field in fields(SegmentLog)))


def end_of(position: Ints, worlds: Ints, sites: Ints) -> Ints:
    """Where rows end that reach over so many world-sized cuts, and over so many cuts at call sites since the last."""
    return np.where(worlds > 0, ((position >> SITE_BITS) + worlds << SITE_BITS) + sites, position + sites)
