"""Makes the runs of an experiment that are not made yet, each whole or not at all, and loads them."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from crosswind.db.nodes import NodeSlices
from crosswind.profile.store import read_profile
from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.agents import seen_by_agents
from crosswind.tools.experiment.description import Experiment, Program
from crosswind.tools.experiment.discarding import why_discarded
from crosswind.tools.experiment.durations import Durations
from crosswind.tools.experiment.launcher import Launcher, LaunchError, Started
from crosswind.tools.experiment.loading import load_run, not_loaded, open_jobs
from crosswind.tools.experiment.outside import DiskWatch, beside_on_servers
from crosswind.tools.experiment.plan import Run
from crosswind.tools.experiment.progress import Progress
from crosswind.tools.experiment.records import (
    RUNS,
    Conditions,
    Outside,
    ProgramRecord,
    RunRecord,
    Status,
    read_record,
    read_records,
    write_record,
)
from crosswind.tools.machine import Watch
from crosswind.tools.output import one_line

__all__ = ["Runner"]

TRY = ".try"  # and its number: the folder of an earlier try
FOLDER = re.compile(rf"[\w.-]+--[\w.-]+--\d+({re.escape(TRY)}\d+)?", re.ASCII)  # of a run
MAX_TRIES = 3  # of a run that others disturb
MAX_FAILURES = 3  # runs one after another; then it is no accident
LEAST_TOGETHER = 0.5  # of the shorter program's time: one may have waited in a queue while the other ran


class _RunFailed(Exception):
    """The programs ran, but what they left is no result; one clear line."""


@dataclass(frozen=True)
class Runner:
    """One experiment on its way."""

    directory: Path
    experiment: Experiment
    runs: Sequence[Run]
    launcher: Launcher

    def due(self) -> list[Run]:
        """The runs that are not done, in their order."""
        return [run for run in self.runs if not _is_done(read_record(self._folder(run)))]

    def clean_up(self) -> None:
        """End and remove what a runner that was killed, or is about to stop, left half-made; nothing else."""
        for folder in (self.directory / RUNS).iterdir():
            is_ours = FOLDER.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
            if is_ours and read_record(folder) is None:
                self.launcher.abandon(folder)
                shutil.rmtree(folder)

    def load_missing(self, progress: Progress) -> None:
        """Load what a killed runner had not loaded yet."""
        engine = open_jobs(self.directory)
        done = [record for record in read_records(self.directory) if _is_done(record)]
        for record in not_loaded(engine, done):
            self._load(record, self._seen(record.begin_ns, record.end_ns), progress)
        engine.dispose()

    def make(self, progress: Progress) -> int:
        """Make all runs that are due; how many of them are not done after all. CommandError: it makes no sense to go
        on.
        """
        due = self.due()
        durations = Durations(self.experiment, read_records(self.directory))
        failures, lacking = 0, 0
        for number, run in enumerate(due):
            progress.begin(_words(run), durations.total(due[number:]))
            begin = time.monotonic()
            record, seen = self._make_run(run, progress)
            if _is_done(record):
                self._load(record, seen, progress)
            if record.status != "failed":
                durations.add(run.cell.probe, run.cell.signal, time.monotonic() - begin)
            result = _result(record, watched=self.experiment.experiment.outside_pct > 0)
            progress.end(_words(run), result, durations.total(due[number + 1 :]), counts=_is_done(record))
            lacking += not _is_done(record)
            failures = failures + 1 if record.status == "failed" else 0
            if failures == MAX_FAILURES:
                raise CommandError(f"{failures} runs failed one after another, the last: {record.why}")
        return lacking

    def _make_run(self, run: Run, progress: Progress) -> tuple[RunRecord, list[NodeSlices]]:
        """One run, again as long as others disturb it, and what agents saw beside it."""
        for remaining in reversed(range(MAX_TRIES)):
            record, seen = self._try(run, self._set_aside(run))
            if record.status != "discarded" or not remaining:
                break
            progress.say(f"{_words(run)}: {record.why}; it is made again")
        return record, seen

    def _set_aside(self, run: Run) -> int:
        """An empty folder for the run; what is in its place is kept as KEY.tryN. The number of the new try."""
        folder = self._folder(run)
        suffixes = [path.name.rpartition(TRY)[2] for path in folder.parent.glob(f"{run.key}{TRY}*")]
        kept = [int(suffix) for suffix in suffixes if suffix.isdecimal()]
        before = read_record(folder)
        if before is not None:
            kept.append(before.try_number)
            folder.rename(folder.with_name(f"{run.key}{TRY}{before.try_number}"))
        folder.mkdir()
        return 1 + max(kept, default=0)

    def _try(self, run: Run, try_number: int) -> tuple[RunRecord, list[NodeSlices]]:
        """Make the run once, and record it."""
        folder = self._folder(run)
        self._copy_inputs(run, folder)
        is_local = self.launcher.server_resource() is None
        watch, disk = Watch(), DiskWatch(self.launcher.scratch) if is_local else None
        begin_ns, slept_s = time.time_ns(), _slept_s()
        programs: list[ProgramRecord] = []
        status: Status = "done"
        why = ""
        try:
            programs = self._run_programs(run, folder)
            _check(programs, self.experiment, mutual=run.cell.mutual)
        except (LaunchError, _RunFailed) as error:
            status, why = "failed", one_line(error)
        end_ns = time.time_ns()
        slept_s = _slept_s() - slept_s
        conditions = Conditions(**asdict(watch.conditions())) if is_local else None
        of_disk = self._outside(folder, programs, disk) if disk else None  # now: agents may have to be waited for
        seen = self._seen(begin_ns, end_ns)
        outside = of_disk if disk else self._outside(folder, programs, seen)
        if status == "done":
            settings, slept_s = self.experiment.experiment, slept_s if is_local else 0.0
            why = why_discarded(settings, _span_s(programs), slept_s, outside, conditions)
            status = "discarded" if why else "done"
        record = RunRecord(
            key=run.key, probe=run.cell.probe, signal=run.cell.signal, repetition=run.repetition,
            try_number=try_number, status=status, why=why, begin_ns=begin_ns, end_ns=end_ns, mutual=run.cell.mutual,
            programs=programs, outside=outside, conditions=conditions,
        )  # fmt: skip
        write_record(folder, record)
        return record, seen

    def _run_programs(self, run: Run, folder: Path) -> list[ProgramRecord]:
        """Start the signal, then the probe; end the signal with it, or wait for both. Nothing of them runs after."""
        cell, length = run.cell, self.experiment.experiment.slice
        probe = self.experiment.programs[cell.probe]
        with ExitStack() as stack:
            stack.callback(self.launcher.abandon, folder)
            signal: Started | None = None
            if cell.signal is not None:
                signal = self.launcher.start(self.experiment.programs[cell.signal], folder, "signal", length)
                time.sleep(cell.lead_s)
            started = self.launcher.start(probe, folder, "probe", length)
            records = [self.launcher.wait(started, probe.timeout_s)]
            if signal is not None:
                mutual = cell.mutual
                records.append(
                    self.launcher.wait(signal, signal.program.timeout_s) if mutual else self.launcher.stop(signal)
                )
        return records

    def _seen(self, begin_ns: int, end_ns: int) -> list[NodeSlices]:
        return seen_by_agents(self.launcher.agent_files, begin_ns, end_ns)

    def _outside(
        self,
        folder: Path,
        programs: Sequence[ProgramRecord],
        moved: DiskWatch | list[NodeSlices],
    ) -> Outside | None:
        """What others moved; None: cannot be told."""
        if not programs or any(program.profile is None for program in programs):
            return None
        profiles = [read_profile(folder / str(program.profile)) for program in programs]
        if isinstance(moved, DiskWatch):
            return moved.beside(profiles)
        resource = self.launcher.server_resource()
        if resource is None:
            return None
        return beside_on_servers(moved, profiles, resource, *_span_ns(programs))

    def _load(self, record: RunRecord, seen: list[NodeSlices], progress: Progress) -> None:
        engine = open_jobs(self.directory)
        for line in load_run(engine, self.directory, record, seen):
            progress.say(line)
        engine.dispose()

    def _copy_inputs(self, run: Run, folder: Path) -> None:
        """Each program's own folder, in which it runs, with its input."""
        for role, name in (("probe", run.cell.probe), ("signal", run.cell.signal)):
            if name is not None:
                (folder / role).mkdir()
                given = self.experiment.programs[name].input
                if given:
                    shutil.copyfile(self.directory / given, folder / role / Path(given).name)

    def _folder(self, run: Run) -> Path:
        return self.directory / RUNS / run.key


