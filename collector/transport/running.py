"""Copies of files that still grow: a node's running job steps, shipped while they run, as fast as a rate allows.

A copy is a bundle like others, but nothing depends on its arrival: its step's files stay where they are and are shipped
for good when no process of it runs any more. So a copy that cannot be sent is forgotten, and the next one says more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswind.collector.folders import own_folder
from crosswind.collector.transport.bundle import Origin, pack
from crosswind.collector.transport.outbox import OUTBOX, parts_of
from crosswind.profile.errors import FormatError
from crosswind.profile.peek import START, Peek, peek

__all__ = ["RATE", "RunningSteps"]

RATE = 64 << 10  # bytes a second that a node sends of running steps, on average
AGAIN_S = 600.0  # a copy is sent so often at least, news or not: as a sign of life
COPIES = "copies"
NEVER = float("-inf")


@dataclass(frozen=True)
class _Sent:
    """A file as it was sent last, and when (monotonic, s)."""

    peek: Peek
    at_s: float


class RunningSteps:
    """The running steps of a spool directory. rate: bytes a second; 0: none are shipped."""

    def __init__(
        self, spool: Path, origin: Origin, rate: float = RATE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._spool = spool
        self._origin = origin
        self._rate = rate
        self._clock = clock
        self._free_at = NEVER  # when what was sent has been paid for
        self._sent: dict[str, _Sent] = {}  # by path

    def bundles(self, running: Sequence[Sequence[Peek]]) -> Generator[Path]:
        """Bundles of what is new in running steps, those first that wait longest. running: looks at their files.

        Each bundle counts as sent, and is removed, when the next is asked for. Raises SpoolError, OSError.
        """
        if not self._rate:
            return
        here = {seen.path for step in running for seen in step}
        self._sent = {path: sent for path, sent in self._sent.items() if path in here}
        for step in sorted(running, key=self._sent_at):
            news = {Path(now.path): now for seen in step if (now := self._news(seen)) is not None}
            for part in parts_of(list(news)):
                if self._clock() < self._free_at:
                    return
                bundle, sizes = pack(part, self._origin, self._empty_folder(), running=True)
                try:
                    # Paid for before it is sent: where nothing gets through, packing again and again is not for free.
                    self._free_at = max(self._free_at, self._clock()) + bundle.stat().st_size / self._rate
                    if sizes:
                        yield bundle
                        self._note(news[path] for path in sizes)
                finally:
                    bundle.unlink(missing_ok=True)

    def _empty_folder(self) -> Path:
        """Where bundles are made, without what an agent left that died. Raises SpoolError, OSError."""
        folder = own_folder(own_folder(self._spool, OUTBOX), COPIES)
        for left in folder.iterdir():
            left.unlink(missing_ok=True)
        return folder

    def _sent_at(self, step: Iterable[Peek]) -> float:
        return min(self._sent[seen.path].at_s if seen.path in self._sent else NEVER for seen in step)

    def _news(self, seen: Peek) -> Peek | None:
        """A closer look at a file, if there is more in it than was sent, or it was long ago."""
        sent = self._sent.get(seen.path)
        is_same = sent is not None and sent.peek.inode == seen.inode
        before = sent if is_same else None
        try:
            now = peek(seen.path, before.peek.cursor if before else START)
        except (FormatError, OSError):
            return None  # gone, or nothing that a collector could read
        if now is None or before is None or self._clock() - before.at_s > AGAIN_S:
            return now
        return now if _progress(now) != _progress(before.peek) else None

    def _note(self, files: Iterable[Peek]) -> None:
        now = self._clock()
        self._sent |= {seen.path: _Sent(seen, now) for seen in files}


def _progress(seen: Peek) -> tuple[object, ...]:
    return seen.cursor, seen.state, seen.size if seen.is_log else 0
