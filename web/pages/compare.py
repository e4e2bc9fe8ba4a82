"""Runs of one program side by side: clusters, medians, what each lost, what ran beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from marshmallow import RAISE, Schema, ValidationError, fields, validate
from sqlalchemy import Connection
from werkzeug.wrappers import Response

from crosswind.analysis.comparison import compare
from crosswind.analysis.comparison_result import Comparison
from crosswind.analysis.errors import InputError
from crosswind.db import queries
from crosswind.db.details import has_segments
from crosswind.db.job_list import list_jobs
from crosswind.db.queries import JobRow
from crosswind.web.arguments import arguments_or_400
from crosswind.web.comparison_marks import legend_path, picture_of
from crosswind.web.database import connection
from crosswind.web.identity import viewer
from crosswind.web.joblookup import job_or_404
from crosswind.web.lookup_answer import step_name
from crosswind.web.memory import remembered_of_jobs
from crosswind.web.verdict import verdict_of

__all__ = ["NAV", "blueprint"]

blueprint = Blueprint("compare", __name__)
NAV = ("Compare", "compare.index", 30)

MOST_RUNS = 8
MOST_CELLS = 3_000_000  # segments times ranks of all runs: a comparison of that many takes seconds
CLUSTERS_LISTED = 20
_SEARCHED = 300  # newest steps of a command that are looked through for its other runs


class JobKeys(fields.Field):
    """Keys of jobs, separated by commas."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[int]:  # noqa: ANN401
        parts = [part for part in str(value)[:400].split(",") if part]
        if not all(part.isdecimal() and len(part) < 19 for part in parts):
            raise ValidationError("write the keys of jobs with commas between them, 12,15,16.")
        keys = list(dict.fromkeys(map(int, parts)))
        if len(keys) > MOST_RUNS:
            raise ValidationError(f"at most {MOST_RUNS} runs at once.")
        return keys


class CompareArguments(Schema):
    """Which runs; or `like`: the runs of the same command as this one."""

    class Meta:
        """Unknown parameters are refused."""

        unknown = RAISE

    jobs = JobKeys(load_default=list)
    like = fields.Integer(validate=validate.Range(1, (1 << 63) - 1))


@dataclass(frozen=True)
class _Compared:
    """The runs that could be compared, in this order, and why others could not: (run, reason)."""

    jobs: list[JobRow]
    found: Comparison | None
    left_out: list[tuple[JobRow, str]]


@blueprint.get("/compare")
def index() -> str | Response:
    """The comparison, or how to choose runs."""
    if chosen := request.args.getlist("job"):  # the list of jobs, without its script
        return redirect(url_for("compare.index", jobs=",".join(chosen)[:400]))
    wanted = arguments_or_400(CompareArguments())
    conn = connection()
    like = job_or_404(conn, wanted["like"]) if "like" in wanted else None
    if like is not None:
        runs = _runs_like(conn, like)
        if len(runs) > 1:
            return redirect(url_for("compare.index", jobs=",".join(str(job.key) for job in runs)))
    jobs = [job_or_404(conn, key) for key in wanted["jobs"]]
    compared = _compare(conn, jobs)
    names = _names(compared.jobs)
    found = compared.found
    return render_template(
        "compare.html",
        jobs=compared.jobs,
        names=names,
        like=like or (jobs[0] if jobs else None),
        n_chosen=len(jobs),
        found=found,
        sentence=found.sentence(names) if found else "",
        picture=picture_of(found, names) if found else None,
        legend_path=legend_path,
        clusters=found.told_clusters(CLUSTERS_LISTED).tolist() if found else [],
        left_out=compared.left_out,
        verdicts=[verdict_of(job) for job in compared.jobs],
        one_command=len({job.command for job in compared.jobs}) < 2,
        most=MOST_RUNS,
        without=lambda key: ",".join(str(job.key) for job in jobs if job.key != key),
    )


def _runs_like(conn: Connection, like: JobRow) -> list[JobRow]:
    """The newest runs of the same user, command and number of ranks that have segments, this one among them."""
    steps, _ = list_jobs(conn, scope=viewer().scope, user=like.user, command=like.command, limit=_SEARCHED)
    same = [
        job
        for job in steps
        if (job.command, job.ranks) == (like.command, like.ranks)
        and job.key != like.key
        and has_segments(conn, job.key)
    ]
    return [like, *same[: MOST_RUNS - 1]]


def _compare(conn: Connection, jobs: list[JobRow]) -> _Compared:
    """Compare those that can be."""
    kept: list[JobRow] = []
    left_out = []
    cells = 0
    for job in jobs:
        size = queries.count_segment_cells(conn, job.key)
        if not size:
            left_out.append((job, "it has no segments between global collectives, or they were pruned"))
        elif cells + size > MOST_CELLS:
            left_out.append((job, "with it there would be too many segments for a page: use crosswind compare"))
        else:
            cells += size
            kept.append(job)
    if len(kept) < 2:
        return _Compared(kept, None, left_out)
    contents = tuple((job.key, queries.get_digest(conn, job.key)) for job in kept)
    try:
        found = remembered_of_jobs(lambda: _comparison(conn, kept), "comparison", contents)
    except InputError as error:
        return _Compared([], None, [*left_out, *((job, str(error)) for job in kept)])
    return _Compared(kept, found, left_out)


def _comparison(conn: Connection, jobs: list[JobRow]) -> Comparison:
    """Of runs that have segments, without what the estimates say of each of them. Raises InputError."""
    tables = [table for job in jobs if (table := queries.get_segments(conn, job.key)) is not None]
    found = compare(tables)
    return replace(found, estimates=tuple(estimate.without_segments() for estimate in found.estimates))


def _names(jobs: list[JobRow]) -> list[str]:
    return [step_name(job) for job in jobs]
