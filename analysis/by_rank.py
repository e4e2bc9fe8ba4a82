"""Ranks judged each by itself, where nothing made them wait for one another.

At a recurring call site a rank waits for some others only. A delay of one then goes through the ranks like a wave:
each is held up once, but in another segment, and the median over ranks of any one segment does not see it. Where
collectives cut, all ranks waited, and all of them tell how long a segment took.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from crosswind.analysis.result import Estimate
from crosswind.profile.segments import SegmentTable

__all__ = ["middle_estimate", "rank_tables"]

_MOST_RANKS = 5  # that are judged; evenly chosen among those that are there


def rank_tables(table: SegmentTable) -> Iterator[SegmentTable]:
    """One table for each of some ranks that have at least half of the segments: at call sites it has that rank alone,
    between collectives all ranks. The whole table if there are no such ranks.
    """
    rows = np.flatnonzero(2 * np.count_nonzero(table.valid, axis=1) >= max(table.n_segments, 1))
    if not rows.size:
        yield table
        return
    chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _MOST_RANKS)).round().astype(np.int64))
    for row in rows[chosen].tolist():
        yield _alone_at_call_sites(table, row)


def _alone_at_call_sites(table: SegmentTable, row: int) -> SegmentTable:
    """The table without what the other ranks did where call sites cut, and without ranks that then have nothing."""
    keep = table.valid & (~table.from_call_sites | (np.arange(table.n_ranks) == row)[:, None])
    left = keep.any(axis=1)
    keep = keep[left]
    columns = {}
    for name, column in table.columns.items():
        absent = column.dtype.type(np.nan if column.dtype.kind == "f" else 0)
        columns[name] = np.where(keep, column[left], absent)
    return dataclasses.replace(table, ranks=table.ranks[left], columns=columns, valid=keep)


def middle_estimate(estimates: Sequence[Estimate]) -> Estimate:
    """That of the rank in the middle, of an even number the larger of the two; at least one estimate.

    Its interval holds those of all ranks that told, and a note says how far they are apart.
    """
    told = sorted((e for e in estimates if e.interference_pct is not None), key=lambda e: e.interference_pct or 0.0)
    if not told:
        return estimates[0]
    middle = told[len(told) // 2]
    low, high = (f"{e.interference_pct:.1f}" for e in (told[0], told[-1]))
    note = (
        f"At recurring call sites nothing synchronised the ranks, so {len(told)} of them were judged each by itself "
        f"there: from {low} to {high} %."
    )
    intervals = [e.interval_pct for e in told if e.interval_pct is not None]
    interval = (min(low for low, _ in intervals), max(high for _, high in intervals)) if intervals else None
    return dataclasses.replace(middle, interval_pct=interval, notes=(*middle.notes, note))
