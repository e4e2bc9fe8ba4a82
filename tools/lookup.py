"""`crosswind lookup`: what rose when a job lost time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError
from crosswind.tools.moments import Time
from crosswind.tools.output import one_line, print_json, print_table, step

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from crosswind.db.queries import JobRow
    from crosswind.web.lookup_answer import Line, Lookup
    from crosswind.web.other_side import OtherSide

__all__ = ["look_up", "lookup_command"]

LINES_SHOWN = 15
HEADER = ("by", "command", "resource", "load", "share", "rank corr.", "lag", "p", "q")
VICTIMS = ("job", "command", "resource", "load", "share", "q")


@click.command("lookup")
@click.argument("job", metavar="JOB[.STEP]")
@click.option("--from", "from_ns", type=Time(), help="Begin of a stretch of the run, UTC: 2026-11-21T08:00:04.")
@click.option("--to", "to_ns", type=Time(), help="Its end.")
@click.option("--resource", help="Only what loaded this resource, such as fs:net.")
@click.option("--other-side", is_flag=True, help="Whose lost time did this job's own load coincide with?")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@db_option(required=True)
def lookup_command(
    job: str,
    from_ns: int | None,
    to_ns: int | None,
    resource: str | None,
    other_side: bool,
    as_json: bool,
    db: str,
) -> None:
    """Show what rose when a job lost time: the loads of the jobs beside it, what its nodes and the servers tell, and
    what of it is more than chance.

    A load that coincides is no proof of a cause: the list says what to look at. docs/lookup.md is the method.

    \b
    Example: crosswind lookup 4711 --db sqlite:///crosswind.db
    """
    if (from_ns is None) != (to_ns is None):
        raise click.UsageError("a stretch has a begin and an end: --from TIME --to TIME")
    if other_side:
        with step(f"looking up whom {job} coincided with"):
            side = look_at_other_side(job, db)
        _print_other_side(side, as_json)
        return
    with step(f"looking up what ran beside {job}"):
        found = look_up(job, db, None if from_ns is None or to_ns is None else (from_ns, to_ns), resource)
    if as_json:
        print_json(found.to_json())
        return
    click.echo(one_line(found.sentence))
    if found.lines:
        header = (*HEADER, "as high in") if found.compares else HEADER
        rows = [_row(line, compares=found.compares) for line in found.lines[:LINES_SHOWN]]
        print_table(header, rows, f"{found.tested} series tested, findings marked *")
    if found.left_out:
        click.echo(f"{found.left_out} more jobs ran beside it and were not read.")


def look_up(name: str, url: str, span_ns: tuple[int, int] | None = None, resource: str | None = None) -> Lookup:
    """What ran beside the newest job of that id or ID.STEP in the database. span_ns: a stretch of it, UTC.

    CommandError: there is no such job, or it did not run then.
    """
    from crosswind.web.lookup import read_lookup

    with _job(name, url) as (connection, job):
        return read_lookup(connection, job, window=_window(job, span_ns), resource=resource)


def look_at_other_side(name: str, url: str) -> OtherSide:
    """Whose lost time the load of that job coincided with. CommandError: there is no such job."""
    from crosswind.web.other_side import read_other_side

    with _job(name, url) as (connection, job):
        return read_other_side(connection, job)


@contextmanager
def _job(name: str, url: str) -> Iterator[tuple[Connection, JobRow]]:
    from crosswind.db.connection import open_database, reading
    from crosswind.db.queries import find_jobs

    job_id, _, job_step = name.partition(".")
    with reading(open_database(url, create=False)) as connection:
        jobs = find_jobs(connection, name) or find_jobs(connection, job_id, job_step or None)
        if not jobs:
            raise CommandError(f"{name}: no such job in the database; crosswind serve lists them")
        yield connection, jobs[0]


def _window(job: JobRow, span_ns: tuple[int, int] | None) -> tuple[int, int] | None:
    if span_ns is None:
        return None
    begin = max(span_ns[0] // job.slice_ns - job.first_slice, 0)
    end = min(-(-span_ns[1] // job.slice_ns) - job.first_slice, job.n_slices)
    if begin >= end:
        raise CommandError(f"{job.job_id}: did not run in that time; leave out --from and --to")
    return begin, end


def _print_other_side(side: OtherSide, as_json: bool) -> None:
    if as_json:
        print_json(side.to_json())
        return
    from crosswind.web.lookup_answer import step_name

    click.echo(one_line(side.sentence))
    rows = [
        (step_name(v.job), v.job.command, v.resource, v.load, f"{100 * v.effect:.0f} %", f"{v.q:.2g}")
        for v in side.named
    ]
    if rows:
        print_table(VICTIMS, rows)


def _row(line: Line, *, compares: bool) -> tuple[str, ...]:
    then = "-" if line.p_then is None else f"{100 * line.p_then:.2g} % of stretches"
    return (
        ("* " if line.found else "  ") + line.who.removeprefix("job "),
        line.job.command if line.job else "",
        line.resource,
        f"{line.load} (sign)" if line.is_sign else line.load,
        f"{100 * line.effect:.0f} %",
        f"{line.rho:.2f}",
        f"{line.lag_s:g} s",
        f"{line.p:.2g}",
        f"{line.q:.2g}",
        *((then,) if compares else ()),
    )
