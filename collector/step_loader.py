"""Job steps into the database: their files taken, read, merged, loaded, put away. One object serves one look."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.exc import DataError

from crosswind.collector.claim import Claims
from crosswind.collector.estimates import NO_ESTIMATE, Evaluate, checked_evaluation, evaluate_whole
from crosswind.collector.report import CollectReport, LoadedStep
from crosswind.collector.running import News, tail_of
from crosswind.collector.spool import is_copy
from crosswind.db import DatabaseError, Evaluation, LoadResult, RefusedProfile, load_profile
from crosswind.db.store import extend_profile
from crosswind.db.summaries import Summarize
from crosswind.profile.errors import FormatError, printable
from crosswind.profile.merge import merge_files
from crosswind.profile.model import Profile
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import StepKey, group_by_step, read_spools

__all__ = ["File", "StepLoader", "name_of"]

File = SpoolFile | ShortLog


class StepLoader:
    """Loads the steps of one look; what came of it is in `report`."""

    def __init__(
        self,
        engine: Engine,
        claims: Claims,
        *,
        evaluate: Evaluate | None = None,
        summarize: Summarize | None = None,
        cluster: str = "",
        delete: bool,
    ) -> None:
        self.engine = engine
        self.claims = claims
        self.evaluate = evaluate
        self.summarize = summarize
        self.cluster = cluster
        self.delete = delete
        self.report = CollectReport()

    def load_finished(self, paths: Sequence[Path]) -> None:
        """Take the files of a step, load them, put them away. Raises SpoolError, DatabaseError."""
        taken = self._take(sorted(set(paths)))
        sizes = {path: os.lstat(path).st_size for path in taken}
        files, dropped = read_spools(taken)
        for path, reason in dropped:
            self._refuse_taken(Path(path), reason, "unreadable")
        good = {Path(file.path) for file in files}
        bad: dict[Path, tuple[str, str]] = {}
        for group in group_by_step(files).values():
            why = self._load(group, dropped, self.evaluate)
            if why:
                bad |= {Path(file.path): why for file in group}
        for read in sorted(good):
            if read in bad:
                self._refuse_taken(read, *bad[read])
            elif os.lstat(read).st_size != sizes[read]:
                self.claims.of(read).give_back(read)  # a short process ended meanwhile and appended to the log
            else:
                self.claims.of(read).finish(read, delete=self.delete)

    def load_running(
        self, members: Sequence[File], running: Collection[str] = (), silent: Collection[str] = ()
    ) -> bool:
        """Load what a step has so far; its files are not touched. Whether it could be loaded. Raises DatabaseError.

        running: paths of processes that are not seen here but still run: while there are any the step gets no estimate.
        silent: of those that may be dead or go on.
        """
        why = self._load(members, [], None if running else self.evaluate, running, silent)
        if why:
            self.report.refused.append((self._shown(Path(members[0].path)), why[0]))
            self.report.kinds[why[1]] += 1
        return why is None

    def load_on(self, news: News, running: Collection[str], silent: Collection[str], ended_ns: int) -> bool:
        """Load what is new in the files of a running step, which were read behind marks; False: the database lacks what
        lies before them, and nothing was done. ended_ns: see merge_files. Raises DatabaseError.
        """
        try:
            profile = self._merge(news.files, [], running, silent, ended_ns)
            tail = tail_of(profile, news)
            result = extend_profile(self.engine, tail, summarize=self.summarize, cluster=self.cluster)
        except (FormatError, RefusedProfile, MemoryError, ArithmeticError, LookupError, TypeError, ValueError):
            return False  # loading all of it says what is wrong
        if result is None:
            return False
        self._report(profile, news.files, result)
        return True

    def put_away(self, path: Path) -> None:
        """A file of no job step: the log of short processes outside any job. Raises SpoolError."""
        taken = self.claims.of(path).take(path)
        if taken is not None:
            self.claims.of(taken).finish(taken, delete=self.delete)

    def refuse(self, path: Path, reason: str) -> bool:
        """Move a file of the spool to refused/ and report it; False: it has to stay where it is. Raises SpoolError."""
        taken = self.claims.of(path).take(path)
        return taken is None or self._refuse_taken(taken, reason, "unreadable")

    def _take(self, paths: Sequence[Path]) -> list[Path]:
        """Take the files of a step. All collectors begin with the same one, and who fails to get it leaves the others
        alone.
        """
        taken = []
        for path in paths:
            target = self.claims.of(path).take(path)
            if target is not None:
                taken.append(target)
            elif not taken:
                break
        return taken

    def _load(
        self,
        files: Sequence[File],
        dropped: list[tuple[str, str]],
        evaluate: Evaluate | None,
        running: Collection[str] = (),
        silent: Collection[str] = (),
    ) -> tuple[str, str] | None:
        """Merge and load the files of one step; why not, and of which kind that is."""
        try:
            profile = self._merge(files, dropped, running, silent)
            found = self._evaluation(profile, evaluate)
            result = load_profile(
                self.engine, profile, evaluation=found, summarize=self.summarize, cluster=self.cluster
            )
        except FormatError as error:
            return error.reason, "unreadable"
        except RefusedProfile as error:
            return str(error), "impossible"
        except MemoryError:
            return "is too large to be loaded", "impossible"
        except DatabaseError as error:
            if isinstance(error.__cause__, DataError):  # it will never take these values
                return f"is not accepted by the database ({error})", "impossible"
            raise
        except OSError:
            raise
        except Exception as error:  # what a file says may end nothing but its own loading
            return f"cannot be loaded ({type(error).__name__}: {printable(str(error))[:200]})", "impossible"
        if result.is_joined and evaluate:
            self._evaluate_whole(result.job_key, evaluate, profile)
        self._report(profile, files, result)
        return None

    def _report(self, profile: Profile, files: Sequence[File], result: LoadResult) -> None:
        job, newest = profile.job, max(_newest_ns(file) for file in files)
        n = len(profile.processes)
        self.report.loaded.append(
            LoadedStep(job.id, job.step, job.user, result.job_key, n, result.slices, result.loaded, newest)
        )

    def _merge(
        self,
        files: Sequence[File],
        dropped: list[tuple[str, str]],
        running: Collection[str],
        silent: Collection[str],
        ended_ns: int = 0,
    ) -> Profile:
        """The profile of one step. Raises FormatError, also for what the merging did not foresee: the rest has to go
        on.
        """
        try:
            unheard = {file.path for file in files if is_copy(file.path)} | set(silent)
            profile = merge_files(files, dropped, running=running, unheard=unheard, ended_ns=ended_ns)
        except (ValueError, ArithmeticError, LookupError) as error:
            raise FormatError(files[0].path, f"cannot be merged ({type(error).__name__}: {error})") from error
        origins = ((self._shown(Path(path)), why) for path, why in profile.dropped_files)
        return replace(profile, dropped_files=tuple(origins))

    def _evaluation(self, profile: Profile, evaluate: Evaluate | None) -> Evaluation | None:
        """What was found of its interference; a job whose estimate fails is loaded without one."""
        try:
            return checked_evaluation(profile, evaluate)
        except NO_ESTIMATE as error:
            self.report.notes.append(f"{profile.job.id}.{profile.job.step} has no estimate: {error}")
            return None

    def _evaluate_whole(self, job_key: int, evaluate: Evaluate, part: Profile) -> None:
        """The estimate of a job whose ranks came in parts."""
        try:
            evaluate_whole(self.engine, job_key, evaluate)
        except NO_ESTIMATE as error:
            self.report.notes.append(f"{part.job.id}.{part.job.step} has no estimate: {error}")

    def _shown(self, path: Path) -> str:
        """Where a file lay, for reports and databases: users choose names with any bytes in them."""
        return printable(str(self.claims.origin(path)))

    def _refuse_taken(self, taken: Path, reason: str, kind: str) -> bool:
        self.report.refused.append((self._shown(taken), reason))
        self.report.kinds[kind] += 1
        return self.claims.of(taken).refuse(taken)


def name_of(key: StepKey) -> str:
    """A job step as it is called in reports."""
    return f"{key.job_id}.{key.step_id}" if key.step_id else key.job_id


def _newest_ns(file: File) -> int:
    """End of the last slice, or short process, in a file."""
    ends = file.pieces.end if isinstance(file, ShortLog) else file.slices.end_ns
    return int(np.max(ends, initial=0))
