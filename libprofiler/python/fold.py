"""One process onto the grid of slices: records of any length, holes, and what was counted after the last record.

The counters in the thread blocks are the truth. What they hold beyond the sum of the records was counted in time that
no record covers: the slice that was open when the process was killed, records that found no room or were damaged. It
is spread over that time, so nothing that was counted is lost, and the sum over the slices is the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.marks import Mark
from crosswind.profile.model import Column
from crosswind.profile.records import LogPlace
from crosswind.profile.spool import SpoolFile

__all__ = ["MAX_SLICES", "Folded", "Pieces", "fold", "lay", "mark_of"]

MAX_SLICES = 1 << 20  # of one process: 48 days at 4 s
MAX_PARTS = 1 << 24
TICKS = 3  # field of a group
LATE = 10  # a record that ends later than slice / LATE after its boundary is spread over the slices it lies in
HOLE = 100  # shorter stretches without a record than slice / HOLE are none

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Folded:
    """The slices of one process. Slice j of the arrays has the number first + j.

    covered_ns: int64 [slice]. values: per column name an int64 [slice]; zero columns are absent. totals: per column
    name the sum (gauges: the largest). problems: what was left out, in sentences.
    """

    first: int
    covered_ns: Ints
    values: dict[str, Ints]
    totals: dict[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Pieces:
    """Stretches of time (index: the slice they belong to), and what was counted in them as (piece, column, value)."""

    index: Ints
    begin: Ints
    end: Ints
    piece: Ints
    column: Ints
    value: Ints


@dataclass(frozen=True)
class _Parts:
    """The pieces, cut at the boundaries of slices. n: parts per piece. Parts of a piece follow one another.

    slice: the slice of each part. length: ns. low, high: which share of its piece lies before the part's begin and end.
    """

    n: Ints
    slice: Ints
    length: Ints
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def fold(file: SpoolFile, end_ns: int) -> Folded:
    """Lay a process that ended at `end_ns` (UTC) on the grid of slices."""
    problems: list[str] = []
    records = _plausible(file, problems)
    pieces = _with_rest(file, records, _holes(file, records, end_ns))
    laid = lay(pieces, file.table.columns, file.slice_ns, problems)
    return replace(laid, totals=_with_before(laid.totals, file)) if file.before else laid


def mark_of(file: SpoolFile) -> Mark | None:
    """A mark from which the file can be read on: before the last slice that it closed, which may still get more. None
    where something was counted in holes between the records: that is spread anew with each look.
    """
    log, before = file.slices, file.before
    begin_ns = before.until_ns if before else file.start.real_ns
    nothing = np.zeros(len(file.table.columns), dtype=np.int64)
    start = before or Mark(file.inode, LogPlace(), begin_ns, nothing)
    if file.problems or not len(log):
        return None if file.problems else start
    least, n = file.slice_ns // HOLE, int(np.count_nonzero(log.index < log.index[-1]))
    gaps = log.begin_ns - np.concatenate(([begin_ns], log.end_ns[:-1]))
    ends_late = log.end_ns[:n].max(initial=0) > log.index[-1] * file.slice_ns + file.slice_ns // LATE
    if gaps.max() > least or ends_late or (log.index[1:] < log.index[:-1]).any():
        return None
    sums = start.sums.copy()
    gauge = np.array([column.kind == "gauge" for column in file.table.columns], dtype=np.bool_)[log.column]
    early = log.record < n
    np.add.at(sums, log.column[early & ~gauge], log.value[early & ~gauge])
    np.maximum.at(sums, log.column[early & gauge], log.value[early & gauge])
    if not n:
        return start
    place = LogPlace(*(int(values[n - 1]) for values in (log.chunk, log.behind, log.index)))
    return Mark(file.inode, place, int(log.end_ns[n - 1]), sums)


def _with_before(totals: dict[str, int], file: SpoolFile) -> dict[str, int]:
    """The totals of what was read, and of what lies before the mark."""
    out = dict(totals)
    for column, so_far in zip(file.table.columns, file.before.sums.tolist() if file.before else (), strict=True):
        if so_far:
            behind = out.get(column.name, 0)
            out[column.name] = max(behind, so_far) if column.kind == "gauge" else behind + so_far
    return out


def lay(pieces: Pieces, columns: Sequence[Column], slice_ns: int, problems: list[str]) -> Folded:
    """Lay pieces (at least one) on the grid of slices. Their column numbers are positions in `columns`."""
    parts = _cut(pieces, slice_ns, problems)
    first = int(parts.slice.min())
    n_slices = int(parts.slice.max()) - first + 1
    covered = np.zeros(n_slices, dtype=np.int64)
    np.add.at(covered, parts.slice - first, parts.length)
    values = _scatter(pieces, parts, columns, first, n_slices)
    gauges = {c.name for c in columns if c.kind == "gauge"}
    totals = {name: int(v.max() if name in gauges else v.sum()) for name, v in values.items()}
    return Folded(first, covered, values, totals, tuple(problems))


def _plausible(file: SpoolFile, problems: list[str]) -> Pieces:
    """The slice records that lie in the reach of this process."""
    log = file.slices
    start = file.start.real_ns // file.slice_ns
    last = start + MAX_SLICES
    good = (log.index >= start - 1) & (log.index < last) & (log.end_ns < last * file.slice_ns)
    if not good.all():
        problems.append(f"{np.count_nonzero(~good)} slice records lie outside the life of the process")
    number = np.cumsum(good) - 1
    keep = good[log.record]
    return Pieces(
        index=log.index[good],
        begin=log.begin_ns[good],
        end=np.maximum(log.end_ns, log.begin_ns)[good],
        piece=number[log.record[keep]],
        column=log.column[keep],
        value=log.value[keep],
    )


def _holes(file: SpoolFile, records: Pieces, end_ns: int) -> tuple[Ints, Ints]:
    """Begins and ends of the stretches of the process's life, from the mark on, that no record covers."""
    least = file.slice_ns // HOLE
    order = np.argsort(records.begin, kind="stable")
    begin_ns = file.before.until_ns if file.before else file.start.real_ns
    known_until = np.maximum.accumulate(np.concatenate(([begin_ns], records.end[order])))
    begins, ends = known_until, np.concatenate((records.begin[order], [end_ns]))
    hole = ends - begins > least
    if not hole.any():  # so that what is left to place has a place: the very end
        hole[-1] = True
    return begins[hole], np.maximum(ends, begins)[hole]


