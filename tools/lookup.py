"""`crosswind lookup`: what rose when a job lost time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError
from crosswind.tools.output import one_line, print_json, print_table, step

if TYPE_CHECKING:
    from crosswind.web.lookup import Line, Lookup

__all__ = ["look_up", "lookup_command"]

LINES_SHOWN = 15
HEADER = ("job", "command", "resource", "load", "share", "rank corr.", "lag", "p", "q")


@click.command("lookup")
@click.argument("job", metavar="JOB[.STEP]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@db_option(required=True)
def lookup_command(job: str, as_json: bool, db: str) -> None:
    """Show what rose when a job lost time: the loads of the jobs beside it, ranked, and what of it is more than chance.

    A load that coincides is no proof of a cause: the list says what to look at. docs/lookup.md is the method.

    \b
    Example: crosswind lookup 4711 --db sqlite:///crosswind.db
    """
    with step(f"looking up what ran beside {job}"):
        found = look_up(job, db)
    if as_json:
        print_json(found.to_json())
        return
    click.echo(one_line(found.sentence))
    if found.lines:
        print_table(HEADER, map(_row, found.lines[:LINES_SHOWN]), f"{found.tested} loads tested, findings marked *")
    if found.left_out:
        click.echo(f"{found.left_out} more jobs ran beside it and were not read.")


def look_up(name: str, url: str) -> Lookup:
    """What ran beside the newest job of that id or ID.STEP in the database. CommandError: there is no such job."""
    from crosswind.db.connection import open_database, reading
    from crosswind.db.queries import find_jobs
    from crosswind.web.lookup import read_lookup

    job_id, _, job_step = name.partition(".")
    with reading(open_database(url, create=False)) as connection:
        jobs = find_jobs(connection, name) or find_jobs(connection, job_id, job_step or None)
        if not jobs:
            raise CommandError(f"{name}: no such job in the database; crosswind serve lists them")
        return read_lookup(connection, jobs[0])


def _row(line: Line) -> tuple[str, ...]:
    from crosswind.web.lookup import step_name

    return (
        ("* " if line.found else "  ") + step_name(line.job),
        line.job.command,
        line.resource,
        line.load,
        f"{100 * line.effect:.0f} %",
        f"{line.rho:.2f}",
        f"{line.lag_s:g} s",
        f"{line.p:.2g}",
        f"{line.q:.2g}",
    )
