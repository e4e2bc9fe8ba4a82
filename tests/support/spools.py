"""Spool files written byte by byte as libprofiler/format.h draws them, apart from the library and from the reader.

A `SpoolBuilder` describes one process; `write` lays the file out like the library does: header, table text, chunks.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crosswind.profile.metrics import (
    ACCESS_SIZES,
    ACCESS_STEPS,
    ACCESS_WAYS,
    FILE_CLASSES,
    LOST,
    METRICS,
    SEGMENT_FIELDS,
)
from support.segment_blocks import SLOT_BYTES, Row, varint, zigzag

PAGE = 4096
THREADS, SLICES, SEGMENTS, FILES, ROWS, BLOCKS, SITES = 1, 2, 3, 4, 5, 6, 7
FIRST, LAST, UNSYNCHRONISED, GAP = 1, 2, 4, 8
RUNNING, CLEAN, EXITED = 1, 2, 3
SLICE_NS = 4_000_000_000
FIRST_SLICE = 440_000_000
START_NS = FIRST_SLICE * SLICE_NS
HZ = 2_000_000_000  # ticks per second of the made-up machine
START_TICK = 10**12
N_CHUNKS_AT = 760  # offset of n_chunks in the header
BEHIND_CHUNKS_AT = 2304  # of what follows the chunk table
BOOTED_NS = 10**18  # CLOCK_MONOTONIC at START_NS

FUNCTIONS = (("read", "posix"), ("write", "posix"), ("fwrite", "stdio"), ("MPI_Send", "mpi"), ("MPI_Allreduce", "mpi"))
GROUPS = sorted({m.id // 4 for m in METRICS if m.id < 1000})
WORDS = {
    f"{what}_{cls}_{way}": length
    for cls in FILE_CLASSES
    for way in ACCESS_WAYS
    for what, length in (("steps", len(ACCESS_STEPS)), ("sizes", ACCESS_SIZES))
}
COLUMN = {m.name: i for i, m in enumerate(METRICS)}


def table_text() -> str:
    """What the library's generator makes of the metric table, and FUNCTIONS."""
    lines, sampled = [], {"os": 0, "perf": 0}
    for m in METRICS:
        if m.id < 1000:
            place = f"group {GROUPS.index(m.id // 4)} {m.id % 4}"
        else:
            source = "os" if m.id < 1100 else "perf"
            place = f"{source} {sampled[source]}"
            sampled[source] += 1
        lines.append(f"column {m.id} {m.name} {m.unit} {m.kind} {place}")
    lines += [f"segment {name} {unit}" for name, unit, _ in SEGMENT_FIELDS]
    lines += [f"lost {name}" for name in LOST]
    lines += [f"words {name} {length}" for name, length in WORDS.items()]
    lines += [f"function {name} {layer}" for name, layer in FUNCTIONS]
    return "\n".join(lines) + "\n"


def svarint(value: int) -> bytes:
    """Zigzag in LEB128."""
    return varint(zigzag(value))


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [_crc_of_byte(b) for b in range(256)]


