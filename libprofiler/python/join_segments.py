"""Segment tables of parts of one run -> one table: nodes deliver the segments of their own ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segments import SegmentTable

__all__ = ["join_segments"]

MAX_CELLS = 1 << 27  # rank x segment x column
_SIGNATURES = np.uint64(0xFFFFFFFF)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Part:
    """The ranks that are taken from one table."""

    table: SegmentTable
    rows: Ints

    @property
    def begin(self) -> Ints:
        return self.table.index

    @property
    def end(self) -> Ints:
        return self.table.index + self.table.stride


def join_segments(old: SegmentTable | None, new: SegmentTable | None) -> SegmentTable | None:
    """All ranks of both tables side by side, each from the table that has more of it (the new one, where both have as
    much). Returns `old` or `new` itself where the other adds nothing.

    Collectives of the world number segments alike on all ranks, so tables of different ranks fit together: a column of
    the result is the finest stretch whose ends both tables know. Segments cut at call sites are numbered in each table
    by itself; with such segments, and where the result would be too large, the table that holds more is kept alone.
    """
    if old is None or new is None:
        return old or new
    parts = _parts(old, new)
    for part in parts:
        if part.rows.size == sum(p.rows.size for p in parts):
            return part.table
    grid = _grid(parts)
    cells = grid.size * sum(p.rows.size for p in parts) * len(old.columns)
    if old.from_call_sites.any() or new.from_call_sites.any() or grid.size < 2 or cells > MAX_CELLS:
        return old if _held(old).sum() > _held(new).sum() else new
    return _joined(parts, grid)


def _held(table: SegmentTable) -> Ints:
    """How many segments each rank has, [rank]."""
    return (table.valid * table.stride).sum(axis=1)


def _parts(old: SegmentTable, new: SegmentTable) -> list[_Part]:
    """Which ranks to take from which table."""
    best: dict[int, tuple[int, int]] = {}  # rank -> (segments that it has, number of the table)
    for number, table in enumerate((old, new)):
        for rank, held in zip(table.ranks.tolist(), _held(table).tolist(), strict=True):
            best[rank] = max(best.get(rank, (-1, -1)), (held, number))
    return [
        _Part(table, np.array([i for i, r in enumerate(table.ranks.tolist()) if best[r][1] == number], dtype=np.int64))
        for number, table in enumerate((old, new))
    ]


def _grid(parts: Sequence[_Part]) -> Ints:
    """Ascending numbers of segments at which every table cuts that got so far."""
    edges = np.unique(np.concatenate([np.concatenate((part.begin, part.end)) for part in parts]))
    common = np.ones(edges.size, dtype=np.bool_)
    for part in parts:
        before = np.searchsorted(part.begin, edges, side="left")  # columns that begin before the edge
        inside = before > 0
        common[inside] &= part.end[before[inside] - 1] <= edges[inside]
    return edges[common]


def _joined(parts: Sequence[_Part], grid: Ints) -> SegmentTable:
    names = dict.fromkeys(name for part in parts for name in part.table.columns)
    valid = np.concatenate([_valid(part, grid) for part in parts])
    columns = {name: np.concatenate([_column(part, grid, name) for part in parts]) for name in names}
    columns = {name: np.where(valid, column, _nothing(column)) for name, column in columns.items()}
    order = np.argsort(np.concatenate([part.table.ranks[part.rows] for part in parts]), kind="stable")
    seen = valid.any(axis=0)
    closed_at, places = _closings(parts, grid)
    return SegmentTable(
        index=grid[:-1][seen],
        ranks=np.concatenate([part.table.ranks[part.rows] for part in parts])[order],
        columns={name: column[order][:, seen] for name, column in columns.items()},
        valid=valid[order][:, seen],
        stride=np.diff(grid)[seen],
        closed_at=closed_at[seen],
        places=places,
    )


def _nothing(column: NDArray) -> np.uint64 | float:
    """What stands where a rank has no such segment."""
    return np.uint64(0) if column.dtype.kind == "u" else np.nan


def _cells(part: _Part, grid: Ints) -> tuple[Ints, Ints, Ints]:
    """The columns of a part that lie on the grid, ascending: their numbers, and where in them each new cell begins; and
    the numbers of these cells.
    """
    cell = np.searchsorted(grid, part.begin, side="right") - 1
    inside = np.flatnonzero((cell >= 0) & (part.end <= grid[-1]))
    first = np.flatnonzero(np.diff(cell[inside], prepend=-1))
    return inside, first, cell[inside][first]


def _valid(part: _Part, grid: Ints) -> NDArray[np.bool_]:
    """Where a part's ranks have the whole cell, bool [rank, cell]."""
    inside, first, cells = _cells(part, grid)
    covered = np.zeros((part.rows.size, grid.size - 1), dtype=np.int64)
    if first.size:
        held = (part.table.valid[part.rows] * part.table.stride)[:, inside]
        covered[:, cells] = np.add.reduceat(held, first, axis=1)
    return covered == np.diff(grid)


def _closings(parts: Sequence[_Part], grid: Ints) -> tuple[Ints, tuple[str, ...]]:
    """The call that ended each cell, of the part whose first valid rank there is lowest among those that know one:
    int64 [cell], an index into the texts or -1, and the texts.
    """
    number: dict[str, int] = {}
    found = np.full(grid.size - 1, -1, dtype=np.int64)
    lowest = np.full(grid.size - 1, np.iinfo(np.int64).max)
    for part in parts:
        inside, first, cells = _cells(part, grid)
        last = inside[np.append(first[1:], inside.size)[: first.size] - 1]  # the column that ends the cell
        texts = np.array([*(number.setdefault(text, len(number)) for text in part.table.places), -1], dtype=np.int64)
        closed = np.full(grid.size - 1, -1, dtype=np.int64)
        closed[cells] = texts[part.table.closed_at[last]]
        ranks = part.table.ranks[part.rows][:, np.newaxis]
        rank = np.where(_valid(part, grid), ranks, np.iinfo(np.int64).max).min(axis=0)
        better = (closed >= 0) & (rank < lowest)
        found[better], lowest[better] = closed[better], rank[better]
    return found, tuple(number)


def _column(part: _Part, grid: Ints, name: str) -> NDArray:
    """A column of a part on the cells of the grid, [rank, cell]: summed up, the start that of the first."""
    inside, first, cells = _cells(part, grid)
    dtype = np.uint64 if name == "sig" else np.float64
    out = np.zeros((part.rows.size, grid.size - 1), dtype=dtype)
    if name not in part.table.columns or not first.size:
        return out
    values = part.table.columns[name][part.rows][:, inside]
    if name == "t_start_us":
        out[:, cells] = values[:, first]
    elif name == "sig":
        out[:, cells] = np.add.reduceat(values, first, axis=1) & _SIGNATURES
    else:
        out[:, cells] = np.add.reduceat(np.nan_to_num(values), first, axis=1)
    return out
