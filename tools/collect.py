"""`crosswind collect`: finished spool files and profiles into the database."""

from __future__ import annotations

import dataclasses
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.tools.database import db_option
from crosswind.tools.output import one_line, print_json, step

if TYPE_CHECKING:
    from crosswind.profile.model import Profile
    from sqlalchemy import Engine

__all__ = ["collect_command", "evaluate"]


@click.command("collect")
@click.argument("profiles", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--spool",
    "spools",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of spool files; may be given several times.",
)
@db_option(required=True)
@click.option("--once", is_flag=True, help="Collect what is finished and end.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between looks."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON, one line a look.")
@click.pass_context
def collect_command(
    ctx: click.Context,
    profiles: tuple[Path, ...],
    spools: tuple[Path, ...],
    db: str,
    once: bool,
    interval: float,
    as_json: bool,
) -> None:
    """Load finished spool files and PROFILES (.xwp) into a database, with their estimates.

    Loading again what is there already changes nothing. Without --once it looks again at every interval, until SIGTERM
    or SIGINT. With --once the exit code is 1 if a file could not be read.

    \b
    Example: crosswind collect --spool /dev/shm/crosswind --db sqlite:///crosswind.db --once
    """
    from crosswind.db.connection import open_database

    if not profiles and not spools:
        raise click.UsageError("nothing to collect: name a directory with --spool, or .xwp files")
    engine = open_database(db)
    failures = _load_files(engine, profiles, as_json)
    if once or not spools:
        failures += _collect(engine, spools, as_json) if spools else 0
        ctx.exit(1 if failures else 0)
    stop = _stop_on_signals()
    while not stop.is_set():
        _collect(engine, spools, as_json)
        stop.wait(interval)


def evaluate(profile: Profile) -> dict[str, Any] | None:
    """The estimate that is stored beside a job: the document of `estimate --json`; None where there are no segments."""
    from crosswind.analysis import estimate_profile

    return estimate_profile(profile).to_json() if profile.segments is not None else None


def _load_files(engine: Engine, paths: tuple[Path, ...], as_json: bool) -> int:
    """Load profile files; how many could not be read. One bad file does not keep the others out."""
    from crosswind.db.errors import RefusedProfile
    from crosswind.db.store import load_profile
    from crosswind.profile.errors import FormatError
    from crosswind.profile.store import read_profile

    failures = 0
    for path in paths:
        try:
            with step(f"loading {path}"):
                profile = read_profile(path)
                result = load_profile(engine, profile, estimate=evaluate(profile))
        except (FormatError, RefusedProfile) as error:
            failures += 1
            click.echo(f"crosswind collect: {one_line(error)}", err=True)
            continue
        if as_json:
            click.echo(_json_line({"file": str(path), **dataclasses.asdict(result)}))
        else:
            state = f"loaded as job {result.job_key}" if result.loaded else f"job {result.job_key} has it already"
            click.echo(f"{one_line(path)}: {state}, {result.slices} slices")
    return failures


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
