"""The agent's loop: at each slice boundary read the sources, and append the slice that ended to the node's file."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from crosswind.collector.agent.boot import read_boot
from crosswind.collector.agent.nodefile import NODE_SUFFIX, NodeWriter
from crosswind.collector.agent.sample import Slice, Snapshot, read_sources, slice_between
from crosswind.collector.agent.sources import READERS
from crosswind.collector.log import log_event
from crosswind.db.schema import BLOCK

__all__ = ["Agent", "next_boundary", "wait_until"]

MAX_SPOOL = 64 << 20  # bytes of node files that wait to be loaded; beyond it the oldest go
_LOOK_S = 1.0  # how often the clock is looked at while waiting, in case it is set


@dataclass
class Agent:
    """Reads one node. spool: where its files go; max_slices: how many a file has at most; serves: the resource whose
    server this node is, or "".
    """

    spool: Path
    node: str
    slice_ns: int
    serves: str = ""
    sources: Collection[str] = tuple(READERS)
    max_slices: int = BLOCK
    root: Path = Path("/")
    _before: Snapshot | None = None
    _writer: NodeWriter | None = None
    _block: int = -1
    _broken: set[str] = field(default_factory=set)

    def run(self, stop: threading.Event) -> None:
        """Until stop is set: one slice after the other."""
        try:
            while (boundary := wait_until(next_boundary(self.slice_ns), self.slice_ns, stop)) is not None:
                self.sample(boundary)
        finally:
            self.close()

    def sample(self, boundary: int) -> Slice | None:
        """Read the sources at a boundary; the slice that ended there, which is also written, or None for a gap."""
        piece = self.read(boundary)
        if piece is not None:
            self._write(piece)
        return piece

    def read(self, boundary: int) -> Slice | None:
        """The same without writing."""
        at_ns = time.time_ns()
        values, broken = read_sources(self.root, self.sources)
        for name in set(broken) - self._broken:
            log_event(logging.WARNING, "source_broken", source=name)
        self._broken = set(broken)
        now = Snapshot(boundary, at_ns, values)
        before, self._before = self._before, now
        return None if before is None else slice_between(before, now, self.slice_ns)

    def close(self) -> None:
        """End the file that is being written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                log_event(logging.WARNING, "node_file_unfinished", file=writer.path.name, reason=error.strerror)

    def _write(self, piece: Slice) -> None:
        """Append a slice; where that fails it is lost, and the next one tries a new file."""
        block = piece.number // BLOCK
        writer = self._writer
        if writer is not None and (block != self._block or writer.slices >= self.max_slices or not writer.is_there):
            self.close()
        try:
            if self._writer is None:
                self._writer, self._block = self._new_file(piece.number), block
            self._writer.append(piece)
        except OSError as error:
            log_event(logging.WARNING, "slice_lost", slice=piece.number, reason=error.strerror)
            if self._writer is not None:
                self._writer.abandon()
                self._writer = None

    def _new_file(self, first_slice: int) -> NodeWriter:
        dropped = _keep_below(self.spool, MAX_SPOOL)
        if dropped:
            log_event(logging.WARNING, "node_files_dropped", count=dropped, reason="nobody loads them")
        name = f"{re.sub(r'[^A-Za-z0-9_-]', '_', self.node)[:64]}.{first_slice}.{uuid4().hex[:8]}{NODE_SUFFIX}"
        header: dict[str, Any] = {"node": self.node, "slice_ns": self.slice_ns, "serves": self.serves}
        header |= {"dropped_files": dropped, **asdict(read_boot(self.root))}
        return NodeWriter(self.spool / name, header)


def next_boundary(slice_ns: int) -> int:
    """The number of the next slice boundary by the clock of now."""
    return time.time_ns() // slice_ns + 1


def wait_until(boundary: int, slice_ns: int, stop: threading.Event) -> int | None:
    """Wait for a boundary of the real-time clock; None when stop was set.

    When the clock is set meanwhile, forward or back, it is the next boundary of the new time that counts.
    """
    while True:
        now = time.time_ns()
        if now >= boundary * slice_ns:
            return now // slice_ns
        boundary = min(boundary, now // slice_ns + 1)
        if stop.wait(min((boundary * slice_ns - now) / 1e9, _LOOK_S)):
            return None


def _keep_below(spool: Path, limit: int) -> int:
    """Remove the oldest node files of this user until the rest is below the limit; how many. Collectors take some away
    meanwhile.
    """
    files = []
    with os.scandir(spool) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.name.endswith(NODE_SUFFIX) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_uid == os.geteuid():
                        files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    removed = 0
    for _, size, path in sorted(files):
        if total < limit:
            break
        with suppress(FileNotFoundError):
            os.unlink(path)
            removed += 1
        total -= size
    return removed