def _with_rest(file: SpoolFile, records: Pieces, holes: tuple[Ints, Ints]) -> Pieces:
    """The records, and the holes with what the records lack of the counters."""
    begin, end = holes
    column, rest = _rest(file, records, hole_ns=int((end - begin).sum()))
    share = np.cumsum(end - begin) / max(int((end - begin).sum()), 1)
    upto = np.rint(np.outer(rest, share)).astype(np.int64)
    upto[:, -1] = rest
    value = np.diff(upto, axis=1, prepend=0)
    n, k = records.index.size, begin.size
    inside = np.where(
        end > begin, begin, np.maximum(begin - 1, file.start.real_ns)
    )  # the very end is in the last slice
    return Pieces(
        index=np.concatenate((records.index, inside // file.slice_ns)),
        begin=np.concatenate((records.begin, begin)),
        end=np.concatenate((records.end, end)),
        piece=np.concatenate((records.piece, np.tile(np.arange(n, n + k), column.size))),
        column=np.concatenate((records.column, np.repeat(column, k))),
        value=np.concatenate((records.value, value.reshape(-1))),
    )


def _rest(file: SpoolFile, records: Pieces, hole_ns: int) -> tuple[Ints, Ints]:
    """Columns of which the records lack something, and how much.

    The records charge a running call to the slices it lies in, the counters learn of it only when it returns: the part
    up to the last record is added here. Times are converted at a rate that the process still refined while it wrote the
    records, so they may not exceed the time there is.
    """
    sums = file.before.sums.copy() if file.before else np.zeros(len(file.table.columns), dtype=np.int64)
    np.add.at(sums, records.column, records.value)
    ticks = file.groups[:, TICKS].copy()
    closed_until = int(records.end.max(initial=file.before.until_ns if file.before else 0))
    most_ns = hole_ns * max(file.n_threads, 1)
    pending_ns = np.zeros_like(ticks)
    for call in file.running:
        since = int(file.tick_to_utc_ns(np.array(call.since_tick)))
        pending_ns[call.group] += max(closed_until - since, 0) if file.tick_hz else 0
    time_ns = file.ticks_to_ns(ticks) + pending_ns
    column, rest = [], []
    for i, place in enumerate(file.table.places):
        if place.group is None:
            continue
        if place.field == TICKS:
            lacking = min(int(time_ns[place.group] - sums[i]), most_ns)
        else:
            lacking = int(file.groups[place.group, place.field] - sums[i])
        if lacking > 0:
            column.append(i)
            rest.append(lacking)
    return np.array(column, dtype=np.int64), np.array(rest, dtype=np.int64)


def _cut(pieces: Pieces, slice_ns: int, problems: list[str]) -> _Parts:
    """Cut the pieces that reach into later slices at the boundaries; one that ends just late stays whole."""
    late = pieces.end > (pieces.index + 1) * slice_ns + slice_ns // LATE
    last = np.where(late, np.maximum((pieces.end - 1) // slice_ns, pieces.index), pieces.index)
    n = last - pieces.index + 1
    amounts = np.bincount(pieces.piece, minlength=n.size)
    if np.sum((n * (amounts + 1)).astype(np.float64)) > MAX_PARTS:
        problems.append("its records span impossibly many slices")
        n = np.ones_like(n)
    piece = np.repeat(np.arange(n.size), n)
    nth = np.arange(piece.size) - np.repeat(np.cumsum(n) - n, n)
    number = pieces.index[piece] + nth
    begin, end = pieces.begin[piece], pieces.end[piece]
    low = np.where(nth == 0, begin, np.clip(number * slice_ns, begin, end))
    high = np.where(nth == n[piece] - 1, end, np.clip((number + 1) * slice_ns, begin, end))
    whole = np.maximum(end - begin, 1)
    return _Parts(n, number, high - low, (low - begin) / whole, (high - begin) / whole)


def _scatter(pieces: Pieces, parts: _Parts, columns: Sequence[Column], first: int, n_slices: int) -> dict[str, Ints]:
    """Per column name the amounts by slice. Rounded so that the parts of an amount add up to it exactly."""
    n = parts.n[pieces.piece]
    row = np.repeat(np.arange(n.size), n)
    nth = np.arange(row.size) - np.repeat(np.cumsum(n) - n, n)
    part = (np.cumsum(parts.n) - parts.n)[pieces.piece[row]] + nth
    whole = pieces.value[row]
    upto_begin = np.where(nth == 0, 0, np.rint(whole * parts.low[part]).astype(np.int64))
    upto_end = np.where(nth == n[row] - 1, whole, np.rint(whole * parts.high[part]).astype(np.int64))
    column, at = pieces.column[row], parts.slice[part] - first
    if not column.size:
        return {}
    order = np.argsort(column, kind="stable")
    numbers, begins = np.unique(column[order], return_index=True)
    ends = np.append(begins[1:], order.size)
    values = {}
    for number, begin, end in zip(numbers.tolist(), begins, ends[: begins.size], strict=True):
        rows = order[begin:end]
        array = np.zeros(n_slices, dtype=np.int64)
        described = columns[number]
        if described.kind == "gauge":
            array[at[rows]] = whole[rows]  # the last record of a slice tells
        else:
            np.add.at(array, at[rows], upto_end[rows] - upto_begin[rows])
        if array.any():
            values[described.name] = array
    return values
