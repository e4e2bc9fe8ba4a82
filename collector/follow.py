"""The files of a spool directory from look to look: what is new, what has news, whose process is gone.

A look opens a file only when something can have changed: a process writes at the end of each slice, so after news the
next ones are due behind the next boundary; a file whose process said that it ended never changes. What is kept of a
file is its header and how far its slices went, a few hundred bytes.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from crosswind.collector.batch import BatchSystem
from crosswind.collector.errors import SpoolError
from crosswind.collector.spool import MAX_FILES, STARTING_S, SUFFIXES, is_copy
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import State
from crosswind.profile.lifecycle import SILENT_SLICES, Machine
from crosswind.profile.peek import START, Peek, peek
from crosswind.profile.steps import EXHAUSTED

__all__ = ["COPY_QUIET_S", "Entry", "Follower", "Life", "Quota", "life_by_silence"]

QUIET_S = 600.0  # after this long without a sign of life a process of another machine is silent
KEPT_S = 7 * 86400.0  # and after this long it counts as dead
WATCHED_S = 15.0  # but only when we watched it for so long ourselves
SILENT_LOOK_S = 60.0  # so often a silent file is looked at
OVER_S = 10.0  # the same, when the batch system says that its job is over
COPY_QUIET_S = 3600.0  # the agent of its node ships copies of what runs, and the whole file at its end: unless it died
COPY_OVER_S = 120.0  # so long after the batch system says that the job is over, in case the agent is late
LOG_QUIET_S = 30.0  # a log of short processes may grow until it was left alone for so long
LATE_NS = 100_000_000  # how long behind a boundary the records of the slice are looked for
LONGEST_NS = 10 * 10**9  # a file is looked at so often at least: its process may end within a slice of a day
NEVER = 1 << 63


class Life(Enum):
    """Of the process of a file. SILENT: nothing tells whether it is dead, or stopped and will go on writing."""

    RUNS = "runs"
    SILENT = "silent"
    GONE = "gone"


def life_by_silence(silent_s: float, slice_ns: int) -> Life:
    """What silence alone tells of a process. It is never taken for dead soon: its file would be moved, or removed while
    another node has it mapped, and what it counts later would be lost.
    """
    if silent_s < max(QUIET_S, SILENT_SLICES * slice_ns / 1e9):
        return Life.RUNS
    return Life.SILENT if silent_s < KEPT_S else Life.GONE


@dataclass(frozen=True)
class Quota:
    """What one user can have in one directory at most. tracked: files that are followed at a time, the others wait.
    new: how many of them are opened for the first time in one look.
    """

    tracked: int = 20_000
    new: int = 2_000


@dataclass
class Entry:
    """One file. peek: None while it has no header. reason: why it cannot be loaded. due_ns: when to look again.
    first_ns, news_ns: when we first saw it and when it last had news. alive: whether /proc had its process then.
    stuck: it cannot be moved away either. written_off: it counts as dead should it be silent.
    """

    path: Path
    inode: int
    uid: int
    first_ns: int
    peek: Peek | None = None
    reason: str = ""
    due_ns: int = 0
    news_ns: int = 0
    alive: bool = False
    stuck: bool = False
    written_off: bool = False


@dataclass
class Follower:
    """What is known of one spool directory."""

    spool: Path
    machine: Machine
    batch: BatchSystem
    quota: Quota = field(default_factory=Quota)
    entries: dict[str, Entry] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)  # hash of name and inode -> user, of files beyond the quota
    scanned_ns: int = 0

    def scan(self, now_ns: int) -> None:
        """Look at the directory. Raises SpoolError when it can't be read; what was known is kept then."""
        listed = {name: inode for name, inode in self._listed()}
        self.entries = {n: e for n, e in self.entries.items() if listed.get(n) == e.inode}
        if now_ns < self.scanned_ns:
            self._put_back(now_ns)
        self.scanned_ns = now_ns
        tracked = Counter(e.uid for e in self.entries.values())
        self._refresh(now_ns)
        for uid in set(self.waiting.values()):
            self._write_off(uid, now_ns)
        self._take_in(listed, tracked, now_ns)

    def may_run(self, entry: Entry, now_ns: int) -> bool:
        """Whether the process of a file runs, as far as is known."""
        return self.life(entry, now_ns) is Life.RUNS

    def life(self, entry: Entry, now_ns: int) -> Life:
        """Whether a process may still write to its file."""
        seen = entry.peek
        if seen is None:
            return Life.RUNS
        if seen.is_log:
            return _runs(now_ns - max(seen.mtime_ns, entry.news_ns) < LOG_QUIET_S * 1e9)
        if seen.state != State.RUNNING or self.machine.has_rebooted(seen):
            return Life.GONE
        watched_ns = now_ns - max(entry.first_ns, entry.news_ns)
        here = not is_copy(entry.path)
        if here and (entry.alive or self.machine.knows_pid(seen)):
            return _runs(entry.alive)
        over = self.batch.is_over(seen.job_id, seen.uid) if seen.job_id else None
        if here and self.machine.is_of(seen):  # of a PID namespace that is not seen from here
            return _runs(over is False or watched_ns < SILENT_SLICES * seen.slice_ns)
        if over is not None:
            return _runs(not over or watched_ns < (OVER_S if here else COPY_OVER_S) * 1e9)
        if not here:  # each copy is a file of its own; its times are those of another clock
            return _runs(watched_ns < COPY_QUIET_S * 1e9)
        if watched_ns < WATCHED_S * 1e9:
            return Life.RUNS
        life = life_by_silence((now_ns - _heard_ns(entry)) / 1e9, seen.slice_ns)
        return Life.GONE if life is Life.SILENT and entry.written_off else life

    def forget(self, path: Path) -> None:
        """A file was taken away: should one of its name and inode come back, it is new."""
        self.entries.pop(path.name, None)

    def _listed(self) -> Iterator[tuple[str, int]]:
        """Name and inode of whatever is named like a spool file."""
        try:
            with os.scandir(self.spool) as entries:
                for n, entry in enumerate(entries):
                    if n >= MAX_FILES:
                        break  # the rest is seen when these are gone
                    if entry.name.endswith(SUFFIXES) and not entry.name.startswith("."):
                        yield entry.name, entry.inode()
        except OSError as error:
            raise SpoolError(f"cannot read the spool directory {self.spool}: {error.strerror}") from None

    def _write_off(self, uid: int, now_ns: int) -> None:
        """Of a user whose files wait, those that are silent longest count as dead, a tenth of all: they would keep the
        others waiting for days.
        """
        files = [entry for entry in self.entries.values() if entry.uid == uid and not entry.written_off]
        silent = [entry for entry in files if self.life(entry, now_ns) is Life.SILENT]
        room = self.quota.tracked - len(files)
        missing = max(self.quota.tracked // 10, 1) - room
        for entry in sorted(silent, key=_heard_ns)[: max(missing, 0)]:
            entry.written_off = True

    def _put_back(self, now_ns: int) -> None:
        """The clock was put back: nothing was seen in future, and what was due then is due now."""
        for entry in self.entries.values():
            entry.first_ns, entry.news_ns = min(entry.first_ns, now_ns), min(entry.news_ns, now_ns)
            entry.due_ns = entry.due_ns if entry.due_ns == NEVER else 0

    def _refresh(self, now_ns: int) -> None:
        """Look again at the files where news are due."""
        for name, entry in list(self.entries.items()):
            if entry.due_ns <= now_ns and not self._look(entry, now_ns):
                del self.entries[name]

    def _take_in(self, listed: dict[str, int], tracked: Counter[int], now_ns: int) -> None:
        """The files that are new, as far as their users' quotas go."""
        new: Counter[int] = Counter()
        waiting: dict[int, int] = {}
        for name, inode in listed.items():
            if name in self.entries:
                continue
            known_as = hash((name, inode))
            uid = self.waiting.get(known_as, -1)
            if uid < 0:
                try:
                    uid = os.lstat(f"{self.spool}/{name}").st_uid
                except OSError:
                    continue  # gone
            if tracked[uid] >= self.quota.tracked or new[uid] >= self.quota.new:
                waiting[known_as] = uid
                continue
            entry = Entry(self.spool / name, inode, uid, first_ns=now_ns)
            if self._look(entry, now_ns):
                self.entries[name] = entry
                tracked[entry.uid] += 1
                new[uid] += 1
        self.waiting = waiting

    def _look(self, entry: Entry, now_ns: int) -> bool:
        """Bring an entry up to date; False: its file is gone, or another one."""
        before = entry.peek
        try:
            seen = peek(entry.path, before.cursor if before else START)
        except FormatError as error:
            entry.reason, entry.due_ns = error.reason, NEVER
            return True
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in EXHAUSTED:
                entry.reason, entry.due_ns = error.strerror or type(error).__name__, NEVER
            return True
        except Exception as error:  # no file may end the daemon, whatever is in it
            entry.reason, entry.due_ns = f"cannot be read ({type(error).__name__})", NEVER
            return True
        if seen is None:
            if time.time() - _mtime(entry.path) >= STARTING_S:
                entry.reason, entry.due_ns = "has no header yet: its process is just starting, or died then", NEVER
            return True
        if seen.inode != entry.inode:
            return False
        has_news = before is None or (seen.cursor, seen.size, seen.state) != (before.cursor, before.size, before.state)
        entry.peek, entry.uid = seen, seen.owner_uid
        entry.news_ns = now_ns if has_news and before is not None else entry.news_ns
        entry.alive = self.machine.runs(seen)
        watched_ns = now_ns - max(entry.first_ns, entry.news_ns)
        entry.due_ns = _next_due(seen, has_news and entry.alive, watched_ns, now_ns)
        return True


def _heard_ns(entry: Entry) -> int:
    """The last sign of life of a file's process that silence is counted from."""
    return max(entry.peek.mtime_ns if entry.peek else 0, entry.news_ns)


def _runs(runs: bool) -> Life:
    return Life.RUNS if runs else Life.GONE


def _next_due(seen: Peek, has_news: bool, watched_ns: int, now_ns: int) -> int:
    """When to look again. watched_ns: for how long there were no news while we looked."""
    if seen.is_log:
        return 0
    if seen.state != State.RUNNING:
        return NEVER
    if not has_news:
        return now_ns + int(SILENT_LOOK_S * 1e9) if watched_ns > QUIET_S * 1e9 else 0
    return min((now_ns // seen.slice_ns + 1) * seen.slice_ns + LATE_NS, now_ns + LONGEST_NS)


def _mtime(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time()
