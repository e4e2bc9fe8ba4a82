"""`crosswind servers`: how much of the file servers' traffic the profiled jobs explain."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError
from crosswind.tools.output import print_json, print_table, si

if TYPE_CHECKING:
    from crosswind.analysis.servers import Explained
    from crosswind.db.server_queries import ServerView

__all__ = ["servers_command"]

HOUR_NS = 3600 * 10**9


@click.command("servers")
@db_option(required=True)
@click.option("--resource", default="fs:net", show_default=True, help="The shared resource whose servers to show.")
@click.option("--job", metavar="JOB", help="The time in which this job ran.")
@click.option("--from", "start", type=click.DateTime(), help="Begin, UTC.  [an hour before the end]")
@click.option("--to", "end", type=click.DateTime(), help="End, UTC.  [now]")
@click.option("--window", type=click.IntRange(1), default=15, show_default=True, help="Slices in one line.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def servers_command(
    db: str, resource: str, job: str | None, start: datetime | None, end: datetime | None, window: int, as_json: bool
) -> None:
    """Compare what the servers of a resource moved with what the profiled jobs moved, window by window.

    What the jobs do not explain was done by something that is not profiled. A window in which a server was not seen
    is a gap.

    \b
    Example: crosswind servers --job 1001 --db sqlite:///crosswind.db
    """
    from crosswind.analysis.servers import WAYS, explain

    if job and (start or end):
        raise click.UsageError("--job and --from, --to exclude each other")
    view = _view(db, resource, job, start, end)
    results = [explain(view.servers, view.jobs, way, window=window) for way in WAYS]
    if as_json:
        print_json(_document(view, window, results))
    else:
        _print(view, window, results)


def _view(db: str, resource: str, job: str | None, start: datetime | None, end: datetime | None) -> ServerView:
    from crosswind.analysis.servers import server_metrics
    from crosswind.db.connection import open_database, reading
    from crosswind.db.queries import find_jobs
    from crosswind.db.server_queries import get_server_view

    with reading(open_database(db, create=False)) as conn:
        if job:
            steps = find_jobs(conn, job)
            if not steps:
                raise CommandError(f"{job}: there is no such job in the database")
            begin_ns, end_ns = min(s.start_ns for s in steps), max(s.end_ns for s in steps)
        else:
            end_ns = _ns(end) if end else time.time_ns()
            begin_ns = _ns(start) if start else end_ns - HOUR_NS
        if begin_ns >= end_ns:
            raise click.UsageError("the begin is not before the end")
        try:
            view = get_server_view(conn, resource, server_metrics(), begin_ns, end_ns)
        except (KeyError, ValueError) as error:
            raise CommandError(str(error.args[0])) from None
    if view is None:
        raise CommandError(
            f"no server of {resource} was watched then: run crosswind agent --server {resource} on its servers"
        )
    return view


def _ns(time_: datetime) -> int:
    return int(time_.replace(tzinfo=UTC).timestamp()) * 10**9


def _document(view: ServerView, window: int, results: list[Explained]) -> dict[str, Any]:
    return {
        "resource": view.resource,
        "start_ns": view.first_slice * view.slice_ns,
        "window_s": window * view.slice_ns / 1e9,
        **{
            r.way: {
                "server_bytes": _numbers(r.server),
                "jobs_bytes": _numbers(r.jobs),
                "share": _numbers(r.share),
                "total_share": _number(r.total_share),
                "known_windows": int((r.server == r.server).sum()),
                "evidence": dict(r.evidence),
            }
            for r in results
        },
    }


def _numbers(values: Any) -> list[float | None]:  # noqa: ANN401 (an array)
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _print(view: ServerView, window: int, results: list[Explained]) -> None:
    """One line per window: servers, jobs, share; both ways."""
    rows = []
    for i in range(len(results[0].server)):
        at = datetime.fromtimestamp((view.first_slice + i * window) * view.slice_ns / 1e9, UTC)
        cells = [c for r in results for c in (_bytes(r.server[i]), _bytes(r.jobs[i]), _percent(r.share[i]))]
        rows.append((at.strftime("%Y-%m-%d %H:%M:%S"), *cells))
    header = ("UTC", *(f"{way} {what}" for way in ("read", "write") for what in ("servers", "jobs", "share")))
    print_table(header, rows, title=f"{view.resource}: {', '.join(view.servers)}")
    for r in results:
        known = int((r.server == r.server).sum())
        sources = ", ".join(f"{server} by {name or 'nothing'}" for server, name in r.evidence.items())
        click.echo(f"{r.way}: {_percent(r.total_share)} explained in {known} of {len(r.server)} windows ({sources})")


def _bytes(value: float) -> str:
    return "-" if math.isnan(value) else si(value, "B")


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.0f} %"
