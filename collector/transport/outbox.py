"""The outbox of a node: finished files are bundled there, and bundles stay there until they were taken.

    SPOOL/JOB.RANK.PID.TIME.xws      of a finished step
      -> SPOOL/claims/ID/...         taken, so that no collector of this node loads them
      -> SPOOL/outbox/SHA256.xwb     bundled, on stable storage; then the files are removed
      -> sent, acknowledged          then the bundle is removed

An agent may die anywhere in between: a claim of a dead one goes back to the spool, a bundle is sent by the next. So
everything is sent at least once, and the collector loads what comes twice once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crosswind.collector.agent.nodefile import NODE_SUFFIX
from crosswind.collector.claim import Claim, own_folder, recover
from crosswind.collector.spool import find_spools
from crosswind.collector.transport.bundle import BUNDLE_SUFFIX, MAX_BUNDLE, MAX_FILES, UNFINISHED, pack
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import State
from crosswind.profile.lifecycle import Machine
from crosswind.profile.peek import Peek, peek
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import read_spools

__all__ = ["Outbox"]

OUTBOX = "outbox"
LOG_QUIET_S = 30.0  # a log of short processes may grow until it was left alone for so long
NODE_QUIET_S = 600.0  # a node file whose agent died counts as ended after so long
_ENDED = b'{"end":true}\n'

_Step = tuple[str, str, int]


@dataclass(frozen=True)
class Outbox:
    """The outbox of a spool directory of this node."""

    spool: Path
    node: str

    @property
    def folder(self) -> Path:
        """Where bundles wait. Raises SpoolError when somebody else made it."""
        return own_folder(self.spool, OUTBOX)

    def waiting(self) -> list[Path]:
        """The bundles that wait, the oldest first."""
        found = []
        for path in self.folder.iterdir():
            try:
                if path.suffix == BUNDLE_SUFFIX:
                    found.append((path.stat().st_mtime_ns, path))
                elif path.name.startswith(UNFINISHED) and time.time() - path.stat().st_mtime > LOG_QUIET_S:
                    path.unlink()  # of an agent that died while it made it
            except FileNotFoundError:
                continue
        return [path for _, path in sorted(found)]

    def fill(self, machine: Machine | None = None) -> int:
        """Bundle what is finished on this node; how many files. Raises SpoolError, OSError."""
        recover(self.spool)
        groups = [*_finished_steps(self.spool, machine or Machine.this()), _ended_node_files(self.spool)]
        parts = [part for group in groups for part in _parts(group)]
        packed = 0
        if parts:
            with Claim.in_directory(self.spool) as claim:
                for part in parts:
                    packed += self._bundle(claim, part)
        return packed

    def _bundle(self, claim: Claim, paths: Iterable[Path]) -> int:
        taken = [target for path in paths if (target := claim.take(path)) is not None]
        if not taken:
            return 0
        bundle, sizes = pack(taken, self.node, self.folder)
        for path in taken:
            if path not in sizes:
                claim.refuse(path)
            elif path.stat().st_size == sizes[path]:
                claim.finish(path, delete=True)
            else:
                claim.give_back(path)  # a short process appended to its log meanwhile: the log is sent again
        if not sizes:
            bundle.unlink()
        return len(sizes)


def _finished_steps(spool: Path, machine: Machine) -> list[list[Path]]:
    """The files of each job step of which no process runs here any more.

    Processes outside any job wait for all of the same user: which of them belong together, their files tell later.
    """
    steps: dict[_Step, list[Path]] = {}
    running: set[_Step] = set()
    for path in find_spools(spool):
        try:
            seen = peek(path, follow=False)
        except (FormatError, OSError):
            continue  # the collector of this node, or a look by hand, finds it in the spool
        if seen is not None:
            key = (seen.job_id, seen.step_id if seen.job_id else "", seen.uid)
            steps.setdefault(key, []).append(path)
            if _may_grow(seen, machine):
                running.add(key)
    return [paths for key, paths in steps.items() if key not in running]


def _may_grow(seen: Peek, machine: Machine) -> bool:
    if seen.is_log:
        return time.time() - seen.mtime_ns * 1e-9 < LOG_QUIET_S
    if seen.state != State.RUNNING or not machine.is_of(seen):
        return False
    if machine.knows_pid(seen):
        return machine.runs(seen)
    files, _ = read_spools([seen.path])
    return any(machine.seems_to_run(file, time.time_ns()) for file in files if isinstance(file, SpoolFile))


def _ended_node_files(spool: Path) -> list[Path]:
    """The node files of our own to which nothing will be added."""
    ended = []
    with os.scandir(spool) as entries:
        for entry in entries:
            if entry.name.endswith(NODE_SUFFIX) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                quiet = time.time() - status.st_mtime > NODE_QUIET_S
                if status.st_uid == os.geteuid() and (quiet or _says_end(entry.path)):
                    ended.append(Path(entry.path))
    return sorted(ended)


def _says_end(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - len(_ENDED), 0))
            return file.read() == _ENDED
    except OSError:
        return False


def _parts(paths: list[Path]) -> Iterable[list[Path]]:
    """The files in parts that fit into one bundle."""
    part: list[Path] = []
    size = 0
    for path in paths:
        try:
            own = path.stat(follow_symlinks=False).st_size + 4096
        except FileNotFoundError:
            continue
        if part and (len(part) >= MAX_FILES or size + own > MAX_BUNDLE // 2):
            yield part
            part, size = [], 0
        part.append(path)
        size += own
    if part:
        yield part
