"""Ranks judged each by itself, where nothing made them wait for one another.

At a recurring call site a rank waits for some others only. A delay of one then goes through the ranks like a wave:
each is held up once, but in another segment, and the median over ranks of any one segment does not see it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from crosswind.analysis.result import Estimate
from crosswind.profile.segments import SegmentTable

__all__ = ["middle_estimate", "rank_tables"]

_MOST_RANKS = 5  # that are judged; evenly chosen among those that are there


def rank_tables(table: SegmentTable) -> list[SegmentTable]:
    """Tables of one rank each, of ranks that have at least half of the segments; the whole table if there are none."""
    rows = np.flatnonzero(2 * np.count_nonzero(table.valid, axis=1) >= max(table.n_segments, 1))
    if not rows.size:
        return [table]
    chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _MOST_RANKS)).round().astype(np.int64))
    return [
        dataclasses.replace(
            table,
            ranks=table.ranks[row : row + 1],
            columns={name: column[row : row + 1] for name, column in table.columns.items()},
            valid=table.valid[row : row + 1],
        )
        for row in rows[chosen].tolist()
    ]


def middle_estimate(estimates: Sequence[Estimate]) -> Estimate:
    """That of the rank in the middle, with a note of how far the ranks are apart; at least one estimate."""
    told = sorted((e for e in estimates if e.interference_pct is not None), key=lambda e: e.interference_pct or 0.0)
    if not told:
        return estimates[0]
    middle = told[len(told) // 2]
    low, high = (f"{e.interference_pct:.1f}" for e in (told[0], told[-1]))
    note = f"Nothing synchronised the ranks, so {len(told)} of them were judged each by itself: from {low} to {high} %."
    return dataclasses.replace(middle, notes=(*middle.notes, note))
