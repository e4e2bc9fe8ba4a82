"""The list of jobs: every column filters and sorts, pages, CSV; the address holds all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request
from marshmallow import fields, validate
from sqlalchemy import Engine

from crosswind.analysis.screening import PATTERNS, Finding
from crosswind.db.batch import STATES
from crosswind.db.connection import reading
from crosswind.db.job_list import (
    JobLine,
    all_job_lines,
    distinct_values,
    job_lines,
    job_lines_by_key,
    newest_data_ns,
    users_listed,
)
from crosswind.db.scope import JobScope
from crosswind.web.arguments import arguments_or_400
from crosswind.web.csv_answer import csv_answer
from crosswind.web.database import connection, engine
from crosswind.web.identity import viewer
from crosswind.web.joblist import (
    CLASSES,
    STEP_STATES,
    DisturbingJobs,
    JobFilterArguments,
    filters_of,
    most_disturbing,
)
from crosswind.web.name_log import MOST_USERS, log_names
from crosswind.web.text import utc_iso
from crosswind.web.verdict import verdict_of

__all__ = ["NAV", "blueprint"]

blueprint = Blueprint("jobs", __name__)
NAV = ("Jobs", "jobs.index", 10)

MAX_PAGE = 200
MAX_CSV = 100_000  # lines of one file

# Heading, what to sort by, direction of the first click, class of the cells.
COLUMNS = (
    ("Job", "id", "", "id"),
    ("User", "user", "", "user"),
    ("Command", "command", "", "command"),
    ("Account", "account", "", "account"),
    ("Partition", "partition", "", "partition"),
    ("Nodes", "nodes", "-", "number"),
    ("Ranks", "ranks", "-", "number"),
    ("Start, UTC", "start", "-", "time"),
    ("Duration", "duration", "-", "number"),
    ("State", "state", "", "state"),
    ("Interference", "interference", "-", "interference"),
    ("I/O volume", "volume", "-", "number"),
    ("I/O pattern", "pattern", "-", "pattern"),
    ("Idle", "idle", "-", "number"),
)
# Names of the fields of the form that are no text: what is shown of an active filter.
FILTER_LABELS = {
    "job": "job contains", "user": "user", "command": "command contains", "account": "account",
    "partition": "partition", "state": "state", "nodes_from": "nodes ≥", "nodes_to": "nodes ≤",
    "ranks_from": "ranks ≥", "ranks_to": "ranks ≤", "from": "ran after", "to": "ran before",
    "duration_from": "duration ≥", "duration_to": "duration ≤", "interference_from": "interference % ≥",
    "interference_to": "interference % ≤", "class": "class", "volume_from": "I/O volume ≥",
    "volume_to": "I/O volume ≤", "pattern": "I/O pattern", "idle_from": "idle % ≥", "idle_to": "idle % ≤",
    "show": "shown",
}  # fmt: skip


class JobListArguments(JobFilterArguments):
    """Which jobs, and which page of them. by: the ranking instead of an order."""

    by = fields.String(validate=validate.OneOf(["disturbing"]))
    page = fields.Integer(load_default=1, validate=validate.Range(1, 1_000_000))
    size = fields.Integer(load_default=50, validate=validate.Range(1, MAX_PAGE))


@dataclass(frozen=True)
class _Listing:
    """One page of lines, how many there are, and the ranking that they are in."""

    lines: list[JobLine]
    total: int
    ranking: DisturbingJobs | None = None


@blueprint.get("/")
def index() -> str:
    """One page of jobs."""
    wanted = arguments_or_400(JobListArguments())
    conn, newest_ns = connection(), newest_data_ns(connection())
    found = _ranked(wanted, newest_ns or 0) if wanted.get("by") else _listed(wanted)
    log_names("jobs", (line.user for line in found.lines))
    scope = viewer().scope
    return render_template(
        "jobs.html",
        lines=found.lines,
        total=found.total,
        pages=max(1, -(-found.total // wanted["size"])),
        verdicts={line.key: verdict_of(line.step) for line in found.lines if line.step},
        findings={line.key: _findings(line) for line in found.lines},
        ranking=found.ranking,
        disturbing={one.key: one for one in found.ranking.jobs} if found.ranking else {},
        wanted=wanted,
        columns=COLUMNS,
        labels=FILTER_LABELS,
        newest_ns=newest_ns,
        accounts=distinct_values(conn, "account", scope),
        partitions=distinct_values(conn, "partition", scope),
        states=(*STEP_STATES, *STATES),
        classes=tuple(CLASSES),
        patterns=PATTERNS,
        csv_query=_csv_query,
        names_others=viewer().names_others,
    )


@blueprint.get("/jobs.csv")
def as_csv() -> Response:
    """The whole filtered list as CSV, streamed; of a very long one the first MAX_CSV lines."""
    wanted = arguments_or_400(JobFilterArguments())
    users = users_listed(connection(), MOST_USERS, scope=viewer().scope, shown=wanted["shown"], **filters_of(wanted))
    log_names("jobs.csv", users)
    return csv_answer("crosswind-jobs", _csv(engine(), viewer().scope, wanted))


def _csv_query() -> str:
    """The query of this page without what concerns a page alone."""
    kept = {name: value for name, value in request.args.items() if value and name not in ("page", "size", "by")}
    return f"?{urlencode(kept)}" if kept else ""


def _listed(wanted: dict[str, Any]) -> _Listing:
    lines, total = job_lines(
        connection(),
        scope=viewer().scope,
        shown=wanted["shown"],
        order=wanted["order"],
        limit=wanted["size"],
        offset=(wanted["page"] - 1) * wanted["size"],
        **filters_of(wanted),
    )
    return _Listing(lines, total)


def _ranked(wanted: dict[str, Any], newest_ns: int) -> _Listing:
    """The most disturbing of the jobs that match."""
    conn = connection()
    ranking = most_disturbing(conn, newest_ns, wanted, viewer())
    by_rank = {one.key: rank for rank, one in enumerate(ranking.jobs)}
    matching, total = job_lines(
        conn, scope=viewer().scope, limit=len(by_rank), **filters_of(wanted) | {"keys": list(by_rank)}
    )
    keys = sorted((line.key for line in matching if line.key is not None), key=by_rank.__getitem__)
    begin = (wanted["page"] - 1) * wanted["size"]
    return _Listing(job_lines_by_key(conn, keys[begin : begin + wanted["size"]], viewer().scope), total, ranking)


def _findings(line: JobLine) -> list[Finding]:
    """The suspicious patterns of a line, the worst first."""
    found = [
        Finding(name, line.rates[name], pattern.unit, line.rates[name] / pattern.threshold)
        for name, pattern in PATTERNS.items()
        if line.rates.get(name, 0.0) >= pattern.threshold
    ]
    return sorted(found, key=lambda one: -one.score)


_CSV_COLUMNS = (
    "job", "step", "user", "command", "account", "partition", "nodes", "ranks", "start", "end", "duration_s", "state",
    "batch_state", "interference_pct", "io_bytes", "io_patterns", "idle_share", "profiled",
)  # fmt: skip


def _csv(database: Engine, scope: JobScope, wanted: dict[str, Any]) -> Iterator[Sequence[object]]:
    """The lines. They outlive the request's own transaction, so they have one of their own."""
    yield _CSV_COLUMNS
    with reading(database) as conn:
        for line in all_job_lines(
            conn, MAX_CSV, scope=scope, shown=wanted["shown"], order=wanted["order"], **filters_of(wanted)
        ):
            yield _csv_row(line)


def _csv_row(line: JobLine) -> tuple[object, ...]:
    lasted = None if line.start_ns is None or line.end_ns is None else (line.end_ns - line.start_ns) / 1e9
    return (
        line.job_id, line.step_id, line.user, line.command, line.account, line.partition, line.n_hosts, line.ranks,
        utc_iso(line.start_ns), utc_iso(line.end_ns), lasted, line.state, line.batch_state, line.interference_pct,
        line.fs_bytes, " ".join(one.name.replace(" ", "-") for one in _findings(line)), line.idle_share,
        "yes" if line.key is not None else "no",
    )  # fmt: skip
