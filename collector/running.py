"""Running steps from refresh to refresh: what was loaded of their files, so that only what is new is read.

    first look      read whole, loaded whole      a mark for each file
    later looks     read behind the marks         only the blocks of slices that change are written
    anything odd    read whole, loaded whole      a new rank, short processes, holes in the slices, another database

Marks are kept in memory and only make things faster: a collector that starts again, or finds that the database lacks
what its marks leave out, reads the files whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crosswind.db.union import Tail
from crosswind.profile.errors import FormatError
from crosswind.profile.fold import mark_of
from crosswind.profile.layout import State
from crosswind.profile.marks import Mark
from crosswind.profile.model import Profile
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile, read_spool
from crosswind.profile.steps import SHORT_SUFFIX, StepKey, group_by_step

__all__ = ["RunningSteps", "tail_of"]


class RunningSteps:
    """The marks of the steps that are followed, by path. None: the file is loaded for good."""

    def __init__(self) -> None:
        self._marks: dict[StepKey, dict[str, Mark | None]] = {}
        self._seen: dict[StepKey, dict[str, tuple[int, bool]]] = {}  # fingerprint, and whether it was running
        self._ended_ns: dict[StepKey, int] = {}

    def read_on(self, key: StepKey, paths: Sequence[Path], running: Collection[str]) -> list[SpoolFile] | None:
        """What is new in the files of a step, those in which nothing is left out; None: they have to be read whole.
        running: paths of processes that may run.
        """
        marks, seen = self._marks.get(key), self._seen.get(key, {})
        if not marks:
            return None
        files = []
        for path in map(str, paths):
            if path in marks and marks[path] is None:
                continue
            if path.endswith(SHORT_SUFFIX):
                return None
            try:
                file = read_spool(path, marks.get(path))
            except (FormatError, OSError):
                return None
            if file.problems or (path not in marks and file.ranks):
                return None
            if seen.get(path) != (_fingerprint(file), path in running):
                files.append(replace(file, uid=file.owner_uid))  # see read_spools
        return files if not files or group_by_step(files).keys() == {key} else None

    def note(self, key: StepKey, files: Sequence[SpoolFile | ShortLog], running: Collection[str]) -> None:
        """These files were loaded as they are; those of the step that are not among them were before."""
        marks, seen = self._marks.setdefault(key, {}), self._seen.setdefault(key, {})
        for file in files:
            if isinstance(file, ShortLog):
                marks.clear()
                break
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
            seen[file.path] = _fingerprint(file), file.path in running

    def ended_ns(self, key: StepKey) -> int:
        """When the last process of a step ended whose file is not read any more, UTC; 0: there is none."""
        return self._ended_ns.get(key, 0)

    def keep(self, keys: Collection[StepKey]) -> None:
        """Forget all steps but these."""
        for key in self._marks.keys() - set(keys):
            del self._marks[key]
            self._ended_ns.pop(key, None)
            self._seen.pop(key, None)


def tail_of(profile: Profile, files: Sequence[SpoolFile]) -> Tail:
    """What a profile of files that were read behind marks leaves out."""
    behind = {(f.host, f.pid, f.start.real_ns, f.exe): _left_out(f, f.before) for f in files if f.before}
    left_out = [behind.get((p.host, p.pid, p.start_ns, p.exe), (0, 0)) for p in profile.processes]
    return Tail(profile, *np.array(left_out, dtype=np.int64).reshape(-1, 2).T)


def _left_out(file: SpoolFile, mark: Mark) -> tuple[int, int]:
    """The slice before which, and the time until when, nothing was read of a file."""
    first = int(file.slices.index[0]) if len(file.slices) else mark.until_ns // file.slice_ns
    return first, mark.until_ns


def _fingerprint(file: SpoolFile) -> int:
    """Another one where the file says more than before."""
    return hash((file.slices.place, file.state, file.groups.tobytes(), file.words.tobytes()))
