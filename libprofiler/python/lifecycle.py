"""How and when each process ended: what its file says, what its neighbours show, what this machine still runs."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosswind.profile.layout import State
from crosswind.profile.namespaces import pids_here
from crosswind.profile.peek import Peek
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile

__all__ = ["SILENT_SLICES", "Ending", "Machine", "endings"]

SILENT_SLICES = 3  # so many without a record tell that a process is gone for which /proc cannot be asked


@dataclass(frozen=True)
class Ending:
    """state: of `model.Process`. end_ns: UTC. guessed: whether the end is only the last sign of life."""

    state: str
    end_ns: int
    guessed: bool


@dataclass(frozen=True)
class Machine:
    """The machine that reads: the processes of its own boot are the ones it can look for. host: as uname says it.
    pid_namespace: the one whose processes /proc has, as in spool files.
    """

    boot_id: str
    proc: Path = Path("/proc")
    host: str = ""
    pid_namespace: int = 0

    @classmethod
    def this(cls) -> Machine:
        """The machine this runs on."""
        try:
            boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            boot_id = ""
        try:
            pid_namespace = Path("/proc/self/ns/pid").stat().st_ino
        except OSError:
            pid_namespace = 0
        return cls(boot_id, host=os.uname().nodename, pid_namespace=pid_namespace)

    def has_rebooted(self, file: SpoolFile | Peek) -> bool:
        """Whether the file is of an earlier boot of this machine: its process is gone for certain."""
        known = self.boot_id and file.boot_id and self.host not in ("", "localhost", "(none)")
        return bool(known) and file.host == self.host and file.boot_id != self.boot_id

    def is_of(self, file: SpoolFile | Peek) -> bool:
        """Whether the file is of a process of this machine and boot, of whatever PID namespace."""
        return bool(self.boot_id) and file.boot_id == self.boot_id

    def knows_pid(self, file: SpoolFile | Peek) -> bool:
        """Whether /proc here tells for certain if the process of the file runs: its pid is of the same PID namespace.
        Libraries that are older than the field do not say theirs.
        """
        return self.is_of(file) and file.pid_namespace == self.pid_namespace != 0

    def runs(self, file: SpoolFile | Peek) -> bool:
        """Whether /proc has the process that wrote the file. It never has those of other machines and boots, and of
        other PID namespaces only those below its own.
        """
        if not self.is_of(file):
            return False
        if self.pid_namespace and file.pid_namespace and file.pid_namespace != self.pid_namespace:
            pids = pids_here(self.proc, file.pid) if file.start_ticks else ()
            return any(self._has(pid, file.start_ticks) for pid in pids)
        return self._has(file.pid, file.start_ticks)

    def _has(self, pid: int, start_ticks: int) -> bool:
        """Whether there is such a process. start_ticks: when it started, 0 where that is not known."""
        try:
            words = (self.proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            return words[0] not in "ZX" and (not start_ticks or int(words[19]) == start_ticks)
        except (OSError, ValueError, IndexError):
            return False

    def seems_to_run(self, file: SpoolFile, now_ns: int) -> bool:
        """Whether a process of this machine runs: /proc tells, or, of one in a PID namespace that is not seen from
        here, that it closed a slice a moment ago. now_ns: UTC. A file that says it will be closed in future proves
        nothing.
        """
        in_proc = self.runs(file)
        if in_proc or self.knows_pid(file) or not self.is_of(file):
            return in_proc
        silent_ns = now_ns - int(file.slices.end_ns.max(initial=file.start.real_ns))
        return -file.slice_ns < silent_ns < SILENT_SLICES * file.slice_ns


def endings(
    files: Sequence[SpoolFile],
    logs: Sequence[ShortLog] = (),
    *,
    machine: Machine | None = None,
    now_ns: int | None = None,
    last_seen_ns: Mapping[str, int] | None = None,
    running: Collection[str] = (),
    unheard: Collection[str] = (),
    ended_ns: int = 0,
) -> list[Ending]:
    """The ending of each process of a job step, in the order of `files`; logs: the short processes of the step.

    last_seen_ns: when the caller last saw a process alive, by path. running: paths of those that the caller takes to be
    running somewhere, unless they say otherwise themselves. unheard: of those whose end somebody else would tell: they
    are lost where it is not known, which is not final as being killed is. ended_ns: when the last process ended that is
    not among the files. now_ns: UTC, default the clock.
    """
    machine = machine or Machine.this()
    now_ns = time.time_ns() if now_ns is None else now_ns
    successors = _successors(files, logs)
    known = [_known_ending(f, successors.get(i), machine, now_ns) for i, f in enumerate(files)]
    others_end = max((e.end_ns for e in known if e and not e.guessed), default=0)
    others_end = max(others_end, ended_ns)
    seen = last_seen_ns or {}
    return [
        ending
        or Ending(
            "running" if file.path in running else "lost" if file.path in unheard else "killed",
            _last_sign(file, seen.get(file.path, 0), others_end, now_ns),
            guessed=True,
        )
        for file, ending in zip(files, known, strict=True)
    ]


def _known_ending(file: SpoolFile, replaced_ns: int | None, machine: Machine, now_ns: int) -> Ending | None:
    """The ending, unless it has to be guessed from the last signs of life."""
    start = file.start.real_ns
    if file.state != State.RUNNING and file.end:
        state = "clean" if file.state == State.CLEAN else "exited"
        return Ending(state, max(file.end.real_ns, start), guessed=False)
    if replaced_ns is not None:
        return Ending("replaced", max(replaced_ns, start), guessed=False)
    if machine.runs(file):
        return Ending("running", max(now_ns, start), guessed=True)
    return None


def _successors(files: Sequence[SpoolFile], logs: Sequence[ShortLog]) -> dict[int, int]:
    """When the next image of the same process began, UTC ns: exec keeps the pid and the kernel's start time.

    The next image may have left a file of its own or, if it was short, a record in a log.
    """
    images: dict[tuple[str, str, int, int, int], list[int]] = {}
    for i, f in enumerate(files):
        images.setdefault((f.boot_id, f.host, f.pid_namespace, f.pid, f.start_ticks), []).append(i)
    following: dict[int, int] = {}
    for numbers in images.values():
        numbers.sort(key=lambda i: files[i].start.real_ns)
        following.update({a: files[b].start.real_ns for a, b in itertools.pairwise(numbers)})
    for i, f in enumerate(files):
        for log in logs if i not in following and f.state == State.RUNNING else ():
            later = log.pieces.begin[(log.pid == f.pid) & (log.pieces.begin >= f.start.real_ns)]
            if later.size and (log.boot_id, log.host) == (f.boot_id, f.host):
                following[i] = int(later.min())
    return following


def _last_sign(file: SpoolFile, seen_ns: int, others_ns: int, now_ns: int) -> int:
    """The newest sign of life of a killed process.

    Its own: the end of the last slice and segment, the begin of its last call, when the caller saw it. From outside:
    the last write that the file system noticed, the end of the rest of the job. Had it lived past the boundary after
    its last slice, it would have closed that slice, so a sign from outside counts only up to there.
    """
    last_slice = int(file.slices.end_ns.max(initial=file.start.real_ns))
    ticks = [file.start.tick, file.last_call_tick]
    if len(file.segments) and file.table.segment_fields:
        ticks.append(int((file.segments.begin_tick + file.segments.values[:, 0]).max()))
    last_tick = int(file.tick_to_utc_ns(np.array(max(ticks))))
    boundary = (last_slice // file.slice_ns + 1) * file.slice_ns
    outside = min(max(others_ns, file.mtime_ns), boundary)
    newest = max(last_slice, last_tick, seen_ns, outside)
    return max(file.start.real_ns, min(newest, now_ns))
