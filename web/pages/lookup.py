"""The lookup: what rose when a job lost time, whose time it may have cost, and what rose on a resource."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from flask import Blueprint, Response, abort, jsonify, render_template
from marshmallow import fields, pre_load, validate
from sqlalchemy import Connection

from crosswind.db import queries
from crosswind.db.job_list import newest_data_ns
from crosswind.db.loads import keys_in_scope
from crosswind.db.queries import JobRow
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.figures import SIZES, Axis
from crosswind.web.identity import settings, viewer
from crosswind.web.identity.privacy import too_few, withheld_of_nodes, withheld_slices, withheld_words
from crosswind.web.joblist import Moment
from crosswind.web.joblookup import job_or_404
from crosswind.web.lookup import Sight, read_lookup
from crosswind.web.lookup_answer import Lookup, step_name
from crosswind.web.lookup_figure import load_figure, lookup_figure
from crosswind.web.lookup_table import load_rows, lookup_rows
from crosswind.web.name_log import log_names
from crosswind.web.other_side import read_other_side
from crosswind.web.palette import THEMES
from crosswind.web.range_lookup import MAX_RANGE_NS, RangeLookup, loads_on, read_range
from crosswind.web.resource_words import on_resource
from crosswind.web.schemas import Arguments

__all__ = ["NAV", "blueprint"]

NAV = ("Lookup", "lookup.index", 40)

blueprint = Blueprint("lookup", __name__)

_HOUR_NS = 3600 * 10**9
_RESOURCES = ("fs:net", "net")  # that the whole system shares: offered by name


class _SpanArguments(Arguments):
    """A stretch of time; a form sends its empty fields, too."""

    from_ = Moment(data_key="from", load_default=None)
    to = Moment(load_default=None)

    @pre_load
    def _drop_empty(self, data: Mapping[str, Any], **_kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        return {name: value for name, value in data.items() if value != ""}


class LookupArguments(_SpanArguments):
    """A stretch of the job, a resource, and which line is drawn."""

    resource = fields.String(load_default=None, validate=validate.Length(max=512))
    show = fields.Integer(load_default=None, validate=validate.Range(0, 1000))


class LookupFigureArguments(LookupArguments):
    """The same, and how to draw it."""

    theme = fields.String(load_default="light", validate=validate.OneOf(list(THEMES)))
    size = fields.String(load_default="wide", validate=validate.OneOf(list(SIZES)))


class RangeArguments(_SpanArguments):
    """A range of time, a resource, and which kind of load."""

    resource = fields.String(load_default=None, validate=validate.Length(max=512))
    kind = fields.String(data_key="load", load_default=None, validate=validate.Length(max=64))


class RangeFigureArguments(RangeArguments):
    """The same, and how to draw it."""

    theme = fields.String(load_default="light", validate=validate.OneOf(list(THEMES)))
    size = fields.String(load_default="wide", validate=validate.OneOf(list(SIZES)))


@blueprint.get("/jobs/<int:key>/lookup")
def page(key: int) -> str:
    """The ranked list of what ran beside a job."""
    wanted = arguments_or_400(LookupArguments())
    conn = connection()
    job = job_or_404(conn, key)
    found = _lookup(conn, job, wanted)
    axis, chosen = Axis(job.first_slice, job.n_slices, job.slice_ns), found.chosen(wanted["show"])
    return render_template(
        "lookup.html",
        job=job,
        lookup=found,
        stretch=found.window and axis,
        chosen=chosen,
        rows=lookup_rows(axis, found, chosen),
        withheld=None if viewer().names_others else withheld_words(),
    )


@blueprint.get("/jobs/<int:key>/lookup.json")
def document(key: int) -> Response:
    """The same as JSON."""
    wanted = arguments_or_400(LookupArguments())
    conn = connection()
    return jsonify(_lookup(conn, job_or_404(conn, key), wanted).to_json())


@blueprint.get("/jobs/<int:key>/lookup/figure.json")
def figure(key: int) -> Response:
    """The job's dents over the chosen load, as plotly.js takes them."""
    wanted = arguments_or_400(LookupFigureArguments())
    conn = connection()
    job = job_or_404(conn, key)
    found = _lookup(conn, job, wanted)
    chosen = found.chosen(wanted["show"])
    return jsonify(lookup_figure(job, found, chosen, theme=wanted["theme"], size=wanted["size"]))


@blueprint.get("/jobs/<int:key>/lookup/other-side.json")
def other_side(key: int) -> Response:
    """With how many others' lost time this job coincided; their names where they may be known."""
    conn = connection()
    job = job_or_404(conn, key)
    found = read_other_side(conn, job, viewer().scope)
    log_names(f"other side of {step_name(job)}", (victim.job.user for victim in found.named))
    return jsonify(found.to_json())


