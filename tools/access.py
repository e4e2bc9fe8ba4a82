"""`crosswind access`: who looked at whose jobs. docs/dashboard/access.md."""

from __future__ import annotations

import dataclasses
import time

import click

from crosswind.tools.database import db_option
from crosswind.tools.moments import Age, utc
from crosswind.tools.output import print_json, print_table

__all__ = ["access_command"]


@click.group("access")
def access_command() -> None:
    """Read the log of who opened a job of somebody else on the dashboard, and shorten it.

    \b
    Example: crosswind access log --last 7d --db sqlite:///crosswind.db
    """


@access_command.command("log")
@click.option("--viewer", help="Only what this user looked at.")
@click.option("--subject", help="Only who looked at this user's jobs, or read the name in a list.")
@click.option("--last", type=Age(), default="30d", show_default=True, help="Of this time: 24h, 30d.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Lines at most.")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log_command(viewer: str | None, subject: str | None, last: int, limit: int, db: str, as_json: bool) -> None:
    """Print the log, the newest first: looks and lists (one line in ten minutes each), tokens made and revoked."""
    from crosswind.db.audit import access_lines
    from crosswind.db.connection import open_database, reading

    since_ns = max(time.time_ns() - last, 0)
    with reading(open_database(db, create=False)) as conn:
        lines, total = access_lines(conn, viewer=viewer, subject=subject, since_ns=since_ns, limit=limit)
    if as_json:
        print_json({"total": total, "lines": [dataclasses.asdict(line) for line in lines]})
        return
    rows = [[utc(e.at_ns), e.viewer, e.role, e.action, e.subject, e.detail, e.address] for e in lines]
    print_table(["when (UTC)", "who", "as", "what", "whose", "which", "from"], rows)
    if total > len(lines):
        click.echo(f"{total - len(lines)} older lines are not shown: --limit", err=True)


@access_command.command("forget")
@click.option("--older-than", type=Age(), required=True, help="Delete what is older: 1y.")
@db_option(required=True)
def forget_command(older_than: int, db: str) -> None:
    """Delete old lines, as the site's rules on personal data ask."""
    from crosswind.db.audit import forget_lines
    from crosswind.db.connection import open_database

    gone = forget_lines(open_database(db, create=False), time.time_ns() - older_than)
    click.echo(f"{gone} lines deleted")
