"""Reads one spool file, also one that is still being written. docs/format.md is its specification.

Nothing in the file is trusted: every offset is checked, a record counts only if its checksum agrees, and what cannot be
believed is left out and listed in `problems`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import layout
from crosswind.profile.call_sites import CallSite, read_sites
from crosswind.profile.container import (
    MAX_COUNT,
    MAX_FILE,
    MAX_TABLE,
    Instant,
    check_header,
    header_instant,
    header_text,
    lost_counts,
    read_file,
    read_table,
)  # fmt: skip
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import ChunkKind, SlotState, State, TickSource
from crosswind.profile.marks import Mark, read_since
from crosswind.profile.records import SliceLog, read_slices
from crosswind.profile.segment_log import SegmentLog
from crosswind.profile.segment_reader import read_segments
from crosswind.profile.table import Table, TableError

__all__ = ["Instant", "RunningCall", "SpoolFile", "read_spool"]

HZ_RANGE = (10_000.0, 1e11)
TEXTS = ("boot_id", "host", "exe", "job_id", "step_id", "mpi", "counters", "omp_num_threads")


@dataclass(frozen=True)
class RunningCall:
    """A call that had not returned when the file was read: dense index of its group, tick of its begin."""

    group: int
    since_tick: int


@dataclass(frozen=True)
class SpoolFile:
    """What one process wrote.

    pid_namespace: inode of the PID namespace that the pid is of, 0 if unknown. tick_hz: ticks per second, 0.0 if
    unknown (times are dropped then). end: None unless the process ended by itself. groups, functions: int64 [n, 4], the
    counters of all threads: calls, bytes out, bytes in, ticks. words: int64 [n], theirs too, in the order of the table.
    sites: the places from which calls ended segments, by number. files: uint64 [n], a word for each file that it read
    or wrote (libprofiler/file_table.h). running: calls that have not returned. last_call_tick: begin of the latest
    call, 0 if there was none. owner_uid, mtime_ns: of the file. problems: what could not be believed, in sentences.
    before: the mark behind which it was read; None: it was read whole.
    """

    path: str
    owner_uid: int
    mtime_ns: int
    table: Table
    state: State
    pid: int
    pid_namespace: int
    parent_pid: int
    uid: int
    rank: int | None
    ranks: int
    tick_source: TickSource
    tick_hz: float
    slice_ns: int
    start_ticks: int
    start: Instant
    end: Instant | None
    lost: dict[str, int]
    boot_id: str
    host: str
    exe: str
    job_id: str
    step_id: str
    mpi: str
    counters: str
    omp_num_threads: str
    slices: SliceLog
    segments: SegmentLog
    sites: Mapping[int, CallSite]
    groups: NDArray[np.int64]
    functions: NDArray[np.int64]
    words: NDArray[np.int64]
    files: NDArray[np.uint64]
    n_threads: int
    running: tuple[RunningCall, ...]
    last_call_tick: int
    problems: tuple[str, ...]
    inode: int = 0
    before: Mark | None = None

    def ticks_to_ns(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Durations in ns; zeros where the tick rate is not known."""
        if not self.tick_hz:
            return np.zeros_like(ticks)
        return np.rint(ticks.astype(np.float64) * (1e9 / self.tick_hz)).astype(np.int64)

    def tick_to_utc_ns(self, tick: NDArray[np.int64]) -> NDArray[np.int64]:
        """UTC ns of instants; the process's start where the tick rate is not known."""
        return self.start.real_ns + self.ticks_to_ns(np.asarray(tick, dtype=np.int64) - self.start.tick)


def read_spool(path: str | os.PathLike[str], since: Mark | None = None) -> SpoolFile:
    """Read a spool file. Raises FormatError when it is none or nothing in it can be believed, OSError on opening it.

    since: only the slices behind this mark, which is of the same file (marks.mark_of), and no segments.
    """
    data, status = read_file(path) if since is None else read_since(path, since)
    header = check_header(data, layout.MAGIC, path)
    problems: list[str] = []
    try:
        table = read_table(data, header)
        chunks = _chunks(data, header, problems)
        blocks = _blocks(chunks[ChunkKind.THREADS], header, table)
        groups, functions, words = _counters(blocks, table)
    except TableError as error:
        raise FormatError(path, str(error)) from None
    slices, slice_problems = read_slices(
        chunks[ChunkKind.SLICES], len(table.columns), int(header["slice_ns"]), since.place if since else None
    )
    of_segments = chunks if since is None else {kind: [] for kind in ChunkKind}
    segments, segment_problems = read_segments(of_segments, table)
    sites, site_problems = read_sites(of_segments[ChunkKind.SITES], len(table.functions))
    problems += [*slice_problems, *segment_problems, *site_problems]
    ended = bool(header["state"] != State.RUNNING and header["end"]["real_ns"])
    start, end = header_instant(header["start"]), header_instant(header["end"]) if ended else None
    tick_source = TickSource(header["tick_source"])
    return SpoolFile(
        path=os.fspath(path),
        owner_uid=status.st_uid,
        mtime_ns=status.st_mtime_ns,
        table=table,
        state=State(header["state"]),
        pid=int(header["pid"]),
        pid_namespace=int(header["pid_namespace"]),
        parent_pid=int(header["parent_pid"]),
        uid=int(header["uid"]),
        rank=int(header["rank"]) if header["rank"] >= 0 else None,
        ranks=max(int(header["ranks"]), 0),
        tick_source=tick_source,
        tick_hz=_tick_hz(tick_source, int(header["tick_hz"]), start, end, problems),
        slice_ns=int(header["slice_ns"]),
        start_ticks=int(header["start_ticks"]),
        start=start,
        end=end,
        lost=lost_counts(table, header),
        **{name: header_text(header[name]) for name in TEXTS},
        slices=slices,
        segments=segments,
        sites=sites,
        groups=groups,
        functions=functions,
        words=words,
        files=_files(chunks[ChunkKind.FILES]),
        n_threads=sum(int(np.count_nonzero(_used(b) & (b["head"]["state"] != SlotState.SHARED))) for b in blocks),
        running=_running(blocks, table),
        last_call_tick=_last_call(blocks),
        problems=tuple(problems),
        inode=status.st_ino,
        before=since,
    )


