"""Segment records of the MPI ranks -> one `SegmentTable`, aligned by the number of the segment since MPI_Init."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segment_log import SITE_BITS
from crosswind.profile.segments import SegmentTable
from crosswind.profile.spool import SpoolFile

__all__ = ["align_segments"]

MAX_CELLS = 1 << 27  # rank x segment x column; neighbours are merged beyond it
# column of the table: field of the record, its unit
TIMES = {"dur_us": "duration", "p2p_us": "p2p_time", "io_us": "io_time", "coll_us": "coll_time", "cpu_us": "cpu_time"}
COUNTS = ("instructions", "p2p_calls", "p2p_bytes", "coll_calls", "coll_bytes", "io_calls", "io_bytes")
TICK_FIELDS = frozenset(("duration", "p2p_time", "io_time", "coll_time"))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Rank:
    """The usable records of one rank: positions ascend and no two overlap. columns: float64 [record]."""

    rank: int
    index: Ints
    end: Ints  # position behind the record
    columns: dict[str, Floats]
    signature: Ints


def align_segments(files: Sequence[SpoolFile]) -> SegmentTable | None:
    """Align the records of the processes of one MPI_COMM_WORLD, given in the order of their ranks; None: no records.

    Ranks may have merged neighbouring segments differently: a column of the table is the finest stretch whose ends
    all ranks know that got so far. A rank without complete records of it is not valid there.
    """
    ranks = [_usable(f) for f in files if f.rank is not None]
    if not any(r.index.size for r in ranks):
        return None
    grid = _common_grid(ranks)
    if grid.size < 2:
        return None
    shape = (len(ranks), grid.size - 1)
    names = ["t_start_us", *TIMES, "comp_us", *COUNTS]
    columns: dict[str, NDArray] = {name: np.full(shape, np.nan) for name in names}
    columns["sig"] = np.zeros(shape, dtype=np.uint64)
    valid = np.zeros(shape, dtype=np.bool_)
    for row, rank in enumerate(ranks):
        _fill(row, rank, grid, columns, valid)
    seen = valid.any(axis=0)
    return SegmentTable(
        index=grid[:-1][seen] >> SITE_BITS,
        ranks=np.array([r.rank for r in ranks], dtype=np.int64),
        columns={name: column[:, seen] for name, column in columns.items()},
        valid=valid[:, seen],
        stride=np.diff(grid)[seen] >> SITE_BITS,
    )


def _usable(file: SpoolFile) -> _Rank:
    """The records of a rank in the units of the table. Without a tick rate there are no times, so no segments."""
    log = file.segments
    end = log.end
    before = np.maximum.accumulate(np.concatenate(([0], end[:-1]))) if len(log) else end
    good = (log.begin >= before) & bool(file.tick_hz)
    field = {name: log.values[good, i] for i, name in enumerate(file.table.segment_fields)}
    absent = np.zeros(np.count_nonzero(good), dtype=np.int64)
    times = {
        column: file.ticks_to_ns(field[name]) if name in TICK_FIELDS else field[name]
        for column, name in TIMES.items()
        if name in field
    }
    busy = sum((times.get(c, absent) for c in ("p2p_us", "coll_us", "io_us")), absent)
    times["comp_us"] = np.maximum(times.get("dur_us", absent) - busy, 0)
    columns = {name: ns.astype(np.float64) for name, ns in times.items()}
    columns["t_start_us"] = np.rint(file.tick_to_utc_ns(log.begin_tick[good]) / 1000)
    columns |= {name: field[name].astype(np.float64) for name in COUNTS if name in field}
    return _Rank(file.rank or 0, log.begin[good], end[good], columns, log.signature[good])


def _common_grid(ranks: Sequence[_Rank]) -> Ints:
    """Ascending positions at which every rank cuts that has records on both sides."""
    edges = np.unique(np.concatenate([np.concatenate((r.index, r.end)) for r in ranks]))
    common = np.ones(edges.size, dtype=np.bool_)
    for r in ranks:
        inside = np.searchsorted(r.index, edges, side="left")  # records that begin before the edge
        has_before = inside > 0
        common[has_before] &= r.end[inside[has_before] - 1] <= edges[has_before]
    grid = edges[common]
    coarser = -(-(grid.size * len(ranks) * (len(TIMES) + len(COUNTS) + 3)) // MAX_CELLS)
    return grid if coarser <= 1 else np.unique(np.concatenate((grid[::coarser], grid[-1:])))


def _fill(row: int, rank: _Rank, grid: Ints, columns: dict[str, NDArray], valid: NDArray[np.bool_]) -> None:
    """Add up the records of a rank in each cell of the grid."""
    cell = np.searchsorted(grid, rank.index, side="right") - 1
    inside = (cell >= 0) & (cell < grid.size - 1)
    cell, n = cell[inside], grid.size - 1
    covered = np.bincount(cell, weights=(rank.end - rank.index)[inside], minlength=n)
    whole = covered == np.diff(grid)
    valid[row] = whole
    for name, values in rank.columns.items():
        total = np.bincount(cell, weights=values[inside], minlength=n)
        if name.endswith("_us") and name != "t_start_us":
            total = np.round(total / 1000, 3)
        columns[name][row, whole] = total[whole]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    columns["t_start_us"][row, cell[first]] = rank.columns["t_start_us"][inside][first]
    columns["t_start_us"][row, ~whole] = np.nan
    signature = np.bincount(cell, weights=rank.signature[inside], minlength=n)
    columns["sig"][row, whole] = signature[whole].astype(np.uint64) & np.uint64(0xFFFFFFFF)
