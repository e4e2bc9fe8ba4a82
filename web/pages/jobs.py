"""The list of jobs: sort, filter, page; the address holds all of it."""

from __future__ import annotations

from flask import Blueprint, render_template

from crosswind.db import details, queries
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.schemas import JobListArguments
from crosswind.web.verdict import verdict_of

__all__ = ["NAV", "blueprint"]

blueprint = Blueprint("jobs", __name__)
NAV = ("Jobs", "jobs.index", 10)

# Heading, what to sort by ("" where the database cannot), direction of the first click, class of the cells.
COLUMNS = (
    ("Job", "id", "", "id"),
    ("User", "user", "", "user"),
    ("Command", "command", "", "command"),
    ("Hosts", "", "", "number"),
    ("Ranks", "ranks", "-", "number"),
    ("Start", "start", "-", "time"),
    ("Duration", "duration", "-", "number"),
    ("State", "", "", "state"),
    ("Interference", "interference", "-", "interference"),
    ("I/O volume", "", "", "number"),
)


@blueprint.get("/")
def index() -> str:
    """One page of jobs."""
    wanted = arguments_or_400(JobListArguments())
    conn = connection()
    rows, total = queries.list_jobs(
        conn,
        user=wanted.get("user") or None,
        command=wanted.get("command") or None,
        order=wanted["order"],
        limit=wanted["size"],
        offset=(wanted["page"] - 1) * wanted["size"],
    )
    volumes = details.get_io_volumes(conn, [row.key for row in rows])
    pages = max(1, -(-total // wanted["size"]))
    return render_template(
        "jobs.html",
        jobs=rows,
        verdicts={row.key: verdict_of(row) for row in rows},
        volumes=volumes,
        total=total,
        pages=pages,
        wanted=wanted,
        columns=COLUMNS,
    )
