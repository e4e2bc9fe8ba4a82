"""What interference cost a run, from the log of the injector alone.

A delay lies in the segment in which its call began. Ranks that are held up in one segment wait at the same time, at the
collective that closes it: the segment lost the time of the rank that was held up longest.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segments import SegmentTable

__all__ = ["Delays", "Truth", "read_delays", "true_loss"]


@dataclass(frozen=True)
class Delays:
    """Of one rank, [delay]: begin_ns (UTC) and what was added."""

    begin_ns: NDArray[np.int64]
    added_ns: NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """What was lost; [segment] in microseconds.

    lost_us: the longest of the ranks' sums in each segment. largest_rank_us, all_ranks_us: the bounds of any truth:
    what the rank held up most got in the whole run, and what all ranks got. outside_us: what was added to calls before
    the first segment and after the last (MPI_Init, MPI_Finalize), in no bound.
    """

    lost_us: NDArray[np.float64]
    largest_rank_us: float
    all_ranks_us: float
    outside_us: float


def read_delays(directory: Path) -> dict[int, Delays]:
    """The logs of a run, RANK.PID.csv, by rank. ValueError: a log that is none, or two of one rank."""
    found: dict[int, Delays] = {}
    for path in sorted(directory.glob("*.csv")):
        rank = int(path.name.split(".")[0])
        if rank in found:
            raise ValueError(f"{directory}: two logs of rank {rank}")
        with path.open(newline="") as file:
            rows = [(int(begin), int(added)) for begin, added, _ in csv.reader(file)]
        begin, added = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        found[rank] = Delays(begin, added)
    return found


def true_loss(table: SegmentTable, delays: Mapping[int, Delays]) -> Truth:
    """The truth of a run, from its segments (for their begins only) and the delays of its ranks."""
    per_rank = np.zeros(table.valid.shape)
    outside_us = 0.0
    rows = {int(rank): row for row, rank in enumerate(table.ranks)}
    for rank, one in delays.items():
        added_us = one.added_ns / 1e3
        if rank not in rows:
            outside_us += float(added_us.sum())
            continue
        segment, inside = _segments_of(table, rows[rank], one.begin_ns / 1e3)
        np.add.at(per_rank[rows[rank]], segment[inside], added_us[inside])
        outside_us += float(added_us[~inside].sum())
    sums = per_rank.sum(axis=1)
    return Truth(per_rank.max(axis=0, initial=0.0), float(sums.max(initial=0.0)), float(sums.sum()), outside_us)


def _segments_of(
    table: SegmentTable, row: int, at_us: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The index of the segment of a rank that each instant lies in, and whether there is one."""
    own = np.flatnonzero(table.valid[row])
    if not own.size:
        return np.zeros(at_us.size, dtype=np.intp), np.zeros(at_us.size, dtype=bool)
    starts = table.columns["t_start_us"][row, own]
    end = starts[-1] + table.columns["dur_us"][row, own[-1]]
    place = np.searchsorted(starts, at_us, side="right") - 1
    return own[np.maximum(place, 0)], (place >= 0) & (at_us <= end)
