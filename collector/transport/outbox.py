"""The outbox of a node: finished files are bundled there, and bundles stay there until they were taken.

    SPOOL/JOB.RANK.PID.TIME.xws      of a finished step
      -> SPOOL/claims/ID/...         taken, so that no collector of this node loads them
      -> SPOOL/outbox/SHA256.xwb     bundled, on stable storage; then the files are removed
      -> sent, acknowledged          then the bundle is removed

An agent may die anywhere in between: a claim of a dead one goes back to the spool, a bundle is sent by the next. So
everything is sent at least once, and the collector loads what comes twice once. What waits is bounded: while nothing
can be sent for long, the oldest bundles are dropped and counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosswind.collector.agent.nodefile import NODE_SUFFIX
from crosswind.collector.claim import Claim, recover
from crosswind.collector.folders import own_folder
from crosswind.collector.spool import find_spools
from crosswind.collector.transport.bundle import BUNDLE_SUFFIX, MAX_BUNDLE, MAX_FILES, UNFINISHED, Origin, pack
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import State
from crosswind.profile.lifecycle import Machine
from crosswind.profile.peek import Peek, peek
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import read_spools

__all__ = ["Bounds", "Outbox", "Steps", "look_at_steps", "parts_of"]

OUTBOX = "outbox"
LOG_QUIET_S = 30.0  # a log of short processes may grow until it was left alone for so long
NODE_QUIET_S = 600.0  # a node file whose agent died counts as ended after so long
_ENDED = b'{"end":true}\n'

_Key = tuple[str, str, int]


@dataclass(frozen=True)
class Bounds:
    """How much may wait to be sent: bytes and number of bundles. Beyond it the oldest go."""

    size: int = 512 << 20
    bundles: int = 10_000


@dataclass(frozen=True)
class Steps:
    """The job steps of a spool directory: the files of those that are finished, and looks at those of which a process
    still runs on this node.
    """

    finished: list[list[Path]]
    running: list[list[Peek]]


@dataclass
class Outbox:
    """The outbox of a spool directory of this node. dropped: bundles that were not sent, since there were too many."""

    spool: Path
    origin: Origin
    bounds: Bounds = field(default_factory=Bounds)
    dropped: int = 0

    @property
    def folder(self) -> Path:
        """Where bundles wait. Raises SpoolError when somebody else made it."""
        return own_folder(self.spool, OUTBOX)

    def waiting(self) -> list[Path]:
        """The bundles that wait, the oldest first; those beyond the bounds are dropped. Raises SpoolError, OSError."""
        found = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                if path.suffix == BUNDLE_SUFFIX:
                    found.append((status.st_mtime_ns, path, status.st_size))
                elif path.name.startswith(UNFINISHED) and time.time() - status.st_mtime > LOG_QUIET_S:
                    path.unlink()  # of an agent that died while it made it
        found.sort()
        left = sum(size for *_, size in found)
        while found and (left > self.bounds.size or len(found) > self.bounds.bundles):
            _, path, size = found.pop(0)
            path.unlink(missing_ok=True)
            left -= size
            self.dropped += 1
        return [path for _, path, _ in found]

    def fill(self, finished: Iterable[list[Path]]) -> int:
        """Bundle finished steps and node files; how many files. Raises SpoolError, OSError."""
        recover(self.spool)
        parts = [part for group in (*finished, _ended_node_files(self.spool)) for part in parts_of(group)]
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
        bundle, sizes = pack(taken, self.origin, self.folder)
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


def look_at_steps(spool: Path, machine: Machine) -> Steps:
    """The job steps of which files lie in a spool directory. Raises SpoolError.

    Processes outside any job wait for all of the same user: which of them belong together, their files tell later.
    """
    steps: dict[_Key, list[Peek]] = {}
    running: set[_Key] = set()
    for path in find_spools(spool):
        try:
            seen = peek(path, follow=False)
        except (FormatError, OSError):
            continue  # the collector of this node, or a look by hand, finds it in the spool
        if seen is not None:
            key = (seen.job_id, seen.step_id if seen.job_id else "", seen.uid)
            steps.setdefault(key, []).append(seen)
            if _may_grow(seen, machine):
                running.add(key)
    return Steps(
        finished=[[Path(seen.path) for seen in files] for key, files in steps.items() if key not in running],
        running=[files for key, files in steps.items() if key in running and key[0]],
    )


def _may_grow(seen: Peek, machine: Machine) -> bool:
    if seen.is_log:
        return time.time() - seen.mtime_ns * 1e-9 < LOG_QUIET_S
    if seen.state != State.RUNNING or not machine.is_of(seen):
        return False
    if machine.runs(seen) or machine.knows_pid(seen):
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


def parts_of(paths: list[Path]) -> Iterable[list[Path]]:
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
