"""Segments as CSV: an interface that other programs rely on, specified in docs/segment-csv.md.

One row per segment and rank. What cannot be is refused with one line that names the line and the column, so that
whoever writes such files finds the fault. A rank that ended early has no rows from then on; it is no fault.
"""

from __future__ import annotations

import os
import re
from io import BytesIO
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.errors import FormatError
from crosswind.profile.segments import CSV_COLUMNS, SegmentTable

__all__ = ["AT_SITE", "CLOSED_BY", "REQUIRED_COLUMNS", "STRIDE", "read_csv", "write_csv"]

REQUIRED_COLUMNS: tuple[str, ...] = ("seg", "rank", "dur_us")
STRIDE = "stride"  # how many segments a row merges; written where any does
AT_SITE = "at_site"  # 1 where a recurring call site cut, 0 elsewhere; written where any did
MAX_HEAD_BYTES = 1 << 16
MAX_CSV_BYTES = 4 << 30
MAX_RANKS = 1 << 22
MAX_CELLS = 1 << 27
MAX_EXACT = 2**53  # whole numbers that a float64 holds
MAX_VALUE = 2.0**63
CLOSED_BY = "closed_by"  # the call that ended the segment, a text for people; written where it is known, never read
ROWS_PER_WRITE = 1 << 16

_WHOLE = ("seg", "rank", "sig", STRIDE, AT_SITE)
_KNOWN = (*CSV_COLUMNS, STRIDE, AT_SITE)


def write_csv(table: SegmentTable, path: str | os.PathLike[str]) -> int:
    """Write one row per segment and rank, ordered by segment; cells that are not valid have no row. Raises OSError.

    A column of the table that merges segments becomes one row, numbered as its first segment. A segment that a rank
    lacks though it has later ones is left out for all ranks: no reader could tell it from a damaged file. Returns how
    many were left out.
    """
    names = [name for name in CSV_COLUMNS[2:] if name in table.columns]
    beside = {STRIDE: table.stride} if np.any(table.stride > 1) else {}
    if table.from_call_sites.any():
        beside[AT_SITE] = table.from_call_sites.astype(np.int64)
    places = [*(_without_separators(place) for place in table.places), ""]  # -1: not known
    holed = _holes(table.valid).any(axis=0)
    segment, rank = np.nonzero((table.valid & ~holed).T)
    with open(path, "w", encoding="ascii", newline="") as file:
        texts = [CLOSED_BY] if table.places else []
        file.write(",".join(("seg", "rank", *names, *beside, *texts)) + "\n")
        for at in range(0, segment.size, ROWS_PER_WRITE):
            s, r = segment[at : at + ROWS_PER_WRITE], rank[at : at + ROWS_PER_WRITE]
            values = [table.index[s], table.ranks[r], *(table.columns[name][r, s] for name in names)]
            values += [column[s] for column in beside.values()]
            columns = list(map(_texts, values))
            if texts:
                columns.append([places[at] for at in table.closed_at[s].tolist()])
            file.write("\n".join(map(",".join, zip(*columns, strict=True))) + "\n")
    return int(np.count_nonzero(holed))


def _without_separators(text: str) -> str:
    """What can stand in a cell: profiles may name anything."""
    return re.sub(r"[^ !#-+\--~]", "?", text)


def _texts(values: NDArray) -> list[str]:
    """The shortest texts that give the same numbers; whole ones without a point."""
    if values.dtype.kind == "f":
        if np.all(np.abs(values) < MAX_EXACT) and np.array_equal(values, np.rint(values)):
            values = values.astype(np.int64)
        else:
            return [repr(v).removesuffix(".0") for v in values.tolist()]
    return list(map(str, values.tolist()))


