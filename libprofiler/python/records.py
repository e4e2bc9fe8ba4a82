"""The logs of a spool file: chunks of records -> arrays. Nothing that a checksum does not confirm is taken."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import varint

__all__ = [
    "MAX_RECORDS",
    "MAX_VALUE",
    "LogPlace",
    "SliceLog",
    "committed",
    "fixed",
    "numbered",
    "prefix",
    "read_slices",
    "report",
    "running_index",
    "walk",
]

RECORD = struct.Struct("<II")  # length, crc
MAX_RECORDS = 1 << 22
MAX_VALUE = 1 << 62
SLICE_HEAD = 8  # numbers before the pairs


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LogPlace:
    """A place behind a record: the number of its chunk, the offset in it, and the slice number of the record."""

    chunk: int = 0
    offset: int = 0
    index: int = 0


@dataclass(frozen=True)
class SliceLog:
    """Slice records in the order of writing, and their values as triples.

    All int64. index: slice number. begin_ns, end_ns: true boundaries, UTC. offset_ns, max_error_us: the node's clock.
    cost_ns: CPU time that closing the slice took. chunk, behind: number of the record's chunk, and the offset behind it
    there. record, column, value: the value of a column in a record.
    """

    index: Ints
    flags: Ints
    begin_ns: Ints
    end_ns: Ints
    offset_ns: Ints
    max_error_us: Ints
    cost_ns: Ints
    chunk: Ints
    behind: Ints
    record: Ints
    column: Ints
    value: Ints

    def __len__(self) -> int:
        return int(self.index.size)

    @property
    def place(self) -> LogPlace:
        """Behind the last record."""
        return LogPlace(*(int(v[-1]) for v in (self.chunk, self.behind, self.index))) if len(self) else LogPlace()


def read_slices(
    chunks: list[bytes], n_columns: int, slice_ns: int, since: LogPlace | None = None
) -> tuple[SliceLog, list[str]]:
    """The slice records of the chunks of this kind, all or those behind a place, and what was wrong, one sentence a
    chunk.
    """
    since = since or LogPlace()
    longest = 10 * (SLICE_HEAD + 2 * n_columns)
    logs: list[SliceLog] = []
    problems: list[str] = []
    rest = [chunk[since.offset if number == since.chunk else 0 :] for number, chunk in enumerate(chunks)]
    for number, (numbers, behind) in enumerate(
        _committed(rest[since.chunk :], longest, "slice", problems), since.chunk
    ):
        at = since if number == since.chunk else LogPlace(number)
        n_before = sum(map(len, logs))
        log, good = _slices(numbers, behind, at, n_columns, slice_ns, first_record=n_before)
        report("slice", good, problems)
        logs.append(log)
    return SliceLog(*_joined(logs)), problems


def _joined(logs: Sequence[SliceLog]) -> Iterator[Ints]:
    """The fields of all logs, one after the other."""
    for field in fields(logs[0]):
        yield np.concatenate([getattr(log, field.name) for log in logs])


def report(what: str, good: NDArray[np.bool_], problems: list[str]) -> None:
    """Add to the problems how many records of a chunk are dropped from the first bad one on."""
    bad = int(good.size - prefix(good))
    if bad:
        problems.append(f"{bad} {what} records dropped: impossible content")


def prefix(good: NDArray[np.bool_]) -> int:
    """How many records before the first bad one."""
    return int(good.size if good.all() else np.argmin(good))


def committed(chunks: list[bytes], longest: int, what: str, problems: list[str]) -> Iterator[varint.Varints]:
    """The numbers of each chunk's committed records; at least one chunk, if need be an empty one."""
    return (numbers for numbers, _ in _committed(chunks, longest, what, problems))


def _committed(
    chunks: list[bytes], longest: int, what: str, problems: list[str]
) -> Iterator[tuple[varint.Varints, Ints]]:
    """As committed, with the offset behind each record."""
    budget = MAX_RECORDS
    for chunk in chunks or [b""]:
        starts, lengths, crcs, complaint = walk(chunk, longest, budget)
        written = int(starts[-1] + lengths[-1]) if starts.size else 0  # a log has room for what is to come
        data = np.frombuffer(chunk, dtype=np.uint8, count=written)
        good = varint.crc32c(data, starts, lengths) == crcs
        n = prefix(good)
        if n < good.size:
            complaint = f"{good.size - n} {what} records dropped: wrong checksum"
        elif complaint:
            complaint = f"the rest of a chunk of {what} records dropped: {complaint}"
        if complaint:
            problems.append(complaint)
        budget -= n
        yield varint.decode(data, starts[:n], lengths[:n]), starts[:n] + ((lengths[:n] + 3) & ~3)


