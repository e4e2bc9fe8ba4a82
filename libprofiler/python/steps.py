"""Which files of a spool directory belong together: those of a job step, and in it the ranks of each MPI_COMM_WORLD."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from crosswind.profile.errors import FormatError
from crosswind.profile.peek import Peek
from crosswind.profile.short import ShortLog, read_short_log
from crosswind.profile.spool import SpoolFile, read_spool

__all__ = [
    "EXHAUSTED",
    "SHORT_SUFFIX",
    "SPOOL_SUFFIX",
    "Dropped",
    "StepKey",
    "group_by_step",
    "main_world",
    "read_spools",
    "worlds_of",
]

SPOOL_SUFFIX = ".xws"
SHORT_SUFFIX = ".xwl"
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # says something of us, and nothing of the file
Dropped = list[tuple[str, str]]
_File = TypeVar("_File", SpoolFile | ShortLog, Peek)
_Process = SpoolFile | Peek


@dataclass(frozen=True)
class StepKey:
    """What the processes of one job step share. The user is part of it: nobody can add to another's job."""

    job_id: str
    step_id: str
    uid: int


def read_spools(
    paths: Iterable[str | os.PathLike[str]], *, believe_uid: bool = False
) -> tuple[list[SpoolFile | ShortLog], Dropped]:
    """Read spool files and logs of short processes; those that can't be believed come back as (path, reason).

    The owner of a file is its user, whatever its header says: nobody can speak for another, and a process in a user
    namespace (a container without root) that takes itself for root counts for who it really is. `believe_uid` takes
    the header's word instead, for files that were copied from elsewhere. Raises OSError when we can open no more files.
    """
    files: list[SpoolFile | ShortLog] = []
    dropped: Dropped = []
    for path in paths:
        try:
            file = read_short_log(path) if os.fspath(path).endswith(SHORT_SUFFIX) else read_spool(path)
        except FormatError as error:
            dropped.append((os.fspath(path), error.reason))
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            dropped.append((os.fspath(path), error.strerror or type(error).__name__))
        except MemoryError:
            dropped.append((os.fspath(path), "is too large for the memory that there is"))
        else:
            files.append(file if believe_uid else replace(file, uid=file.owner_uid))
    return files, dropped


def group_by_step(files: Iterable[_File]) -> dict[StepKey, list[_File]]:
    """The files of each job step; a short look at each (peek.Peek) is enough to group them.

    Processes outside any job are grouped by family: each tree of processes is a step. Short ones outside any job are
    left out: there is nothing to report them with.
    """
    groups: dict[StepKey, list[_File]] = {}
    homeless: list[_File] = []
    for file in files:
        if file.job_id:
            groups.setdefault(StepKey(file.job_id, file.step_id, file.uid), []).append(file)
        elif _is_process(file):
            homeless.append(file)
    for family in _families(cast("list[_Process]", homeless)):
        head = family[0]
        name = f"{head.host}.{head.pid}.{head.start.real_ns // 1_000_000_000}"
        groups[StepKey(name, head.step_id, head.uid)] = cast("list[_File]", family)
    return groups


def _is_process(file: SpoolFile | ShortLog | Peek) -> bool:
    return not file.is_log if isinstance(file, Peek) else isinstance(file, SpoolFile)


def _families(files: Sequence[_Process]) -> list[list[_Process]]:
    """Trees of processes, each by start: whoever's parent, on the same boot and of the same user, is in the tree."""
    by_pid = {(f.boot_id, f.uid, f.pid): i for i, f in enumerate(files)}
    root = list(range(len(files)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for i, f in enumerate(files):
        for pid in (f.pid, f.parent_pid):  # the same pid: an image before or after an exec
            other = by_pid.get((f.boot_id, f.uid, pid))
            if other is not None:
                root[find(i)] = find(other)
    trees: dict[int, list[_Process]] = {}
    for i, f in enumerate(files):
        trees.setdefault(find(i), []).append(f)
    return [sorted(tree, key=lambda f: f.start.real_ns) for tree in trees.values()]


def worlds_of(files: Sequence[SpoolFile]) -> list[list[SpoolFile]]:
    """The processes of each MPI_COMM_WORLD by rank: a step may start several MPI programs, one after the other."""
    worlds: list[dict[int, SpoolFile]] = []
    for file in sorted((f for f in files if f.ranks and f.rank is not None), key=lambda f: f.start.real_ns):
        rank = file.rank or 0
        fits = (w for w in reversed(worlds) if rank not in w and next(iter(w.values())).ranks == file.ranks)
        world = next(fits, None)
        if world is None:
            worlds.append(world := {})
        world[rank] = file
    return [[w[r] for r in sorted(w)] for w in worlds]


def main_world(worlds: Sequence[list[SpoolFile]]) -> list[SpoolFile]:
    """The world with most segments: the one that the bulk-synchronous view shows."""
    return max(worlds, key=lambda w: sum(len(f.segments) for f in w))