def _check(programs: Sequence[ProgramRecord], experiment: Experiment, *, mutual: bool) -> None:
    """_RunFailed: a program ended badly, told nothing of what it is judged by, or a signal ended before its probe or
    had not begun its work.
    """
    probe = programs[0]
    for record in programs:
        program, is_judged = experiment.programs[record.program], record is probe or mutual
        if record.exit_code != 0 and not record.stopped:
            raise _RunFailed(f"{record.program} ended with exit code {record.exit_code}: see {record.role}.err")
        if not is_judged and not record.stopped:
            raise _RunFailed(f"{record.program} ended before {probe.program}: let it run longer")
        if is_judged or program.measure == "rate":
            _check_measure(record, program)
    together_s = (min(record.end_ns for record in programs) - max(record.begin_ns for record in programs)) / 1e9
    if together_s < LEAST_TOGETHER * min(record.elapsed_s for record in programs):
        names = " and ".join(record.program for record in programs)
        raise _RunFailed(f"{names} were together for only {max(together_s, 0):.1f} s: let them run longer")


def _check_measure(record: ProgramRecord, program: Program) -> None:
    if program.measure == "rate" and (record.report is None or not record.report.get("total")):
        raise _RunFailed(f"{record.program} printed no report of a load program, or did nothing: see {record.role}.out")
    if program.measure == "steps" and not 0 < (record.steps_per_s or 0) < math.inf:
        raise _RunFailed(f"{record.program} printed no number that its pattern finds: see {record.role}.out")


def _span_ns(programs: Sequence[ProgramRecord]) -> tuple[int, int]:
    """From the first program's begin to the last one's end: without the time in a queue."""
    return min(program.begin_ns for program in programs), max(program.end_ns for program in programs)


def _span_s(programs: Sequence[ProgramRecord]) -> float:
    begin_ns, end_ns = _span_ns(programs)
    return (end_ns - begin_ns) / 1e9


def _slept_s() -> float:
    """For how long the machine has been suspended since it started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def _is_done(record: RunRecord | None) -> bool:
    return record is not None and record.status == "done"


def _words(run: Run) -> str:
    beside = f"beside {run.cell.signal}" if run.cell.signal else "alone"
    return f"{run.cell.probe} {beside}, repetition {run.repetition + 1}"


def _result(record: RunRecord, *, watched: bool) -> str:
    """watched: what others move is asked for."""
    if not _is_done(record):
        return f"{record.status} ({record.why})"
    return "done, what others moved is not known," if watched and record.outside is None else "done"