def _chunks(data: bytes, header: np.void, problems: list[str]) -> dict[ChunkKind, list[bytes]]:
    """The chunks of each known kind, in their order. A chunk cut off by the end of the file keeps what is there."""
    found: dict[ChunkKind, list[bytes]] = {kind: [] for kind in ChunkKind}
    n = int(header["n_chunks"])
    if n > layout.MAX_CHUNKS:
        problems.append("its header counts more chunks than there is room for")
        n = layout.MAX_CHUNKS
    total = overlapping = 0
    taken: list[tuple[int, int]] = []
    for offset, size, kind in header["chunk"][:n].tolist():
        if any(offset < end and begin < offset + size for begin, end in taken):
            overlapping += 1
            continue
        taken.append((offset, offset + size))
        if offset + size > len(data):
            problems.append("a chunk reaches beyond the end of the file")
        total += size
        if total > MAX_FILE:
            problems.append("its chunks are larger together than a file can be; the rest left out")
            break
        if kind in found:
            found[ChunkKind(kind)].append(data[offset : offset + size])
    if overlapping:
        problems.append(f"{overlapping} chunks that lie over others left out")
    return found


def _files(chunks: list[bytes]) -> NDArray[np.uint64]:
    """The entries in use of the tables of files."""
    words = [np.frombuffer(c, dtype="<u8", count=len(c) // 8) for c in chunks]
    table = np.concatenate([np.zeros(0, dtype="<u8"), *words])
    return np.unique(table[table != 0]).astype(np.uint64)


def _blocks(chunks: list[bytes], header: np.void, table: Table) -> list[NDArray[np.void]]:
    """The thread blocks of each chunk, with the fields `head`, `quad` (groups, then functions) and `word`."""
    n = table.n_groups + len(table.functions)
    size, head = int(header["block_size"]), layout.THREAD_HEAD.itemsize
    words_at = head + 8 * n * len(layout.QUAD_FIELDS)
    if not words_at + 8 * table.n_words <= size <= MAX_TABLE or size % 8:
        raise TableError("its thread blocks have an impossible size")
    formats = [layout.THREAD_HEAD, ("<u8", (n, len(layout.QUAD_FIELDS))), ("<u8", (table.n_words,))]
    names, offsets = ["head", "quad", "word"], [0, head, words_at]
    block = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    return [np.frombuffer(c, dtype=block, count=len(c) // size) for c in chunks]


def _used(blocks: NDArray[np.void]) -> NDArray[np.bool_]:
    return blocks["head"]["state"] != SlotState.FREE


def _counters(
    blocks: list[NDArray[np.void]], table: Table
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Groups, functions and words, summed over all threads that ever were."""
    quads = _sum(blocks, "quad", (table.n_groups + len(table.functions), len(layout.QUAD_FIELDS)))
    return quads[: table.n_groups], quads[table.n_groups :], _sum(blocks, "word", (table.n_words,))


def _sum(blocks: list[NDArray[np.void]], name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A field of the blocks, summed over all threads that ever were."""
    total = np.zeros(shape, dtype=np.float64)
    exact = np.zeros(shape, dtype=np.uint64)
    for chunk in blocks:
        counters = chunk[name][_used(chunk)]
        total += counters.sum(axis=0, dtype=np.float64)
        exact += counters.sum(axis=0, dtype=np.uint64)
    if np.any(total >= MAX_COUNT):
        raise TableError("its counters are impossible")
    return exact.astype(np.int64)


def _running(blocks: list[NDArray[np.void]], table: Table) -> tuple[RunningCall, ...]:
    """The calls in which threads were when the file was read. A retired or shared block is in none."""
    calls = []
    for chunk in blocks:
        head = chunk["head"]
        inside = (head["state"] == SlotState.USED) & (head["call_group"] >= 1) & (head["call_group"] <= table.n_groups)
        inside &= (head["call_since"] > 0) & (head["call_since"] < MAX_COUNT)
        calls += [
            RunningCall(group - 1, since)
            for group, since in zip(
                head["call_group"][inside].tolist(), head["call_since"][inside].tolist(), strict=True
            )
        ]
    return tuple(calls)


def _last_call(blocks: list[NDArray[np.void]]) -> int:
    """Tick at which the latest call of any thread began: it stays in the block when the call returns."""
    since = np.concatenate([np.zeros(1, np.uint64), *(b["head"]["call_since"][_used(b)] for b in blocks)])
    return int(since[since < MAX_COUNT].max())


def _tick_hz(source: TickSource, stated: int, start: Instant, end: Instant | None, problems: list[str]) -> float:
    """Ticks per second: as the process measured it, else between its start and end, else unknown (0)."""
    if source == TickSource.MONOTONIC:
        return 1e9
    if source == TickSource.OFF:
        return 0.0
    measured = float(stated)
    if not measured and end and end.mono_ns > start.mono_ns:
        measured = (end.tick - start.tick) * 1e9 / (end.mono_ns - start.mono_ns)
    if not HZ_RANGE[0] <= measured <= HZ_RANGE[1]:
        problems.append("the rate of its cycle counter is not known: times are left out")
        return 0.0
    return measured
