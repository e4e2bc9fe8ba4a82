"""The database as the verbs address it: an option, and finding a job in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from crosswind.tools.errors import CommandError

if TYPE_CHECKING:
    from crosswind.profile.model import Profile

__all__ = ["DB_VARIABLE", "db_option", "job_from_database"]

DB_VARIABLE = "CROSSWIND_DB"


def db_option(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--db URL`, with CROSSWIND_DB as its default."""
    return click.option(
        "--db",
        metavar="URL",
        envvar=DB_VARIABLE,
        required=required,
        help=f"Database, such as sqlite:///crosswind.db; by default ${DB_VARIABLE}.",
    )


def job_from_database(url: str, job_id: str) -> Profile:
    """The newest step of the job of that id. CommandError: there is none."""
    from crosswind.db.connection import open_database, reading
    from crosswind.db.queries import find_jobs, get_profile

    with reading(open_database(url, create=False)) as connection:
        for job in find_jobs(connection, job_id):
            profile = get_profile(connection, job.key)
            if profile is not None:
                return profile
    raise CommandError(f"{job_id}: neither a file nor a job in the database")
