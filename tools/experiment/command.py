"""`crosswind experiment`: make the runs of an experiment file, evaluate them, and draw what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment import machine
from crosswind.tools.experiment.description import Program, read_experiment
from crosswind.tools.experiment.directory import EXPERIMENT, check_same, locked, prepare, scratch_below
from crosswind.tools.experiment.durations import Durations, in_words
from crosswind.tools.experiment.interruption import Interrupted, interruptible
from crosswind.tools.experiment.launcher import Launcher, LaunchError
from crosswind.tools.experiment.plan import Run, plan
from crosswind.tools.experiment.progress import shown
from crosswind.tools.experiment.records import read_records
from crosswind.tools.experiment.runner import Runner
from crosswind.tools.output import one_line, print_table

__all__ = ["experiment_command"]

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("experiment")
def experiment_command() -> None:
    """Run known programs alone and against each other, and say what they cost each other.

    \b
    Example: crosswind experiment run experiments/fig-2.7.toml
    """


@experiment_command.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Results.  [./experiment-NAME]")
@click.option("--on", type=click.Choice(["local", "slurm"]), help="This machine or Slurm.  [as the file says]")
@click.option("--repetitions", type=click.IntRange(1, 1000), help="Of each run.  [as the file says]")
@click.option("--dry-run", is_flag=True, help="Say what would run, in which order and how long; do nothing.")
@click.option("--agents", multiple=True, type=FOLDER, help="Spool directory of agents; may be given several times.")
@click.option("--scratch", type=FOLDER, help="Where programs write; of Slurm, on the shared file system.  [results]")
@click.pass_context
def run_experiment(
    ctx: click.Context,
    file: Path,
    output: Path | None,
    on: str | None,
    repetitions: int | None,
    dry_run: bool,
    agents: tuple[Path, ...],
    scratch: Path | None,
) -> None:
    """Make all runs of FILE (TOML), alone and together, profiled, in a random but repeatable order; then evaluate them.

    What is made is kept: after a kill or an interruption the same command goes on where it was. Exit code 1 if a run
    failed, or others disturbed it each time.

    \b
    Example: crosswind experiment run experiments/node.toml --dry-run
    """
    experiment = read_experiment(file)
    directory = (output or Path(f"experiment-{experiment.experiment.name}")).absolute()
    where = on or experiment.experiment.on
    check_same(directory, file, experiment, where)
    runs = plan(experiment, repetitions or experiment.experiment.repetitions)
    base = scratch_below(directory, scratch)
    runner = Runner(directory, experiment, runs, _launcher(where, base, agents), base)
    programs = [experiment.programs[name] for name in sorted({run.cell.probe for run in runs})]
    if dry_run:
        _tell(runner, programs)
        return
    reason = runner.launcher.why_not(programs)
    if reason:
        raise CommandError(reason)
    with locked(directory):
        prepare(directory, file, runs, where, machine.describe(runner.launcher.describe(), programs, base))
        lacking = _make(runner)
    _report(directory)
    if lacking:
        click.echo(f"crosswind experiment: {lacking} of {len(runs)} runs lack: the same command tries again", err=True)
        ctx.exit(1)


@experiment_command.command("report")
@click.argument("directory", type=FOLDER)
def report_experiment(directory: Path) -> None:
    """Evaluate and draw the results in DIRECTORY again, whatever of them is made. Nothing is run.

    \b
    Example: crosswind experiment report experiment-fig-2.7
    """
    if not (directory / EXPERIMENT).exists():
        raise CommandError(f"{directory}: is no results directory: it has no {EXPERIMENT}")
    _report(directory)


def _launcher(where: str, scratch: Path, agents: Sequence[Path]) -> Launcher:
    if where == "slurm":
        from crosswind.tools.experiment.slurm import SlurmLauncher

        return SlurmLauncher(scratch, agents)
    from crosswind.tools.experiment.local import LocalLauncher

    return LocalLauncher(scratch, agents)


def _make(runner: Runner) -> int:
    """Make what is due; how many runs are not done after all. CommandError: interrupted, after cleaning up."""
    done = len(runner.runs) - len(runner.due())
    try:
        with interruptible():
            try:
                runner.clean_up()
                with shown(len(runner.runs), done) as progress:
                    runner.load_missing(progress)
                    return runner.make(progress)
            finally:
                runner.clean_up()
    except Interrupted as signal:
        made = len(runner.runs) - len(runner.due())
        raise CommandError(f"{signal}: {made} of {len(runner.runs)} runs are made: the same command goes on") from None
    except LaunchError as error:
        raise CommandError(str(error)) from None


def _report(directory: Path) -> None:
    from crosswind.tools.experiment.report import write_report

    click.echo(write_report(directory))


def _tell(runner: Runner, programs: Sequence[Program]) -> None:
    """What would run: the programs, the order, the time."""
    due, durations = runner.due(), Durations(runner.experiment, read_records(runner.directory))
    commands = ([p.name, p.nodes, p.ranks, " ".join(p.command)] for p in programs)
    print_table(("program", "nodes", "ranks", "command"), commands)
    print_table(("run", "repetition", "seconds"), (_row(run, durations) for run in due), title="In this order")
    made = len(runner.runs) - len(due)
    click.echo(f"\n{len(due)} runs in {in_words(durations.total(due))}; {made} are made already")
    click.echo(f"Results: {runner.directory}")
    reason = runner.launcher.why_not(programs)
    if reason:
        click.echo(f"It cannot run here: {one_line(reason)}")


def _row(run: Run, durations: Durations) -> tuple[str, int, str]:
    what = f"{run.cell.probe} beside {run.cell.signal}" if run.cell.signal else f"{run.cell.probe} alone"
    return what, run.repetition + 1, f"{durations.of(run.cell):.0f}"
