"""`crosswind doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from crosswind.tools import checks, checks_mpi
from crosswind.tools.checks import Check, State
from crosswind.tools.database import db_option
from crosswind.tools.output import one_line, print_json, step
from crosswind.tools.profiling import spool_base

__all__ = ["doctor_command"]

COLOURS = {State.OK: "green", State.LIMITED: "yellow", State.MISSING: "red"}


@click.command("doctor")
@click.option("--spool", type=click.Path(path_type=Path), help="Spool directory to check.  [/dev/shm]")
@db_option(required=False)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_context
def doctor_command(ctx: click.Context, spool: Path | None, db: str | None, as_json: bool) -> None:
    """Check what works on this machine: library, clocks, counters, MPI, spool directory, database.

    Each line is ok, limited (works with less) or missing, and says what to do. The exit code is 1 if something is
    missing that profiling needs.

    \b
    Example: crosswind doctor --spool /dev/shm/crosswind --db sqlite:///crosswind.db
    """
    with step("crosswind doctor: checking"):
        results = _checks(spool or spool_base(), db)
    if as_json:
        print_json({"checks": [dataclasses.asdict(check) for check in results]})
    else:
        for check in results:
            _print(check)
    ctx.exit(1 if any(check.state is State.MISSING and check.needed for check in results) else 0)


def _checks(spool: Path, db: str | None) -> list[Check]:
    results = [
        checks.library(),
        checks.dependencies(),
        checks.profiled_run(),
        checks.clock(),
        checks.cycle_counter(),
        *checks.processor_events(),
        checks.papi(),
        checks.spool(spool),
        checks.leftovers(spool_base()),
        *checks_mpi.installations(),
    ]
    return [*results, checks.database(db)] if db else results


def _print(check: Check) -> None:
    state = click.style(f"{check.state.value:<8}", fg=COLOURS[check.state])
    click.echo(f"{state} {check.name:<24} {one_line(check.found)}")
    if check.advice:
        click.echo(f"{'':<33} -> {one_line(check.advice)}")
