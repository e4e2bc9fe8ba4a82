"""One look at the spool directories: what is finished is merged, loaded and put away, nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.claim import Claim, recover
from crosswind.collector.spool import find_spools, remove_unfinished
from crosswind.db import Evaluation, LoadResult, RefusedProfile, load_profile
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import State
from crosswind.profile.lifecycle import Machine
from crosswind.profile.merge import merge_files
from crosswind.profile.model import Profile
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import StepKey, group_by_step, read_spools
from crosswind.profile.store import read_profile

__all__ = ["CollectReport", "Evaluate", "LoadedStep", "Progress", "collect_once", "load_profile_file"]

Evaluate = Callable[[Profile], Evaluation | None]
File = SpoolFile | ShortLog
Progress = Callable[[int, int, str], None]  # steps done, steps there are, the one that is next

_NO_ESTIMATE = (ValueError, TypeError, ArithmeticError, LookupError)
QUIET_S = 600.0  # after this long without a sign of life a process of another machine or boot counts as dead


@dataclass(frozen=True)
class LoadedStep:
    """A job step that was loaded. changed: whether the database did not have all of it already."""

    job_id: str
    step: str
    user: str
    job_key: int
    processes: int
    slices: int
    changed: bool


@dataclass
class CollectReport:
    """What one look did. running: job steps left alone; refused: (file, why); notes: what went wrong beside the
    loading.
    """

    loaded: list[LoadedStep] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recovered: int = 0  # files of collectors that died


def collect_once(
    spool_dirs: Iterable[str | os.PathLike[str]],
    engine: Engine,
    *,
    evaluate: Evaluate | None = None,
    progress: Progress | None = None,
    include_running: bool = False,
    delete: bool = False,
    cluster: str = "",
) -> CollectReport:
    """Load the job steps of which no process runs any more, then move their files to done/ (delete: remove them).

    evaluate: what finds a profile's interference. include_running: also load what running steps have so far; their
    files stay. A file that can't be read is moved to refused/ and reported, the rest is loaded. Raises SpoolError,
    DatabaseError; files that were being loaded are back in the spool then.
    """
    spools = list(dict.fromkeys(Path(d).resolve() for d in spool_dirs))
    machine = Machine.this()
    look = _Look(engine, evaluate, cluster, delete)
    for spool in spools:
        look.report.recovered += recover(spool)
    files, dropped = read_spools([path for spool in spools for path in find_spools(spool)])
    for spool in spools:
        remove_unfinished(spool)
    steps = group_by_step(files)
    with ExitStack() as stack:
        if files or dropped:
            look.claims = {spool: stack.enter_context(Claim.in_directory(spool)) for spool in spools}
        for path, reason in dropped:
            look.refuse(Path(path), reason)
        for file in {file.path for file in files} - {file.path for members in steps.values() for file in members}:
            look.put_away(Path(file))
        for number, (key, members) in enumerate(steps.items()):
            if progress:
                progress(number, len(steps), _name(key))
            if not any(_may_run(file, machine) for file in members):
                look.load_finished(key, members)
            elif include_running:
                look.load_running(members)
            else:
                look.report.running.append(_name(key))
    if progress:
        progress(len(steps), len(steps), "")
    return look.report


def load_profile_file(
    path: str | os.PathLike[str], engine: Engine, *, evaluate: Evaluate | None = None, cluster: str = ""
) -> LoadResult:
    """Load a profile file (.xwp), without an estimate where `evaluate` fails.

    Whoever calls vouches for the file: the job's user is the one that it names.

    Raises FormatError, RefusedProfile, OSError, DatabaseError.
    """
    profile = read_profile(path)
    try:
        evaluation = _evaluation(profile, evaluate)
    except _NO_ESTIMATE:
        evaluation = None
    return load_profile(engine, profile, evaluation=evaluation, cluster=cluster)


def _evaluation(profile: Profile, evaluate: Evaluate | None) -> Evaluation | None:
    """What was found, if it can be stored: JSON has no NaN and no infinity. Raises one of _NO_ESTIMATE."""
    found = evaluate(profile) if evaluate else None
    if found is not None:
        json.dumps(found.document, allow_nan=False)
    return found


class _Look:
    """One look: the claims it holds and the report it writes."""

    def __init__(self, engine: Engine, evaluate: Evaluate | None, cluster: str, delete: bool) -> None:
        self.engine = engine
        self.evaluate = evaluate
        self.cluster = cluster
        self.delete = delete
        self.claims: dict[Path, Claim] = {}
        self.report = CollectReport()

    def load_finished(self, key: StepKey, members: Sequence[File]) -> None:
        """Take the files of a step, load them, put them away."""
        taken = self._take(sorted({Path(file.path) for file in members}))
        sizes = {path: path.stat().st_size for path in taken}
        files, dropped = read_spools(taken)
        for path, reason in dropped:
            self._refuse_taken(Path(path), reason)
        good = {Path(file.path) for file in files}
        bad: dict[Path, str] = {}
        for group in group_by_step(files).values():
            reason = self._load(group, [(str(self._origin(Path(p))), why) for p, why in dropped])
            if reason:
                bad |= {Path(file.path): reason for file in group}
        for read in sorted(good):
            if read in bad:
                self._refuse_taken(read, bad[read])
            elif read.stat().st_size != sizes[read]:
                self._claim(read).give_back(read)  # a short process ended meanwhile and appended to the log
            else:
                self._claim(read).finish(read, delete=self.delete)

    def load_running(self, members: Sequence[File]) -> None:
        """Load what a running step has so far; its files are not touched."""
        reason = self._load(members, [])
        if reason:
            self.report.refused.append((members[0].path, reason))

    def put_away(self, path: Path) -> None:
        """A file of no job step: the log of short processes outside any job."""
        taken = self._claim(path).take(path)
        if taken is not None:
            self._claim(taken).finish(taken, delete=self.delete)

    def refuse(self, path: Path, reason: str) -> None:
        """Move a file of the spool to refused/ and report it."""
        taken = self._claim(path).take(path)
        if taken is not None:
            self._refuse_taken(taken, reason)

    def _take(self, paths: Sequence[Path]) -> list[Path]:
        """Take the files of a step. All collectors begin with the same one, and who fails to get it leaves the others
        alone.
        """
        taken = []
        for path in paths:
            target = self._claim(path).take(path)
            if target is not None:
                taken.append(target)
            elif not taken:
                break
        return taken

    def _load(self, files: Sequence[File], dropped: list[tuple[str, str]]) -> str:
        """Merge and load the files of one step; why not, or nothing."""
        try:
            profile = self._merge(files, dropped)
            result = load_profile(self.engine, profile, evaluation=self._evaluation(profile), cluster=self.cluster)
        except FormatError as error:
            return error.reason
        except RefusedProfile as error:
            return str(error)
        job = profile.job
        self.report.loaded.append(
            LoadedStep(job.id, job.step, job.user, result.job_key, len(profile.processes), result.slices, result.loaded)
        )
        return ""

    def _merge(self, files: Sequence[File], dropped: list[tuple[str, str]]) -> Profile:
        """The profile of one step. Raises FormatError, also for what the merging did not foresee: the rest has to go
        on.
        """
        try:
            profile = merge_files(files, dropped)
        except (ValueError, ArithmeticError, LookupError, MemoryError) as error:
            raise FormatError(files[0].path, f"cannot be merged ({type(error).__name__}: {error})") from error
        return replace(
            profile, dropped_files=tuple((str(self._origin(Path(p))), why) for p, why in profile.dropped_files)
        )

    def _evaluation(self, profile: Profile) -> Evaluation | None:
        """What was found of its interference; a job whose estimate fails is loaded without one."""
        try:
            return _evaluation(profile, self.evaluate)
        except _NO_ESTIMATE as error:
            self.report.notes.append(f"{profile.job.id}.{profile.job.step} has no estimate: {error}")
            return None

    def _refuse_taken(self, taken: Path, reason: str) -> None:
        self.report.refused.append((str(self._origin(taken)), reason))
        self._claim(taken).refuse(taken)

    def _claim(self, path: Path) -> Claim:
        return next(c for spool, c in self.claims.items() if path.parent in (spool, c.folder))

    def _origin(self, path: Path) -> Path:
        """Where a taken file lay, for reports."""
        spool = next((spool for spool, c in self.claims.items() if path.parent == c.folder), path.parent)
        return spool / path.name


def _may_run(file: File, machine: Machine) -> bool:
    """Whether a process may still write to its file: /proc tells on its own machine; elsewhere a sign of life does."""
    if isinstance(file, ShortLog) or file.state != State.RUNNING:
        return False
    if file.boot_id == machine.boot_id:
        return machine.runs(file)
    last_ns = max(file.mtime_ns, int(file.slices.end_ns.max(initial=0)))
    return time.time_ns() - last_ns < QUIET_S * 1e9


def _name(key: StepKey) -> str:
    return f"{key.job_id}.{key.step_id}" if key.step_id else key.job_id
