"""Segment records of the MPI ranks -> one `SegmentTable`, aligned by position: world-sized cuts since MPI_Init, cuts at
recurring call sites since then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.closings import calls_at_sites, closed_at
from crosswind.profile.in_step import Stretches, is_site, ranks_in_step
from crosswind.profile.numbering import NO_COMMON_NUMBERS, NOT_COMPARED, Closings, closings_of, ranks_numbered_alike
from crosswind.profile.segment_blocks import LARGEST
from crosswind.profile.segment_log import SITE_BITS
from crosswind.profile.segments import SegmentTable
from crosswind.profile.spool import SpoolFile

__all__ = ["align_segments"]

LONG = 0.02  # of the run: a stretch between collectives that is worth being cut at call sites
MAX_CELLS = 1 << 27  # rank x segment x column; neighbours are merged beyond it
# column of the table: field of the record, its unit
TIMES = {"dur_us": "duration", "p2p_us": "p2p_time", "io_us": "io_time", "coll_us": "coll_time", "cpu_us": "cpu_time"}
COUNTS = ("instructions", "p2p_calls", "p2p_bytes", "coll_calls", "coll_bytes", "io_calls", "io_bytes")
TICK_FIELDS = frozenset(("duration", "p2p_time", "io_time", "coll_time"))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Rank:
    """The usable records of one rank: positions ascend and no two overlap. columns: float64 [record]. function: what
    closed it.
    """

    rank: int
    index: Ints
    end: Ints  # position behind the record
    columns: dict[str, Floats]
    signature: Ints
    function: Ints

    def without_records(self) -> _Rank:
        """The rank, valid nowhere."""
        none = self.index[:0]
        return _Rank(self.rank, none, none, {name: c[:0] for name, c in self.columns.items()}, none, none)

    def stretches(self) -> Stretches:
        """Where and when its segments lie."""
        return Stretches(self.index, self.end, self.columns["t_start_us"], self.columns["dur_us"] / 1000)


def align_segments(files: Sequence[SpoolFile], problems: list[tuple[str, str]] | None = None) -> SegmentTable | None:
    """Align the records of the processes of one MPI_COMM_WORLD, given in the order of their ranks; None: no records,
    or ranks that count different collectives. What is left out for that is added to the problems, (path, reason).

    Ranks may have merged neighbouring segments differently: a column of the table is the finest stretch whose ends
    all ranks know that got so far. A rank without complete records of it is not valid there. A rank that does not
    number collectives as most do (`ranks_numbered_alike`) is valid nowhere.

    Call sites cut only stretches between collectives that take more than LONG of the run: where there are many short
    ones, collectives alone make segments enough, and certain ones. Where call sites cut, a rank that is not in step
    with the others (`ranks_in_step`) is valid nowhere; if most are not, only collectives cut.
    """
    files = [f for f in files if f.rank is not None]
    ranks = _numbered_alike(files, [_usable(f) for f in files], problems if problems is not None else [])
    if not any(r.index.size for r in ranks):
        return None
    members = ranks_in_step([r.stretches() for r in ranks])
    grid = _common_grid(ranks, members)
    if grid.size < 2:
        return None
    columns, valid = _columns(ranks, grid)
    at_site = is_site(grid)
    from_sites = at_site[:-1] | at_site[1:]
    if from_sites.any():
        valid &= members[:, None]
    ended_by, places = closed_at(files, valid, grid)
    seen = (valid & (columns["dur_us"] > 0)).any(axis=0)  # where one call completed several collectives, some are empty
    index = np.arange(np.count_nonzero(seen)) if from_sites.any() else grid[:-1][seen] >> SITE_BITS
    return SegmentTable(
        index=index,
        ranks=np.array([r.rank for r in ranks], dtype=np.int64),
        columns={name: _where_valid(column, valid)[:, seen] for name, column in columns.items()},
        valid=valid[:, seen],
        stride=_strides(grid)[seen],
        from_call_sites=from_sites[seen],
        call_sites=calls_at_sites(list(compress(files, members))) if from_sites.any() else (),
        closed_at=ended_by[seen],
        places=places,
    )


def _numbered_alike(files: Sequence[SpoolFile], ranks: Sequence[_Rank], problems: list[tuple[str, str]]) -> list[_Rank]:
    """The ranks, without the records of those that count other collectives than most."""
    with_records = [i for i, rank in enumerate(ranks) if rank.index.size]
    alike = ranks_numbered_alike([_closings(files[i], ranks[i]) for i in with_records])
    if with_records and not alike.any():
        problems.append((files[0].path, NO_COMMON_NUMBERS))
        return [rank.without_records() for rank in ranks]
    left_out = {i for i, is_alike in zip(with_records, alike.tolist(), strict=True) if not is_alike}
    problems += [(files[i].path, NOT_COMPARED) for i in sorted(left_out)]
    return [rank.without_records() if i in left_out else rank for i, rank in enumerate(ranks)]


def _closings(file: SpoolFile, rank: _Rank) -> Closings:
    names = [name for name, _ in file.table.functions]
    return closings_of(names, rank.index, rank.end, rank.function, rank.columns["dur_us"])


def _columns(ranks: Sequence[_Rank], grid: Ints) -> tuple[dict[str, NDArray], NDArray[np.bool_]]:
    """The columns of the table, [rank, cell of the grid], and where they are complete."""
    shape = (len(ranks), grid.size - 1)
    columns: dict[str, NDArray] = {name: np.full(shape, np.nan) for name in ("t_start_us", *TIMES, "comp_us", *COUNTS)}
    columns["sig"] = np.zeros(shape, dtype=np.uint64)
    valid = np.zeros(shape, dtype=np.bool_)
    for row, rank in enumerate(ranks):
        _fill(row, rank, grid, columns, valid)
    return columns, valid


def _where_valid(column: NDArray, valid: NDArray[np.bool_]) -> NDArray:
    return np.where(valid, column, np.uint64(0) if column.dtype.kind == "u" else np.nan)


def _strides(grid: Ints) -> Ints:
    """How many segments each cell merges: world-sized cuts in it or, if there are none, cuts at call sites."""
    worlds = np.diff(grid >> SITE_BITS)
    return np.where(worlds > 0, worlds, np.diff(grid))


def _usable(file: SpoolFile) -> _Rank:
    """The records of a rank in the units of the table. Without a tick rate there are no times, so no segments; a time
    that was cut off is not known.
    """
    log = file.segments
    end = log.end
    before = np.maximum.accumulate(np.concatenate(([0], end[:-1]))) if len(log) else end
    timed = [i for i, name in enumerate(file.table.segment_fields) if name in TIMES.values()]
    good = (log.begin >= before) & bool(file.tick_hz) & ("duration" in file.table.segment_fields)
    good &= (log.values[:, timed] < LARGEST).all(axis=1)
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
    return _Rank(file.rank or 0, log.begin[good], end[good], columns, log.signature[good], log.function[good])


def _common_grid(ranks: Sequence[_Rank], members: NDArray[np.bool_]) -> Ints:
    """Ascending positions at which every rank cuts that has records on both sides; at call sites, every member.

    Where more cells come out than fit into memory, neighbours are merged.
    """
    edges = np.unique(np.concatenate([np.concatenate((r.index, r.end)) for r in ranks]))
    at_site = is_site(edges)
    common = ~at_site | np.isin(edges >> SITE_BITS, _long_worlds(ranks, members))
    for rank, is_member in zip(ranks, members, strict=True):
        inside = np.searchsorted(rank.index, edges, side="left")  # records that begin before the edge
        cuts = np.ones(edges.size, dtype=np.bool_)
        has_before = inside > 0
        cuts[has_before] = rank.end[inside[has_before] - 1] <= edges[has_before]
        common &= cuts | (at_site & (not is_member))
    grid = edges[common]
    coarser = -(-(grid.size * len(ranks) * (len(TIMES) + len(COUNTS) + 3)) // MAX_CELLS)
    return grid if coarser <= 1 else np.unique(np.concatenate((grid[::coarser], grid[-1:])))


def _long_worlds(ranks: Sequence[_Rank], members: NDArray[np.bool_]) -> Ints:
    """The numbers of the stretches between collectives that take long on some member."""
    found = [np.zeros(0, dtype=np.int64)]
    for rank in (r for r, is_member in zip(ranks, members, strict=True) if is_member):
        worlds, row = np.unique(rank.index >> SITE_BITS, return_inverse=True)
        ns = np.bincount(row, weights=rank.columns["dur_us"])
        found.append(worlds[ns > LONG * ns.sum()])
    return np.unique(np.concatenate(found))


def _fill(row: int, rank: _Rank, grid: Ints, columns: dict[str, NDArray], valid: NDArray[np.bool_]) -> None:
    """Add up the records of a rank in each cell of the grid."""
    cell = np.searchsorted(grid, rank.index, side="right") - 1
    inside = (cell >= 0) & (cell < grid.size - 1)
    cell, n = cell[inside], grid.size - 1
    covered = np.zeros(n, dtype=np.int64)
    np.add.at(covered, cell, (rank.end - rank.index)[inside])
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
