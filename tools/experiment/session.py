"""What a call of `crosswind experiment run` is about: checked before anything is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment import machine
from crosswind.tools.experiment.description import Program, read_experiment
from crosswind.tools.experiment.directory import MACHINE, check_same, directory_mark, locked, prepare
from crosswind.tools.experiment.durations import Durations, in_words
from crosswind.tools.experiment.interruption import Interrupted, interruptible
from crosswind.tools.experiment.launcher import Launcher, LaunchError
from crosswind.tools.experiment.plan import Run, plan
from crosswind.tools.experiment.progress import shown
from crosswind.tools.experiment.records import read_records
from crosswind.tools.experiment.runner import Runner
from crosswind.tools.output import one_line, print_table

__all__ = ["Session"]


@dataclass(frozen=True)
class Session:
    """file: the experiment's. on: local or slurm. programs: that run at all. note: on the machine."""

    file: Path
    on: str
    runner: Runner
    programs: Sequence[Program]
    note: str

    @classmethod
    def of(
        cls,
        file: Path,
        output: Path | None,
        on: str | None,
        repetitions: int | None,
        agents: Sequence[Path],
        scratch: Path | None,
        note: str = "",
    ) -> Session:
        """By what the command line says; what it does not say the file does. CommandError: something does not fit."""
        experiment, note = read_experiment(file), machine.read_note(note)
        directory = (output or Path(f"experiment-{experiment.experiment.name}")).absolute()
        where = on or experiment.experiment.on
        check_same(directory, file, experiment, where)
        runs = plan(experiment, repetitions or experiment.experiment.repetitions)
        runner = Runner(directory, experiment, runs, _launcher(where, directory, scratch, agents))
        names = sorted({name for run in runs for name in (run.cell.probe, run.cell.signal) if name})
        return cls(file, where, runner, [experiment.programs[name] for name in names], note)

    def tell(self) -> None:
        """What would run: the programs, the order, the time."""
        runner, due = self.runner, self.runner.due()
        durations = Durations(runner.experiment, read_records(runner.directory))
        commands = ([p.name, p.nodes, p.ranks, " ".join(p.command)] for p in self.programs)
        print_table(("program", "nodes", "ranks", "command"), commands)
        print_table(("run", "repetition", "seconds"), (_row(run, durations) for run in due), title="In this order")
        made = len(runner.runs) - len(due)
        click.echo(f"\n{len(due)} runs in {in_words(durations.total(due))}; {made} are made already")
        click.echo(f"Results: {runner.directory}")
        reason = runner.launcher.why_not(self.programs)
        if reason:
            click.echo(f"It cannot run here: {one_line(reason)}")

    def run(self) -> int:
        """Make what is due; how many runs are not done after all. CommandError: interrupted, after cleaning up, or it
        cannot run here.
        """
        runner, launcher = self.runner, self.runner.launcher
        reason = launcher.why_not(self.programs)
        if reason:
            raise CommandError(reason)
        with locked(runner.directory):
            here = None if self.on == "slurm" else launcher.scratch  # here its mount point may be an empty directory
            described = machine.describe(launcher.describe(), self.programs, here, self.note)
            changed = prepare(runner.directory, self.file, runner.runs, self.on, described)
            if changed:
                click.echo(
                    f"crosswind experiment: the machine has changed since ({', '.join(changed)}, see {MACHINE}): "
                    "what is compared should be made alike",
                    err=True,
                )
            return _make(runner)


def _launcher(where: str, directory: Path, scratch: Path | None, agents: Sequence[Path]) -> Launcher:
    base = (scratch or directory / "scratch").absolute()
    if where == "slurm":  # the directory need not be mounted here
        from crosswind.tools.experiment.slurm import SlurmLauncher

        return SlurmLauncher(base, agents)
    from crosswind.tools.experiment.local import LocalLauncher

    if scratch and not scratch.is_dir():
        raise click.UsageError(f"--scratch: there is no directory {scratch}")
    return LocalLauncher(base / directory_mark(directory) if scratch else base, agents)


def _make(runner: Runner) -> int:
    made = len(runner.runs) - len(runner.due())
    try:
        with interruptible():
            try:
                runner.clean_up()
                with shown(len(runner.runs), made) as progress:
                    runner.load_missing(progress)
                    return runner.make(progress)
            finally:
                runner.clean_up()
    except Interrupted as signal:
        made = len(runner.runs) - len(runner.due())
        raise CommandError(f"{signal}: {made} of {len(runner.runs)} runs are made: the same command goes on") from None
    except LaunchError as error:
        raise CommandError(str(error)) from None


def _row(run: Run, durations: Durations) -> tuple[str, int, str]:
    what = f"{run.cell.probe} beside {run.cell.signal}" if run.cell.signal else f"{run.cell.probe} alone"
    return what, run.repetition + 1, f"{durations.of(run.cell):.0f}"
