"""Which job steps are to be loaded now, and whether their files are taken or only read. Decides; touches nothing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswind.collector.follow import Entry, Follower, Life
from crosswind.profile.steps import StepKey, group_by_step

__all__ = ["Due", "Known", "Limits", "Plan"]


@dataclass(frozen=True)
class Limits:
    """files, size: of a step that are read and loaded at a time, number and bytes. early: ended processes of a running
    step are put away when there are so many.
    """

    files: int = 4096
    size: int = 1 << 30
    early: int = 256


@dataclass
class Known:
    """What is known of a step from look to look. state: of its files, as they are in the database. Monotonic times:
    due_since, not_before (after a failure), refresh_from (of a running one). costs_s: CPU time of its last two
    refreshes. failures: in a row.
    """

    state: str = ""
    due_since: float = 0.0
    not_before: float = 0.0
    refresh_from: float = 0.0
    costs_s: tuple[float, ...] = ()
    failures: int = 0

    @property
    def cost_s(self) -> float:
        """What a refresh takes: the smaller of the last two, so that one that was slow by chance does not count."""
        return min(self.costs_s, default=0.0)

    def add_cost(self, cost_s: float) -> None:
        """A refresh took so much CPU time."""
        self.costs_s = (*self.costs_s[-1:], cost_s)


@dataclass(frozen=True)
class Due:
    """A step that is to be loaded. batches: its files, those that are loaded together. state: None when they are to be
    taken. running: which of them are of processes that run; silent: of processes of which nobody knows (Life.SILENT).
    """

    key: StepKey
    batches: tuple[tuple[Path, ...], ...]
    state: str | None = None
    running: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()

    @property
    def spool(self) -> Path:
        """The directory in which collectors agree about the step."""
        return self.batches[0][0].parent


class Plan:
    """What is known of the steps. `due` follows the files; `running` is how many steps it saw with a live process."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.known: dict[StepKey, Known] = {}
        self.running: list[StepKey] = []

    def due(self, followers: Mapping[Path, Follower], now_ns: int) -> list[Due]:
        """The steps that are to be loaded now, those that wait longest first."""
        entries = {str(e.path): e for f in followers.values() for e in f.entries.values() if not e.reason}
        steps = group_by_step([e.peek for e in entries.values() if e.peek is not None])
        self.known = {key: self.known.get(key) or Known() for key in steps}
        self.running = []
        now, due = time.monotonic(), []
        for key, members in steps.items():
            files = sorted((entries[member.path] for member in members), key=lambda entry: entry.path)
            lives = {str(e.path): followers[e.path.parent].life(e, now_ns) for e in files}
            if Life.RUNS in lives.values():
                self.running.append(key)
            known = self.known[key]
            if known.not_before > now:
                continue
            found = self._due(key, files, lives, now)
            known.due_since = (known.due_since or now) if found else 0.0
            due += [found] if found else []
        return sorted(due, key=lambda d: self.known[d.key].due_since)

    def _due(self, key: StepKey, files: Sequence[Entry], lives: Mapping[str, Life], now: float) -> Due | None:
        """What there is to do for one step. A running one outside any job waits: its name is that of the eldest process
        in it, which is not known before all are there. One whose processes are silent is loaded, and its files stay.
        """
        alive = frozenset(path for path, life in lives.items() if life is Life.RUNS)
        silent = frozenset(path for path, life in lives.items() if life is Life.SILENT)
        if not alive and not silent:
            return Due(key, self._batches(files))
        if alive and not all(e.peek is not None and e.peek.job_id for e in files):
            return None
        gone = [e for e in files if lives[str(e.path)] is Life.GONE and e.peek is not None and not e.peek.ranks]
        if len(gone) >= self.limits.early:
            return Due(key, self._batches(gone))
        state, known = _state_of(files, silent), self.known[key]
        if known.refresh_from > now or known.state == state:
            return None
        return Due(key, self._batches(files), state, alive, silent)

    def _batches(self, files: Sequence[Entry]) -> tuple[tuple[Path, ...], ...]:
        batches: list[list[Path]] = [[]]
        size = 0
        for entry in files:
            bytes_ = entry.peek.size if entry.peek else 0
            if batches[-1] and (len(batches[-1]) >= self.limits.files or size + bytes_ > self.limits.size):
                batches.append([])
                size = 0
            batches[-1].append(entry.path)
            size += bytes_
        return tuple(map(tuple, batches))


def _state_of(files: Sequence[Entry], silent: Collection[str]) -> str:
    """A fingerprint of how far the files of a step have come, and which are silent."""
    state = hashlib.blake2b(digest_size=16)
    for entry in files:
        seen = entry.peek
        if seen is not None:
            size = seen.size if seen.is_log else 0
            words = (entry.path.name, seen.inode, seen.cursor.chunk, seen.cursor.offset, int(seen.state), size)
            state.update("\0".join(map(str, words)).encode("utf-8", "replace"))
            state.update(b"\0silent" if str(entry.path) in silent else b"")
    return state.hexdigest()