def crc32c(data: bytes) -> int:
    """CRC-32C, byte by byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def record(payload: bytes) -> bytes:
    """One committed record, padded to 4."""
    return struct.pack("<II", len(payload), crc32c(payload)) + payload + bytes(-len(payload) % 4)


@dataclass
class Slice:
    """One slice record; times are offsets from the boundaries in ns."""

    index: int
    values: Mapping[str, int]
    flags: int = 0
    begin: int = 0
    end: int = 0
    offset_ns: int = 0
    max_error_us: int = 500
    cost_ns: int = 30_000

    def payload(self, previous_index: int) -> bytes:
        """Its payload behind a record with that index."""
        pairs = [(COLUMN[n], v) for n, v in self.values.items() if v]
        out = varint(self.index - previous_index) + varint(self.flags) + svarint(self.begin) + svarint(self.end)
        out += svarint(self.offset_ns) + varint(self.max_error_us) + varint(self.cost_ns)
        return out + numbered({column: (value,) for column, value in pairs})


@dataclass
class Segment:
    """One segment record: begin in ticks, values by field name."""

    index: int
    begin_tick: int
    values: Mapping[str, int]
    count: int = 1
    function: int = 4
    signature: int = 0xC0FFEE

    def payload(self, previous_index: int, previous_end: int) -> bytes:
        """Its payload behind a record with that index and end."""
        out = varint(self.index - previous_index) + varint(self.count) + svarint(self.begin_tick - previous_end)
        out += varint(self.function) + varint(self.signature)
        return out + b"".join(varint(self.values.get(name, 0)) for name, _, _ in SEGMENT_FIELDS)


@dataclass
class Site:
    """The record of a place from which a call ended segments."""

    number: int
    module: str
    offset: int
    function: int = 4

    def payload(self) -> bytes:
        """Its payload."""
        name = self.module.encode()
        return b"".join(map(varint, (self.number, self.function, self.offset, len(name)))) + name


@dataclass
class Thread:
    """One thread block: counters by group column name or function name, as quads (calls, out, in, ticks), and words."""

    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)
    functions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    words: Mapping[str, Sequence[int]] = field(default_factory=dict)
    tid: int = 4000
    state: int = 1
    call_since: int = 0
    call_group: str = ""

    def block(self) -> bytes:
        """Head, groups, functions, words, padding to 64."""
        number = 1 + group_index(self.call_group) if self.call_group else 0
        out = struct.pack("<IIQIIQQQQQ", self.tid, self.state, self.call_since, number, 0, 0, 0, 0, 0, 0)
        quads = [(0, 0, 0, 0)] * (len(GROUPS) + len(FUNCTIONS))
        for name, quad in self.groups.items():
            quads[group_index(name)] = tuple(quad)
        for name, quad in self.functions.items():
            quads[len(GROUPS) + [f for f, _ in FUNCTIONS].index(name)] = tuple(quad)
        out += b"".join(struct.pack("<4Q", *q) for q in quads)
        for name, length in WORDS.items():
            out += struct.pack(f"<{length}Q", *padded(self.words.get(name, ()), length))
        return out + bytes(-len(out) % 64)


@dataclass
class Short:
    """One record of a log of short processes. functions: calls, bytes out, bytes in, ns by name."""

    exe: str
    begin_ns: int
    duration_ns: int
    values: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    words: Mapping[str, Sequence[int]] = field(default_factory=dict)
    pid: int = 5000
    parent_pid: int = 1
    rank: int = -1
    state: int = CLEAN

    def payload(self) -> bytes:
        """Its payload."""
        name = self.exe.encode()
        numbers = (self.pid, self.parent_pid, self.rank + 1, self.state, self.begin_ns, self.duration_ns, len(name))
        out = b"".join(map(varint, numbers)) + name
        out += numbered({COLUMN[n]: (v,) for n, v in self.values.items() if v})
        names = [f for f, _ in FUNCTIONS]
        out += numbered({names.index(n): q for n, q in self.functions.items()})
        row = [value for name, length in WORDS.items() for value in padded(self.words.get(name, ()), length)]
        return out + numbered({i: (value,) for i, value in enumerate(row) if value})


def padded(values: Sequence[int], length: int) -> list[int]:
    """The values, with zeros behind them."""
    return [*values, *[0] * (length - len(values))]


def numbered(entries: Mapping[int, Sequence[int]]) -> bytes:
    """Their number, then each key as difference to the one before + 1, and its values."""
    out, last = varint(len(entries)), 0
    for key in sorted(entries):
        out += varint(key - last) + b"".join(map(varint, entries[key]))
        last = key + 1
    return out


def group_index(name: str) -> int:
    """Dense index of the group whose calls are counted in the column `name`_calls."""
    return GROUPS.index(METRICS[COLUMN[f"{name}_calls"]].id // 4)


@dataclass
class SpoolBuilder:
    """One process's file. `slices_per_chunk`, `segments_per_chunk`: None puts all records into one chunk.

    segments are records of version 1; rows and blocks (payloads) what came after them.
    """

    slices: Sequence[Slice] = ()
    segments: Sequence[Segment] = ()
    threads: Sequence[Thread] = (Thread(),)
    slices_per_chunk: int | None = None
    segments_per_chunk: int | None = None
    state: int = CLEAN
    pid: int = 4000
    parent_pid: int = 1
    uid: int = field(default_factory=os.geteuid)
    rank: int = -1
    ranks: int = 0
    tick_source: int = 1
    tick_hz: int = HZ
    slice_ns: int = SLICE_NS
    start_ticks: int = 0
    start_ns: int = START_NS
    end_ns: int = 0
    start_tick: int = START_TICK
    lost: Mapping[str, int] = field(default_factory=dict)
    boot_id: str = "00000000-1111-2222-3333-444444444444"
    host: str = "node01"
    exe: str = "lmp"
    job_id: str = "1001"
    step_id: str = "0"
    mpi: str = ""
    counters: str = ""
    omp_num_threads: str = ""
    pid_namespace: int = 0
    files: Sequence[int] = ()
    rows: Sequence[Row] = ()
    blocks: Sequence[bytes] = ()
    sites: Sequence[Site] = ()
    version: int = 1

    def chunks(self) -> list[tuple[int, bytes]]:
        """(kind, content) of all chunks, each with room for a few more records."""
        blocks = Thread(tid=0, state=3).block() + b"".join(t.block() for t in self.threads) + Thread(state=0).block()
        out = [(THREADS, blocks)]
        n = self.slices_per_chunk or max(len(self.slices), 1)
        for i in range(0, max(len(self.slices), 1), n):
            index, log = 0, b""
            for s in self.slices[i : i + n]:
                log += record(s.payload(index))
                index = s.index
            out.append((SLICES, log + bytes(64)))
        n = self.segments_per_chunk or max(len(self.segments), 1)
        for i in range(0, len(self.segments), n):
            index = end = 0
            log = b""
            for s in self.segments[i : i + n]:
                log += record(s.payload(index, end))
                index, end = s.index, s.begin_tick + s.values.get("duration", 0)
            out.append((SEGMENTS, log + bytes(64)))
        if self.rows:
            out.append((ROWS, b"".join(row.slot() for row in self.rows) + bytes(SLOT_BYTES)))
        if self.blocks:
            out.append((BLOCKS, b"".join(map(record, self.blocks)) + bytes(64)))
        if self.sites:
            out.append((SITES, b"".join(record(site.payload()) for site in self.sites) + bytes(64)))
        if self.files:
            out.append((FILES, struct.pack(f"<{len(self.files)}Q", *self.files)))
        return out

    def build_short_log(self, shorts: Sequence[Short]) -> bytes:
        """A log of short processes whose header is this process's."""
        file = self.build()
        table_end = PAGE + len(table_text())
        version = struct.pack("<I", max(self.version, 2))
        return b"XWSHORT\0" + version + file[12:table_end] + b"".join(record(s.payload()) for s in shorts)

    def build(self) -> bytes:
        """The whole spool file."""
        table = table_text().encode()
        at = -(-(PAGE + len(table)) // PAGE) * PAGE
        body, entries = table + bytes(at - PAGE - len(table)), []
        for kind, content in self.chunks():
            size = -(-len(content) // PAGE) * PAGE
            entries.append(struct.pack("<QII", at, size, kind))
            body += content + bytes(size - len(content))
            at += size
        header = struct.pack("<8s10I", b"XWSPOOL", self.version, PAGE, PAGE, len(table), len(Thread().block()),
                             len(GROUPS), len(FUNCTIONS), len(METRICS), len(LOST), self.state)  # fmt: skip
        header += struct.pack("<3I2iI3Q", self.pid, self.parent_pid, self.uid, self.rank, self.ranks,
                              self.tick_source, self.tick_hz, self.slice_ns, self.start_ticks)  # fmt: skip
        header += struct.pack("<3Q", self.start_ns, self.start_ns - START_NS + BOOTED_NS, self.start_tick)
        passed = self.end_ns - self.start_ns
        end = (self.end_ns, self.end_ns - START_NS + BOOTED_NS, self.tick_at(passed)) if self.end_ns else (0, 0, 0)
        header += struct.pack("<3Q", *end)
        lost = [self.lost.get(name, 0) for name in LOST]
        header += struct.pack("<16Q", *lost, *[0] * (16 - len(lost)))
        texts = (self.boot_id, self.host, self.exe, self.job_id, self.step_id, self.mpi, self.counters)
        header += struct.pack("<40s64s64s64s64s64s128s", *(t.encode() for t in texts))
        header += struct.pack("<II", len(entries), 0) + b"".join(entries)
        header += bytes(BEHIND_CHUNKS_AT - len(header))
        header += struct.pack("<32sQ", self.omp_num_threads.encode(), self.pid_namespace)
        return header + bytes(PAGE - len(header)) + body

    def tick_at(self, passed_ns: int) -> int:
        """The tick `passed_ns` after the start."""
        return self.start_tick + passed_ns * HZ // 1_000_000_000

    def write(self, directory: Path, name: str = "") -> Path:
        """Write the file into the directory, under the name the library would give it, and return its path."""
        path = directory / (name or f"{self.job_id}.{self.rank}.{self.pid}.{self.start_ns}.xws")
        path.write_bytes(self.build())
        return path