def _holes(valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where a rank lacks a segment but has a later one, bool [rank, segment]."""
    has_later = np.logical_or.accumulate(valid[:, ::-1], axis=1)[:, ::-1]
    return has_later & ~valid


def read_csv(path: str | os.PathLike[str]) -> SegmentTable:
    """Read a segment CSV. Columns may come in any order; unknown ones are ignored, absent ones are absent in the table.

    Raises FormatError, with the number of the line and the name of the column that are at fault, and OSError when it
    can't be opened.
    """
    with open(path, "rb") as file:
        names = _column_names(file.readline(MAX_HEAD_BYTES), path)  # first: what is no CSV need not be read whole
        body = file.read(MAX_CSV_BYTES + 1)
    if len(body) > MAX_CSV_BYTES:
        raise FormatError(path, f"is larger than {MAX_CSV_BYTES >> 30} GiB")
    rows = _Rows(path, body, names)
    rows.check_values()
    return _table(rows)


def _column_names(head: bytes, path: str | os.PathLike[str]) -> list[str]:
    names = [n.strip().strip('"') for n in head.decode("utf-8-sig", errors="replace").strip().split(",")]
    missing = [n for n in REQUIRED_COLUMNS if n not in names]
    if missing:
        raise FormatError(path, f"line 1: is no segment CSV, it has no column {', '.join(missing)}")
    known = [n for n in names if n in _KNOWN]
    twice = next((n for i, n in enumerate(known) if n in known[:i]), None)
    if twice is not None:
        raise FormatError(path, f"line 1: names a column twice: {twice}")
    return names


class _Rows:
    """The known columns of a file, float64 [row], and the way back from a row to its line."""

    def __init__(self, path: str | os.PathLike[str], body: bytes, names: list[str]) -> None:
        self.path = path
        self.body = body
        used = [i for i, n in enumerate(names) if n in _KNOWN]
        if not body.strip():
            raise FormatError(path, "has no rows")
        try:
            rows = np.loadtxt(BytesIO(body), delimiter=",", usecols=used, ndmin=2, comments=None, quotechar='"')
            if b'"' not in body and body.count(b",") != (len(names) - 1) * rows.shape[0]:
                raise ValueError("a line has more values than the header")
        except (ValueError, MemoryError):
            raise FormatError(path, _first_fault(body, names, used)) from None
        self.columns = {names[i]: np.ascontiguousarray(rows[:, k]) for k, i in enumerate(used)}

    def check_values(self) -> None:
        """Refuse what no measurement can be; of several faults the one in the first line is named."""
        faults = []
        for name, values in self.columns.items():
            good = (values >= 0) & (values < MAX_VALUE)
            if name in _WHOLE:
                good &= (values < MAX_EXACT) & (values == np.rint(values))
            if name == STRIDE:
                good &= values > 0
            if not good.all():
                faults.append((int(np.argmin(good)), name))
        if faults:
            row, name = min(faults)
            self.refuse(row, f"{name} is {_what_is_wrong(name, self.columns[name][row])}")

    def refuse(self, row: int, reason: str) -> NoReturn:
        """Raise the FormatError that names the line of a row."""
        raise FormatError(self.path, f"line {self.line(row)}: {reason}")

    def line(self, row: int) -> int:
        """Number of the line of a row: blank lines are no rows, and line 1 is the header."""
        at = 0
        for number, text in enumerate(BytesIO(self.body), start=2):
            if text.strip():
                if at == row:
                    return number
                at += 1
        raise IndexError(row)


def _what_is_wrong(name: str, value: float) -> str:
    if not np.isfinite(value):
        return "not a finite number"
    if name in _WHOLE:
        return f"{value:g}, not a whole number from {1 if name == STRIDE else 0} to 2**53"
    return f"{value:g}, {'negative' if value < 0 else 'too large'}"


def _first_fault(body: bytes, names: list[str], used: list[int]) -> str:
    """What is wrong in the first line that can't be read."""
    for number, line in enumerate(BytesIO(body), start=2):
        if not line.strip():
            continue
        cells = line.decode("utf-8", errors="replace").strip().split(",")
        if len(cells) != len(names):
            return f"line {number}: has {len(cells)} values, the header names {len(names)} columns"
        for i in used:
            try:
                float(cells[i].strip('"'))
            except ValueError:
                return f"line {number}: {names[i]} is {cells[i][:40]!r}, not a number"
    return "cannot be read as numbers"


def _table(rows: _Rows) -> SegmentTable:
    """Rows -> [rank, segment]."""
    index, column = np.unique(rows.columns["seg"].astype(np.int64), return_inverse=True)
    ranks, row = np.unique(rows.columns["rank"].astype(np.int64), return_inverse=True)
    _check_complete(rows, index, ranks, row, column)
    if ranks.size > MAX_RANKS or ranks.size * index.size > MAX_CELLS:
        raise FormatError(rows.path, f"{ranks.size} ranks and {index.size} segments are too much for one table")
    shape = (ranks.size, index.size)
    valid = np.zeros(shape, dtype=np.bool_)
    valid[row, column] = True
    columns: dict[str, NDArray] = {}
    for name in CSV_COLUMNS[2:]:
        if name == "sig" and name in rows.columns:
            columns[name] = np.zeros(shape, dtype=np.uint64)
            columns[name][row, column] = rows.columns[name].astype(np.int64)
        elif name in rows.columns:
            columns[name] = np.full(shape, np.nan)
            columns[name][row, column] = rows.columns[name]
    from_call_sites = np.zeros(index.size, dtype=np.bool_)
    if AT_SITE in rows.columns:
        from_call_sites[column[rows.columns[AT_SITE] > 0]] = True
    return SegmentTable(
        index=index,
        ranks=ranks,
        columns=columns,
        valid=valid,
        stride=_strides(rows, index, ranks, row, column),
        from_call_sites=from_call_sites,
    )


def _check_complete(
    rows: _Rows,
    index: NDArray[np.int64],
    ranks: NDArray[np.int64],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
) -> None:
    """Refuse a segment that a rank has twice, or lacks though it has later ones: such a file has lost rows.

    A rank that has no later ones ended early, and is as good as far as it goes. row, column: int64 [row], which of
    `ranks` and of `index` each row is of; nothing is as large as the table that they might need.
    """
    order = np.lexsort((column, row))  # stable: of equal ones the first line comes first
    rank, segment = row[order], column[order]
    place = np.arange(order.size) - np.searchsorted(rank, np.arange(ranks.size))[rank]
    again = 1 + np.flatnonzero((np.diff(rank) == 0) & (np.diff(segment) == 0))
    if again.size:
        at = int(again[np.argmin(order[again])])
        first = rows.line(int(order[at - 1]))
        rows.refuse(
            int(order[at]), f"seg {index[segment[at]]} of rank {ranks[rank[at]]} is there twice: see line {first}"
        )
    short = np.flatnonzero(segment != place)
    if short.size:
        at = int(short[np.argmin(place[short])])
        lacks = f"rank {ranks[rank[at]]} has seg {index[segment[at]]}, but lacks seg {index[place[at]]}"
        rows.refuse(int(order[at]), f"{lacks}, which other ranks have")


def _strides(
    rows: _Rows,
    index: NDArray[np.int64],
    ranks: NDArray[np.int64],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
) -> NDArray[np.int64]:
    """How many segments each column merges, int64 [segment]; FormatError: the ranks disagree."""
    strides = np.ones(index.size, dtype=np.int64)
    if STRIDE in rows.columns:
        told = rows.columns[STRIDE].astype(np.int64)
        strides[column[::-1]] = told[::-1]
        other = np.flatnonzero(strides[column] != told)
        if other.size:
            at = int(other[0])
            here, before = f"{told[at]} on rank {ranks[row[at]]}", strides[column[at]]
            rows.refuse(at, f"stride of seg {index[column[at]]} is {here}, {before} before")
    return strides
