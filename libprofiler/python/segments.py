"""Segments of a bulk-synchronous run as columns [rank, segment], and their CSV form.

The CSV is an interface that other programs rely on: one row per segment and rank, columns `CSV_COLUMNS`; feature
columns may be absent, at the price of certainty.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.errors import FormatError

__all__ = ["CSV_COLUMNS", "REQUIRED_COLUMNS", "SegmentTable", "read_csv", "write_csv"]

CSV_COLUMNS: tuple[str, ...] = (
    "seg", "rank", "t_start_us", "dur_us", "comp_us", "p2p_us", "io_us", "coll_us", "cpu_us", "instructions",
    "p2p_calls", "p2p_bytes", "coll_calls", "coll_bytes", "io_calls", "io_bytes", "sig",
)  # fmt: skip
REQUIRED_COLUMNS: tuple[str, ...] = ("seg", "rank", "dur_us")
MAX_HEAD_BYTES = 1 << 16
MAX_CSV_BYTES = 4 << 30
MAX_RANKS = 1 << 22
MAX_CELLS = 1 << 27
MAX_EXACT = 2**53  # whole numbers that a float64 holds
ROWS_PER_WRITE = 1 << 16


@dataclass(frozen=True)
class SegmentTable:
    """Segments aligned over ranks.

    index: int64 [segment], the number of each segment since MPI_Init. ranks: int64 [rank]. columns: per name of
    CSV_COLUMNS other than seg and rank, a float64 array [rank, segment] in the CSV's units (`sig`: uint64). Times
    `t_start_us` are UTC microseconds. valid: bool [rank, segment], false where a rank has no such segment (it died
    early or lost it); the values there are NaN (sig: 0). stride: int64 [segment], how many real segments a column
    merges.
    """

    index: NDArray[np.int64]
    ranks: NDArray[np.int64]
    columns: dict[str, NDArray]
    valid: NDArray[np.bool_]
    stride: NDArray[np.int64]

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return int(self.index.size)

    @property
    def n_ranks(self) -> int:
        """Number of ranks."""
        return int(self.ranks.size)

    def has(self, name: str) -> bool:
        """Whether a column is there and not zero everywhere (no hardware counters: instructions are all zero)."""
        column = self.columns.get(name)
        return column is not None and bool(np.any(np.nan_to_num(column) != 0))


def write_csv(table: SegmentTable, path: str | os.PathLike[str]) -> None:
    """Write one row per segment and rank, ordered by segment; cells that are not valid have no row. Raises OSError.

    A column of the table that merges segments (stride > 1) becomes one row, numbered as its first segment.
    """
    names = [name for name in CSV_COLUMNS[2:] if name in table.columns]
    segment, rank = np.nonzero(table.valid.T)
    with open(path, "w", encoding="ascii", newline="") as file:
        file.write(",".join(("seg", "rank", *names)) + "\n")
        for at in range(0, segment.size, ROWS_PER_WRITE):
            s, r = segment[at : at + ROWS_PER_WRITE], rank[at : at + ROWS_PER_WRITE]
            texts = [list(map(str, table.index[s].tolist())), list(map(str, table.ranks[r].tolist()))]
            texts += [_texts(table.columns[name][r, s]) for name in names]
            file.write("\n".join(map(",".join, zip(*texts, strict=True))) + "\n")


def _texts(values: NDArray) -> list[str]:
    """The shortest texts that give the same numbers; whole ones without a point."""
    if values.dtype.kind == "f":
        if np.all(np.abs(values) < MAX_EXACT) and np.array_equal(values, np.rint(values)):
            values = values.astype(np.int64)
        else:
            return [repr(v).removesuffix(".0") for v in values.tolist()]
    return list(map(str, values.tolist()))


def read_csv(path: str | os.PathLike[str]) -> SegmentTable:
    """Read a segment CSV. Columns may come in any order; unknown ones are ignored, absent ones are absent in the table.

    Raises FormatError, with the number of the line where one is at fault, and OSError when it can't be opened.
    """
    with open(path, "rb") as file:
        names = _column_names(file.readline(MAX_HEAD_BYTES), path)  # first: what is no CSV need not be read whole
        body = file.read(MAX_CSV_BYTES + 1)
    if len(body) > MAX_CSV_BYTES:
        raise FormatError(path, f"is larger than {MAX_CSV_BYTES >> 30} GiB")
    values = _numbers(body, names, path)
    return _table(values, path)


def _column_names(head: bytes, path: str | os.PathLike[str]) -> list[str]:
    names = [n.strip().strip('"') for n in head.decode("utf-8-sig", errors="replace").strip().split(",")]
    missing = [n for n in REQUIRED_COLUMNS if n not in names]
    if missing:
        raise FormatError(path, f"line 1: is no segment CSV, it has no column {', '.join(missing)}")
    known = [n for n in names if n in CSV_COLUMNS]
    if len(set(known)) != len(known):
        raise FormatError(path, "line 1: names a column twice")
    return names


def _numbers(body: bytes, names: list[str], path: str | os.PathLike[str]) -> dict[str, NDArray[np.float64]]:
    """The known columns as float64 [row]."""
    used = [i for i, n in enumerate(names) if n in CSV_COLUMNS]
    if not body.strip():
        raise FormatError(path, "has no rows")
    try:
        rows = np.loadtxt(BytesIO(body), delimiter=",", usecols=used, ndmin=2, comments=None, quotechar='"')
    except (ValueError, MemoryError):
        raise FormatError(path, _first_fault(body, names, used)) from None
    bad_row, bad_column = np.nonzero(~np.isfinite(rows))
    if bad_row.size:
        line = _line_of_row(body, int(bad_row[0]))
        raise FormatError(path, f"line {line}: {names[used[bad_column[0]]]} is not a finite number")
    return {names[i]: np.ascontiguousarray(rows[:, k]) for k, i in enumerate(used)}


def _line_of_row(body: bytes, row: int) -> int:
    """Number of the line of a row: blank lines are no rows, and line 1 is the header."""
    lines = [i for i, line in enumerate(body.split(b"\n"), start=2) if line.strip()]
    return lines[row]


def _first_fault(body: bytes, names: list[str], used: list[int]) -> str:
    """What is wrong in the first line that can't be read."""
    for number, line in enumerate(body.split(b"\n"), start=2):
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