@blueprint.get("/lookup")
def index() -> str:
    """What rose on a resource in a range of time."""
    wanted = arguments_or_400(RangeArguments())
    found = _range(wanted)
    return render_template(
        "lookup_range.html",
        found=found,
        loads=tuple(loads_on(found.resource)),
        resources=_RESOURCES,
        wanted=wanted,
        from_text=_minute(wanted["from_"]),
        to_text=_minute(wanted["to"]),
        rows=load_rows(found.axis, found.total),
        withheld=None if viewer().names_others else withheld_words(),
    )


@blueprint.get("/lookup.json")
def range_document() -> Response:
    """The same as JSON."""
    return jsonify(_range(arguments_or_400(RangeArguments())).to_json())


@blueprint.get("/lookup/figure.json")
def range_figure() -> Response:
    """The load over the range, as plotly.js takes it."""
    wanted = arguments_or_400(RangeFigureArguments())
    found = _range(wanted)
    title = f"All profiled jobs: {found.load.title} {on_resource(found.resource)}"
    return jsonify(
        load_figure(title, found.load.unit, found.total, found.axis, theme=wanted["theme"], size=wanted["size"])
    )


def _lookup(conn: Connection, job: JobRow, wanted: dict[str, Any]) -> Lookup:
    window, resource = _window(job, wanted), wanted["resource"] or None
    found = read_lookup(conn, job, window=window, resource=resource, sight=_sight(conn))
    log_names(f"lookup of {step_name(job)}", (line.job.user for line in found.lines if line.job))
    return found


def _sight(conn: Connection) -> Sight:
    least = 0 if viewer().names_others else settings().privacy.background_jobs
    return Sight(viewer().scope, partial(withheld_slices, conn), partial(withheld_of_nodes, conn), too_few, least)


def _window(job: JobRow, wanted: dict[str, Any]) -> tuple[int, int] | None:
    """The slices of the job that the times cover; None: no times, or none of its slices."""
    if wanted["from_"] is None or wanted["to"] is None:
        return None
    begin = max(wanted["from_"] * 10**6 // job.slice_ns - job.first_slice, 0)
    end = min(-(-wanted["to"] * 10**6 // job.slice_ns) - job.first_slice, job.n_slices)
    return (begin, end) if begin < end and (begin, end) != (0, job.n_slices) else None


def _busy_resource(conn: Connection, start_ns: int, end_ns: int) -> str:
    """The first of the resources that all share which a job that may be seen used; where none did, the first."""
    for name in _RESOURCES:
        jobs = queries.jobs_overlapping(conn, start_ns, end_ns, name)
        if keys_in_scope(conn, viewer().scope, {job.key for job in jobs}):
            return name
    return _RESOURCES[0]


def _last_hour(conn: Connection) -> tuple[int, int]:
    """[begin, end) of the last hour in which a job ran, from when the first of those that may be seen was there."""
    end_ns = newest_data_ns(conn) or time.time_ns()
    begin_ns = end_ns - _HOUR_NS
    jobs = queries.jobs_overlapping(conn, begin_ns, end_ns)
    seen = keys_in_scope(conn, viewer().scope, {job.key for job in jobs})
    return max(begin_ns, min((job.start_ns for job in jobs if job.key in seen), default=begin_ns)), end_ns


def _minute(moment_ms: int) -> str:
    """As `Moment` reads it; seconds are kept."""
    return f"{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}"


def _range(wanted: dict[str, Any]) -> RangeLookup:
    """The range that was asked for, by default the last hour in which a job ran; fills `wanted` in."""
    conn = connection()
    if wanted["from_"] is None or wanted["to"] is None:
        begin_ns, end_ns = _last_hour(conn)
        wanted["from_"], wanted["to"] = begin_ns // 10**6, -(-end_ns // 10**6)
    start_ns, end_ns = wanted["from_"] * 10**6, wanted["to"] * 10**6
    if not start_ns < end_ns <= start_ns + MAX_RANGE_NS:
        abort(400, description="A range ends after it begins, and within a day.")
    wanted["resource"] = wanted["resource"] or _busy_resource(conn, start_ns, end_ns)
    try:
        loads = loads_on(wanted["resource"])
    except KeyError:
        abort(400, description=f"No shared resource is named {wanted['resource'][:80]!r}.")
    wanted["kind"] = wanted["kind"] or next(iter(loads))
    if wanted["kind"] not in loads:
        abort(400, description=f"{wanted['resource'][:80]} has no such load: choose one of {', '.join(loads)}.")
    found = read_range(conn, wanted["resource"], loads[wanted["kind"]], start_ns, end_ns, _sight(conn))
    log_names(f"lookup of {found.resource}", (line.job.user for line in found.lines))
    return found
