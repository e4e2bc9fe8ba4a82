"""Spool files that grow as a real process's do: in place, each record committed by its length, counters first.

What was written is kept beside, apart from the file: the truth that a database is compared with.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.spools import CLEAN, FIRST, RUNNING, Slice, SpoolBuilder, Thread, crc32c, group_index

STATE_AT, END_AT, CALLS = 44, 120, "posix_disk_write"


@dataclass
class GrowingSpool:
    """One process: `grow` closes a slice, `end` says that the process ended. values: calls by slice number."""

    directory: Path
    builder: SpoolBuilder
    room: int = 1 << 16
    values: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.builder.slices, self.builder.state = (), RUNNING
        image = bytearray(self.builder.build())
        self._threads_at, self._log_at = _chunk(image, 0)[0], len(image)
        self._files_at = _chunk(image, 2)[0] if self.builder.files else 0
        struct.pack_into("<QI", image, _entry(1), self._log_at, self.room)
        image += bytes(self.room)
        name = f"{self.builder.job_id or 'nojob'}.{self.builder.rank}.{self.builder.pid}.{self.builder.start_ns}.xws"
        self.path = self.directory / name
        making = self.directory / f".making.{self.builder.pid}.{self.builder.start_ns}"
        making.write_bytes(image)
        with making.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), len(image))
        making.rename(self.path)
        self._at, self._index = self._log_at, 0

    def grow(self, index: int, calls: int, sampled: Mapping[str, int] | None = None) -> None:
        """Count the calls and close slice `index` with them; sampled: what the system said of it, by column."""
        self._count(calls)
        slice_ = Slice(index, {f"{CALLS}_calls": calls, **(sampled or {})}, flags=0 if self.values else FIRST)
        payload = slice_.payload(self._index)
        size = 8 + len(payload) + (-len(payload) % 4)
        if self._at + size > self._log_at + self.room:
            raise AssertionError("no room left")
        self._map[self._at + 8 : self._at + 8 + len(payload)] = payload
        struct.pack_into("<I", self._map, self._at + 4, crc32c(payload))
        struct.pack_into("<I", self._map, self._at, len(payload))
        self._at, self._index = self._at + size, index
        self.values[index] = calls

    def copy(self, other: GrowingSpool) -> None:
        """Close the slices that another process of equal layout has closed since they were the same, as it did."""
        if (self._log_at, self._threads_at, self.room) != (other._log_at, other._threads_at, other.room):
            raise AssertionError("of another layout")
        if other._at > self._at:
            self._count(sum(calls for index, calls in other.values.items() if index not in self.values))
            self._map[self._at + 4 : other._at] = other._map[self._at + 4 : other._at]
            self._map[self._at : self._at + 4] = other._map[self._at : self._at + 4]  # the length commits
            self._at, self._index, self.values = other._at, other._index, dict(other.values)

    def use(self, word: int) -> None:
        """Note another file in the table, which has one already."""
        at = self._files_at + 8 * len(self.builder.files)
        self.builder.files = (*self.builder.files, word)
        struct.pack_into("<Q", self._map, at, word)

    def end(self, end_ns: int) -> None:
        """The process ends by itself."""
        passed = end_ns - self.builder.start_ns
        mono = end_ns - self.builder.start_ns + 10**9
        struct.pack_into("<3Q", self._map, END_AT, end_ns, mono, self.builder.tick_at(passed))
        struct.pack_into("<I", self._map, STATE_AT, CLEAN)

    def _count(self, calls: int) -> None:
        """Add to the counter of the thread's block, the second one: the first is the shared one."""
        at = self._threads_at + len(Thread().block()) + 64 + 32 * group_index(CALLS)
        (so_far,) = struct.unpack_from("<Q", self._map, at)
        struct.pack_into("<Q", self._map, at, so_far + calls)


def live_process(directory: Path, truth: Path, job_id: str, slice_ns: int, n_slices: int, seed: int) -> None:
    """Be a process of a job for so many slices of real time, then write what was counted to the file `truth`."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    start_ns = time.time_ns()
    builder = SpoolBuilder(
        pid=os.getpid(), boot_id=boot_id, start_ticks=started, job_id=job_id, slice_ns=slice_ns, start_ns=start_ns,
        exe="grower",
    )  # fmt: skip
    spool = GrowingSpool(directory, builder)
    first = start_ns // slice_ns
    for i in range(n_slices):
        time.sleep(max(((first + i + 1) * slice_ns - time.time_ns()) / 1e9, 0))
        spool.grow(first + i, 1 + (seed * 7919 + i * 104729) % 1000)
    spool.end(max((first + n_slices) * slice_ns, start_ns))
    truth.write_text(json.dumps({"job": job_id, "pid": os.getpid(), "slices": spool.values}))


def _entry(i: int) -> int:
    """Offset of an entry of the chunk table."""
    return 768 + 16 * i


def _chunk(image: bytes, i: int) -> tuple[int, int]:
    offset, size, _ = struct.unpack_from("<QII", image, _entry(i))
    return offset, size
