"""`crosswind experiment`: make the runs of an experiment file, evaluate them, and draw what came out."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.tools.errors import CommandError

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
@click.option(
    "--scratch", type=click.Path(path_type=Path), help="Where programs write; of Slurm, as the nodes see it.  [results]"
)
@click.option("--note", metavar="TEXT|@FILE", default="", help="On the machine: one line, kept and reported.")
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
    note: str,
) -> None:
    """Make all runs of FILE (TOML), alone and together, profiled, in a random but repeatable order; then evaluate them.

    What is made is kept: after a kill or an interruption the same command goes on where it was. Exit code 1 if a run
    failed, or others disturbed it each time.

    \b
    Example: crosswind experiment run experiments/node.toml --dry-run
    """
    from crosswind.tools.experiment.session import Session

    session = Session.of(file, output, on, repetitions, agents, scratch, note)
    if dry_run:
        session.tell()
        return
    lacking = session.run()
    _report(session.runner.directory)
    if lacking:
        total = len(session.runner.runs)
        click.echo(f"crosswind experiment: {lacking} of {total} runs lack: the same command tries again", err=True)
        ctx.exit(1)


@experiment_command.command("report")
@click.argument("directory", type=FOLDER)
def report_experiment(directory: Path) -> None:
    """Evaluate and draw the results in DIRECTORY again, whatever of them is made. Nothing is run.

    \b
    Example: crosswind experiment report experiment-fig-2.7
    """
    if not (directory / "experiment.toml").exists():
        raise CommandError(f"{directory}: is no results directory: it has no experiment.toml")
    _report(directory)


def _report(directory: Path) -> None:
    from crosswind.tools.experiment.report import write_report

    click.echo(write_report(directory))
