"""Reads the log in which the short processes of a job step leave one record each (format.h)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import layout, varint
from crosswind.profile.container import check_header, header_instant, header_text, lost_counts, read_file, read_table
from crosswind.profile.errors import FormatError
from crosswind.profile.fold import Pieces
from crosswind.profile.records import MAX_RECORDS, MAX_VALUE, RECORD, fixed, numbered, prefix, walk
from crosswind.profile.table import Table, TableError

__all__ = ["ShortLog", "read_short_log"]

HEAD = 7  # numbers in front of the name: pid, parent, rank + 1, state, begin, duration, length of the name
MAX_HEAD = 10 * HEAD
MAX_NAME = 64
FUNCTION_STRIDE = 5  # number, calls, bytes out, bytes in, ns
MAX_DAMAGES = 16  # stretches that are stepped over
MAX_CANDIDATES = 4096  # places where a record might begin behind one
MAX_DURATION_NS = 86_400_000_000_000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ShortLog:
    """The short processes of one job step, user and node.

    pid, parent_pid: int64 [process]. exe: index into `names`, int64 [process]. pieces: when each process lived and what
    it counted. functions: (process, function, calls, bytes out, bytes in, ns) rows, int64 [row, 6]. words: (process,
    word, value) rows, int64 [row, 3]; records from before there were words have none. lost: what the header counts.
    """

    path: str
    owner_uid: int
    mtime_ns: int
    table: Table
    uid: int
    slice_ns: int
    start_ns: int
    boot_id: str
    host: str
    job_id: str
    step_id: str
    pid: Ints
    parent_pid: Ints
    exe: Ints
    names: tuple[str, ...]
    pieces: Pieces
    functions: Ints
    words: Ints
    lost: dict[str, int]
    problems: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.pid.size)


def read_short_log(path: str | os.PathLike[str]) -> ShortLog:
    """Read a log of short processes. Raises FormatError when it is none, OSError on opening it."""
    data, status = read_file(path)
    header = check_header(data, layout.SHORT_MAGIC, path)
    try:
        table = read_table(data, header)
    except TableError as error:
        raise FormatError(path, str(error)) from None
    slice_ns = int(header["slice_ns"])
    body = data[int(header["table_offset"]) + int(header["table_size"]) :]
    head, names, pieces, functions, words, problems = _records(body, table, slice_ns)
    exes, exe = np.unique(np.array(names, dtype=object), return_inverse=True) if names else ((), np.zeros(0, np.int64))
    return ShortLog(
        path=os.fspath(path),
        owner_uid=status.st_uid,
        mtime_ns=status.st_mtime_ns,
        table=table,
        uid=int(header["uid"]),
        slice_ns=slice_ns,
        start_ns=header_instant(header["start"]).real_ns,
        **{name: header_text(header[name]) for name in ("boot_id", "host", "job_id", "step_id")},
        pid=head[:, 0],
        parent_pid=head[:, 1],
        exe=exe.astype(np.int64),
        names=tuple(header_text(np.bytes_(name)) for name in exes),
        pieces=pieces,
        functions=functions,
        words=words,
        lost=lost_counts(table, header),
        problems=tuple(problems),
    )


def _records(body: bytes, table: Table, slice_ns: int) -> tuple[Ints, list[bytes], Pieces, Ints, Ints, list[str]]:
    """Heads [process, 7], names, pieces, functions and words of all records before the first that can't be believed."""
    n_columns, n_functions = len(table.columns), len(table.functions)
    longest = MAX_HEAD + MAX_NAME + 10 * (3 + 2 * n_columns + FUNCTION_STRIDE * n_functions + 2 * table.n_words)
    body, skipped = _without_damage(body, longest)
    starts, lengths, crcs, complaint = walk(body, longest, MAX_RECORDS)
    data = np.frombuffer(body, dtype=np.uint8)
    n = prefix(varint.crc32c(data, starts, lengths) == crcs)
    head, behind, good = _heads(data, starts[:n], lengths[:n])
    rest = varint.decode(data, starts[:n] + behind, lengths[:n] - behind)
    kinds = [(n_columns, 2), (n_functions, FUNCTION_STRIDE), *([(table.n_words, 2)] if table.n_words else [])]
    lists, possible = _lists(rest, good, kinds)
    end = prefix(good & possible)
    problems = [f"{skipped} bytes of short processes dropped: damaged"] if skipped else []
    if end < starts.size or complaint:
        problems.append(f"{starts.size - end} records of short processes and what follows them dropped: damaged")
    head = head[:end]
    names = [bytes(body[s + b - h : s + b]) for s, b, h in zip(starts[:end], behind[:end], head[:, 6], strict=True)]
    columns, functions, *others = (rows[rows[:, 0] < end] for rows in lists)
    words = others[0] if others else np.zeros((0, 3), dtype=np.int64)
    begin, duration = head[:, 4], head[:, 5]
    pieces = Pieces(begin // slice_ns, begin, begin + duration, *columns.T)
    return head, names, pieces, functions, words, problems


def _without_damage(body: bytes, longest: int) -> tuple[bytes, int]:
    """The log without its damaged stretches, as far as a good record follows them soon, and how many bytes they were.

    A record that was torn off, or damaged, hides only itself: each later one was written apart from it.
    """
    parts, skipped = [], 0
    for _ in range(MAX_DAMAGES):
        starts, lengths, crcs, complaint = walk(body, longest, MAX_RECORDS)
        data = np.frombuffer(body, dtype=np.uint8)
        n = prefix(varint.crc32c(data, starts, lengths) == crcs)
        if n == starts.size and not complaint:
            break
        bad = int(starts[n - 1] + (lengths[n - 1] + 3 & ~3)) if n else 0
        good = _next_record(body, bad, longest)
        if good < 0:
            break
        parts.append(body[:bad])
        skipped += good - bad
        body = body[good:]
    return b"".join([*parts, body]), skipped


def _next_record(body: bytes, bad: int, longest: int) -> int:
    """Where behind `bad` the next record begins whose checksum agrees, at any byte; -1: not in reach."""
    window = np.frombuffer(body[bad + 1 : bad + 1 + 2 * longest], dtype=np.uint8)
    if window.size <= RECORD.size:
        return -1
    words = np.lib.stride_tricks.sliding_window_view(window, 8).copy().view("<u4").astype(np.int64)
    at = np.arange(len(words)) + bad + 1
    length = words[:, 0]
    possible = np.flatnonzero((length >= HEAD) & (length <= longest) & (at + RECORD.size + length <= len(body)))
    possible = possible[:MAX_CANDIDATES]
    data = np.frombuffer(body, dtype=np.uint8)
    found = varint.crc32c(data, at[possible] + RECORD.size, length[possible]) == words[possible, 1]
    return int(at[possible][found][0]) if found.any() else -1


def _heads(data: NDArray[np.uint8], starts: Ints, lengths: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """The numbers in front of the names [process, 7], where each name ends, and which records are possible so far.

    The bytes of the name are read as numbers as well, and ignored.
    """
    numbers = varint.decode(data, starts, np.minimum(lengths, MAX_HEAD))
    good = numbers.count >= HEAD
    raw = fixed(numbers, good, HEAD)
    good = good & (raw < MAX_VALUE).all(axis=1) & (raw[:, 5] < MAX_DURATION_NS) & (raw[:, 6] < MAX_NAME)
    head = np.where(good[:, None], raw, 0).astype(np.int64)
    behind = np.zeros(starts.size, dtype=np.int64)
    behind[good] = numbers.end[numbers.first[good] + HEAD - 1] + head[good, 6]
    good &= behind < lengths
    return head, np.where(good, behind, 0), good


def _lists(
    rest: varint.Varints, good: NDArray[np.bool_], kinds: Sequence[tuple[int, int]]
) -> tuple[list[Ints], NDArray[np.bool_]]:
    """The lists behind the name, one of each kind (limit of its numbers, stride), as rows (process, number, values...).

    Also which records are possible: those that hold these lists and nothing else.
    """
    good = good & rest.good & (rest.count >= len(kinds))
    used = np.zeros(good.size, dtype=np.int64)
    spans = []
    for limit, stride in kinds:
        good &= used < rest.count
        at = np.where(good, rest.first + used, 0)
        length = _list_length(rest.values, at, limit, good)
        spans.append((at + 1, length))
        used += 1 + stride * length
        good &= used <= rest.count
    good &= used == rest.count
    lists = []
    possible = good.copy()
    for (limit, stride), (first, length) in zip(kinds, spans, strict=True):
        process, number, at, also = numbered(rest, first, np.where(good, length, 0), stride=stride, limit=limit)
        values = rest.values[at[:, None] + np.arange(stride - 1)].astype(np.int64)
        lists.append(np.concatenate((process[:, None], number[:, None], values), axis=1))
        possible &= also
    return lists, possible


def _list_length(values: NDArray[np.uint64], at: Ints, limit: int, good: NDArray[np.bool_]) -> Ints:
    """The lengths of lists that stand at `at`; 0, and no longer good, where a list would be longer than `limit`."""
    if not values.size:
        good[:] = False
        return np.zeros(at.size, dtype=np.int64)
    length = values[at]
    good &= length <= limit
    return np.where(good, length, 0).astype(np.int64)
