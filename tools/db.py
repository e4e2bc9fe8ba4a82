"""`crosswind db`: what a site does with a whole database. docs/operations.md, "The database"."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crosswind.tools.database import db_option
from crosswind.tools.moments import Age, Time, utc
from crosswind.tools.output import one_line, print_json, print_table, si, step
from crosswind.tools.topology import store_topology_file

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["db_command"]


@click.group("db")
def db_command() -> None:
    """Look after a database: size, upgrade, old detail, backup, space, events.

    \b
    Example: crosswind db prune --keep-detail 90d --db sqlite:///crosswind.db
    """


@db_command.command("info")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info_command(db: str, as_json: bool) -> None:
    """How large the database is, and what it holds."""
    from crosswind.db.upkeep import get_info

    info = get_info(_open(db))
    if as_json:
        print_json(dataclasses.asdict(info))
        return
    rows = [
        ["database", f"{info.backend}, schema {info.schema_version}"],
        ["size", f"{si(info.n_bytes, 'B')}, of which {si(info.free_bytes, 'B')} are free inside"],
        ["job steps", f"{info.jobs}, of which {info.jobs_with_detail} have their slices"],
        ["from, to", f"{utc(info.first_ns)}, {utc(info.last_ns)}"],
        ["nodes, events", f"{info.nodes}, {info.events}"],
    ]
    print_table(["", ""], rows + [[f"table {name}", si(size, "B")] for name, size in info.table_bytes.items()])


@db_command.command("upgrade")
@db_option(required=True)
def upgrade_command(db: str) -> None:
    """Bring the database to this version's schema, or make it. Opening it for loading does the same."""
    from crosswind.db.connection import open_database
    from crosswind.db.upkeep import get_info

    with step("upgrading the database"):
        info = get_info(open_database(db))
    click.echo(f"schema {info.schema_version}")


@db_command.command("prune")
@click.option("--keep-detail", type=Age(), required=True, help="Of jobs that ended within this time: 90d, 12w, 2y.")
@click.option("--dry-run", is_flag=True, help="Only say what would be let go.")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prune_command(keep_detail: int, dry_run: bool, db: str, as_json: bool) -> None:
    """Let go of the slices and segments of old jobs.

    Jobs, their totals and estimates, and the background stay for ever. Collectors may go on loading. SQLite reuses the
    freed space by itself; `crosswind db vacuum` gives it back to the disk.

    \b
    Example: crosswind db prune --keep-detail 90d --dry-run --db sqlite:///crosswind.db
    """
    from crosswind.db.connection import reading
    from crosswind.db.retention import detail_before, prune_detail

    engine = _open(db)
    before_ns = time.time_ns() - keep_detail
    with step("pruning the database"):
        if dry_run:
            with reading(engine) as conn:
                steps = [detail_before(conn, before_ns)]
        else:
            steps = list(prune_detail(engine, before_ns))
    jobs, n_bytes = sum(s.jobs for s in steps), sum(s.n_bytes for s in steps)
    partitions, before = sum(s.partitions for s in steps), utc(before_ns)
    if as_json:
        print_json({"jobs": jobs, "bytes": n_bytes, "partitions": partitions, "before": before, "dry_run": dry_run})
    else:
        verb = "would let go" if dry_run else "let go"
        what = f"{si(n_bytes, 'B')}, {partitions} partitions"
        click.echo(f"{verb} of the detail of {jobs} job steps that ended before {before}: {what}")


@db_command.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@db_option(required=True)
def backup_command(file: Path, db: str) -> None:
    """Copy an SQLite database to FILE, consistent, while collectors go on loading. PostgreSQL: use pg_dump -Fc.

    \b
    Example: crosswind db backup /backup/crosswind-2026-11-21.db --db sqlite:///crosswind.db
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    from crosswind.db.errors import DatabaseError
    from crosswind.db.upkeep import backup_sqlite

    try:
        url = make_url(db)
    except ArgumentError:
        raise DatabaseError("the database's URL cannot be read: write sqlite:///FILE") from None
    with step(f"copying to {file}"):
        backup_sqlite(url, file)
    click.echo(one_line(f"{file}: {si(file.stat().st_size, 'B')}"))


@db_command.command("vacuum")
@db_option(required=True)
def vacuum_command(db: str) -> None:
    """Give freed space back to the disk and refresh the planner's statistics.

    SQLite writes the whole file anew: it needs as much space again, and collectors wait meanwhile.
    """
    from crosswind.db.upkeep import get_info, vacuum

    engine = _open(db)
    before = get_info(engine).n_bytes
    with step("vacuuming the database"):
        vacuum(engine)
    click.echo(f"{si(before, 'B')} before, {si(get_info(engine).n_bytes, 'B')} now")


@db_command.command("topology")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--cluster", default="", help="Cluster, where several share the database.")
@db_option(required=True)
def topology_command(file: Path, cluster: str, db: str) -> None:
    """Say which switch each node is plugged into: FILE is Slurm's topology.conf, or written like it.

    Jobs loaded from now on are summed up per switch; those that are there stay where they were.

    \b
    Example: crosswind db topology /etc/slurm/topology.conf --db sqlite:///crosswind.db
    """
    click.echo(store_topology_file(_open(db), file, cluster))


@db_command.command("event")
@click.argument("kind", required=False)
@click.option("--from", "start_ns", type=Time(), help="Begin, UTC: 2026-11-21T08:00.")
@click.option("--to", "end_ns", type=Time(), help="End; left out: it has not ended.")
@click.option("--place", default="", help="Node or resource; left out: the whole cluster.")
@click.option("--cluster", default="", help="Cluster, where several share the database.")
@click.option("--note", default="", help="A line of text.")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def event_command(
    kind: str | None,
    start_ns: int | None,
    end_ns: int | None,
    place: str,
    cluster: str,
    note: str,
    db: str,
    as_json: bool,
) -> None:
    """Store an event that jobs may have felt, or list those between --from and --to.

    KIND is reboot, file_system, network, maintenance or other. The same kind, place and begin again changes the event.

    \b
    Example: crosswind db event maintenance --from 2026-11-21T08:00 --to 2026-11-21T12:00 --db sqlite:///crosswind.db
    """
    from crosswind.db.connection import reading
    from crosswind.db.events import Event, events_between, store_events

    engine = _open(db)
    if kind is not None:
        if start_ns is None:
            raise click.UsageError("an event needs its begin: --from TIME")
        store_events(engine, [Event(cluster, kind, place, start_ns, end_ns, "crosswind db event", note)])
        return
    with reading(engine) as conn:
        found = events_between(conn, start_ns or 0, end_ns or (1 << 63) - 1, cluster=cluster or None)
    if as_json:
        print_json([dataclasses.asdict(event) for event in found])
        return
    rows = [[e.kind, e.place or "(all)", utc(e.start_ns), utc(e.end_ns), e.source, e.note] for e in found]
    print_table(["kind", "place", "from", "to", "source", "note"], rows)


def _open(url: str) -> Engine:
    from crosswind.db.connection import open_database

    return open_database(url, create=False)