def walk(chunk: bytes, longest: int, most: int) -> tuple[Ints, Ints, NDArray[np.uint32], str]:
    """Starts, lengths and checksums of the records of a chunk, and why it ended early, if it did."""
    starts: list[int] = []
    lengths: list[int] = []
    crcs: list[int] = []
    at, complaint = 0, ""
    end = len(chunk) - RECORD.size
    while at <= end:
        length, crc = RECORD.unpack_from(chunk, at)
        if length == 0:
            break
        if length > longest or length > end - at:
            complaint = "impossible length"
            break
        if len(starts) == most:
            complaint = "too many records"
            break
        at += RECORD.size
        starts.append(at)
        lengths.append(length)
        crcs.append(crc)
        at += (length + 3) & ~3
    as_int = [np.array(v, dtype=np.int64) for v in (starts, lengths)]
    return as_int[0], as_int[1], np.array(crcs, dtype=np.uint32), complaint


def _slices(
    numbers: varint.Varints, behind: Ints, since: LogPlace, n_columns: int, slice_ns: int, first_record: int
) -> tuple[SliceLog, NDArray[np.bool_]]:
    """Good records of a chunk, from a place in it on and up to the first bad one; which were good. behind: the offset
    behind each, from that place.
    """
    pairs = numbers.count - SLICE_HEAD
    good = numbers.good & (pairs >= 0) & (pairs % 2 == 0)
    head = fixed(numbers, good, SLICE_HEAD)
    index, index_good = running_index(head[:, 0], MAX_VALUE // slice_ns, since.index)
    signed = varint.unzigzag(head[:, 2:5].reshape(-1)).reshape(-1, 3)
    good = good & index_good & (head[:, 7] == np.maximum(pairs, 0) // 2) & (head[:, 1] < 1 << 16)
    good &= (np.abs(signed) < MAX_VALUE).all(axis=1) & (signed > -MAX_VALUE).all(axis=1)
    good &= (head[:, 5:7] < MAX_VALUE).all(axis=1)
    record, column, at, possible = numbered(
        numbers, numbers.first + SLICE_HEAD, np.where(good, pairs // 2, 0), stride=2, limit=n_columns
    )
    good &= possible
    n = prefix(good)
    base = index[:n] * slice_ns
    keep = record < n
    log = SliceLog(
        index=index[:n],
        flags=head[:n, 1].astype(np.int64),
        begin_ns=base + signed[:n, 0],
        end_ns=base + slice_ns + signed[:n, 1],
        offset_ns=signed[:n, 2],
        max_error_us=head[:n, 5].astype(np.int64),
        cost_ns=head[:n, 6].astype(np.int64),
        chunk=np.full(n, since.chunk, dtype=np.int64),
        behind=behind[:n] + since.offset,
        record=record[keep] + first_record,
        column=column[keep],
        value=numbers.values[at[keep]].astype(np.int64),
    )
    return log, good


def numbered(
    numbers: varint.Varints, first: Ints, count: Ints, stride: int, limit: int
) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Lists of `count` entries, each a number coded as the difference to (the one before + 1), then stride - 1 values.

    first: where the list of each record begins in numbers.values. Returns (record, number, position of its first value)
    of all entries, and per record whether all its numbers are below the limit and its values below MAX_VALUE.
    """
    record = np.repeat(np.arange(count.size), count)
    nth = np.arange(record.size) - np.repeat(np.cumsum(count) - count, count)
    at = first[record] + stride * nth
    possible = numbers.values[at] < limit
    for k in range(1, stride):
        possible &= numbers.values[at + k] < MAX_VALUE
    total = np.cumsum(np.where(possible, numbers.values[at], 0).astype(np.int64) + 1)
    before = np.concatenate(([0], total))[np.cumsum(count) - count]
    number = total - before[record] - 1
    possible &= number < limit
    good = np.ones(count.size, dtype=np.bool_)
    good[record[~possible]] = False
    return record, number, at + 1, good


def fixed(numbers: varint.Varints, good: NDArray[np.bool_], width: int) -> NDArray[np.uint64]:
    """The first `width` numbers of each record, uint64 [record, width]; zeros for bad records."""
    out = np.zeros((good.size, width), dtype=np.uint64)
    rows = np.flatnonzero(good)
    out[rows] = numbers.values[numbers.first[rows, None] + np.arange(width)]
    return out


def running_index(steps: NDArray[np.uint64], limit: int, begin: int = 0) -> tuple[Ints, NDArray[np.bool_]]:
    """The numbers of which `steps` are the differences, from `begin`; where they stay below the limit."""
    possible = steps < limit
    total = begin + np.cumsum(np.where(possible, steps, 0).astype(np.float64))
    possible &= total < limit
    index = begin + np.cumsum(np.where(possible, steps, 0).astype(np.int64))
    return np.where(possible, index, 0), possible