def _table(values: dict[str, NDArray[np.float64]], path: str | os.PathLike[str]) -> SegmentTable:
    """Rows -> [rank, segment]."""
    index, column = np.unique(_whole(values.pop("seg"), "seg", path), return_inverse=True)
    ranks, row = np.unique(_whole(values.pop("rank"), "rank", path), return_inverse=True)
    if ranks.size > MAX_RANKS or ranks.size * index.size > MAX_CELLS:
        raise FormatError(path, f"{ranks.size} ranks and {index.size} segments are too much for one table")
    shape = (ranks.size, index.size)
    count = np.bincount(row * index.size + column, minlength=ranks.size * index.size).reshape(shape)
    if count.max() > 1:
        r, s = np.argwhere(count > 1)[0]
        raise FormatError(path, f"segment {index[s]} of rank {ranks[r]} is there twice")
    if np.any(negative := values["dur_us"] < 0):
        first = int(np.argmax(negative))
        raise FormatError(path, f"dur_us of segment {index[column[first]]}, rank {ranks[row[first]]} is negative")
    columns: dict[str, NDArray] = {}
    for name in CSV_COLUMNS:
        if name == "sig" and name in values:
            columns[name] = np.zeros(shape, dtype=np.uint64)
            columns[name][row, column] = _whole(values[name], name, path)
        elif name in values:
            columns[name] = np.full(shape, np.nan)
            columns[name][row, column] = values[name]
    return SegmentTable(index, ranks, columns, count > 0, np.ones(index.size, dtype=np.int64))


def _whole(values: NDArray[np.float64], name: str, path: str | os.PathLike[str]) -> NDArray[np.int64]:
    bad = (values < 0) | (values >= MAX_EXACT) | (values != np.rint(values))
    if bad.any():
        raise FormatError(path, f"{name} {values[bad][0]:g} is not a whole number from 0 to 2**53")
    return values.astype(np.int64)
