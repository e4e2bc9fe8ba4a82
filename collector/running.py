"""Running steps from refresh to refresh: what was loaded of their files, so that only what is new is read.

    first look      read whole, loaded whole      a mark for each file
    later looks     read behind the marks         only the blocks of slices that change are written
    anything odd    read whole, loaded whole      a new rank, an exec, new short processes, holes in the slices, files
                                                  that some of the processes open anew, another database

Marks are kept in memory and only make things faster: a collector that starts again, or finds that the database lacks
what its marks leave out, reads the files whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crosswind.db.union import Tail
from crosswind.profile.access import SHARED
from crosswind.profile.errors import FormatError
from crosswind.profile.fold import mark_of
from crosswind.profile.layout import State
from crosswind.profile.marks import Mark
from crosswind.profile.model import Profile
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile, read_spool
from crosswind.profile.steps import SHORT_SUFFIX, StepKey, group_by_step

__all__ = ["News", "RunningSteps", "tail_of"]

_SETTLED_NS = 10**9  # a log that was written to later may have had a record since, at the same time as its clock has it


class News(NamedTuple):
    """What is new in the files of a step. is_all: whether no file of the step is missing in it."""

    files: list[SpoolFile]
    is_all: bool


class _Seen(NamedTuple):
    """A file when it was loaded: fingerprint, the same as long as it says no more; whether its process was running;
    fingerprint of the table of the files that it uses.
    """

    says: int
    was_running: bool
    uses: int


class RunningSteps:
    """The marks of the steps that are followed, by path. None: the file is loaded for good. Of a log of short processes
    there is the time of its last record instead.
    """

    def __init__(self) -> None:
        self._logs: dict[StepKey, dict[str, int]] = {}
        self._marks: dict[StepKey, dict[str, Mark | None]] = {}
        self._seen: dict[StepKey, dict[str, _Seen]] = {}
        self._ended_ns: dict[StepKey, int] = {}

    def read_on(self, key: StepKey, paths: Sequence[Path], running: Collection[str]) -> News | None:
        """What is new in the files of a step, those in which nothing is left out; None: they have to be read whole.
        running: paths of processes that may run.
        """
        marks, seen, logs = self._marks.get(key), self._seen.get(key, {}), self._logs.get(key, {})
        if not marks:
            return None
        files: list[SpoolFile] = []
        resting: list[SpoolFile] = []
        for path in map(str, paths):
            if path in marks and marks[path] is None:
                continue
            if path.endswith(SHORT_SUFFIX):
                if logs.get(path) != _written_ns(path):
                    return None
                continue
            try:
                file = read_spool(path, marks.get(path))
            except (FormatError, OSError):
                return None
            if file.problems or (path not in marks and file.ranks):
                return None
            before = seen.get(path)
            if before is None and _goes_on(file, [*files, *resting]):
                return None
            news = before is None or before[:2] != (_fingerprint(file), path in running)
            (files if news else resting).append(replace(file, uid=file.owner_uid))  # see read_spools
        is_all = len(files) == len(paths)
        if not is_all and any(_opens(file, seen.get(file.path)) for file in files):
            return None
        return News(files, is_all) if not files or group_by_step(files).keys() == {key} else None

    def note(self, key: StepKey, files: Sequence[SpoolFile | ShortLog], running: Collection[str]) -> None:
        """These files were loaded as they are; those of the step that are not among them were before."""
        marks, seen = self._marks.setdefault(key, {}), self._seen.setdefault(key, {})
        for file in files:
            if isinstance(file, ShortLog):
                if time.time_ns() - file.mtime_ns < _SETTLED_NS:
                    marks.clear()
                    break
                self._logs.setdefault(key, {})[file.path] = file.mtime_ns
                continue
            if file.state != State.RUNNING:
                marks[file.path] = None
                ended_ns = file.end.real_ns if file.end else 0
                self._ended_ns[key] = max(self.ended_ns(key), ended_ns)
                continue
            mark = mark_of(file)
            if mark is None:
                marks.clear()
                break
            marks[file.path] = mark
            seen[file.path] = _Seen(_fingerprint(file), file.path in running, _table(file))

    def ended_ns(self, key: StepKey) -> int:
        """When the last process of a step ended whose file is not read any more, UTC; 0: there is none."""
        return self._ended_ns.get(key, 0)

    def keep(self, keys: Collection[StepKey]) -> None:
        """Forget all steps but these."""
        for key in self._marks.keys() - set(keys):
            self.forget(key)

    def forget(self, key: StepKey) -> None:
        """A step has to be read whole."""
        for known in (self._marks, self._ended_ns, self._seen, self._logs):
            known.pop(key, None)


def _written_ns(path: str) -> int | None:
    """When a file was last written to."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None


def tail_of(profile: Profile, news: News) -> Tail:
    """What a profile of files that were read behind marks leaves out. Which files are shared only all processes say."""
    files = news.files
    if not news.is_all:
        profile = replace(profile, access={name: a for name, a in profile.access.items() if name not in SHARED})
    behind = {(f.host, f.pid, f.start.real_ns, f.exe): _left_out(f, f.before) for f in files if f.before}
    left_out = [behind.get((p.host, p.pid, p.start_ns, p.exe), (0, 0)) for p in profile.processes]
    return Tail(profile, *np.array(left_out, dtype=np.int64).reshape(-1, 2).T)


def _left_out(file: SpoolFile, mark: Mark) -> tuple[int, int]:
    """The slice before which, and the time until when, nothing was read of a file."""
    first = int(file.slices.index[0]) if len(file.slices) else mark.until_ns // file.slice_ns
    return first, mark.until_ns


def _goes_on(file: SpoolFile, others: Sequence[SpoolFile]) -> bool:
    """Whether a file is of another image of the process of one of these (exec): that one has ended then."""
    same = (file.boot_id, file.host, file.pid_namespace, file.pid, file.start_ticks)
    return any((o.boot_id, o.host, o.pid_namespace, o.pid, o.start_ticks) == same for o in others)


def _opens(file: SpoolFile, before: _Seen | None) -> bool:
    """Whether a process uses files that it did not use when it was loaded."""
    return file.files.size > 0 if before is None else before.uses != _table(file)


def _table(file: SpoolFile) -> int:
    return hash(file.files.tobytes())


def _fingerprint(file: SpoolFile) -> int:
    """Another one where the file says more than before."""
    return hash((file.slices.place, file.state, file.groups.tobytes(), file.words.tobytes()))
