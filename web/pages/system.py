"""The system: nodes by time with the jobs on them, the shared resources below, events, and who loads what now."""

from __future__ import annotations

from typing import Any

import numpy as np
from flask import Blueprint, Response, abort, jsonify, render_template
from marshmallow import RAISE, Schema, fields, pre_load, validate
from numpy.typing import NDArray

from crosswind.db import queries, timespace
from crosswind.db.events import EVENT_KINDS, StoredEvent, stored_events
from crosswind.db.job_list import newest_data_ns
from crosswind.db.resources import PLACED
from crosswind.db.scope import JobScope
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.grid_metrics import GROUPS, METRICS, NodeMetric
from crosswind.web.identity import Role, viewer
from crosswind.web.identity.privacy import withheld_slices, withheld_words
from crosswind.web.joblist import Moment
from crosswind.web.loadsnow import loads_now
from crosswind.web.name_log import log_names
from crosswind.web.timespace import draw_grid, first_shown_ns, read_panels

__all__ = ["NAV", "SystemArguments", "blueprint"]

blueprint = Blueprint("system", __name__)
NAV = ("System", "system.index", 20)

SLICE_NS = 4_000_000_000  # of the background's points
DEFAULT_NS = 24 * 3600 * 10**9
LONGEST_NS = 7 * 86400 * 10**9
SHORTEST_NS = 60 * 10**9
MOST_PLACED = 6  # switches and partitions below the grid


class SystemArguments(Schema):
    """What the picture shows. from, to: UTC; first, last: only the nodes between these two."""

    class Meta:
        """Unknown parameters are refused."""

        unknown = RAISE

    since = Moment(data_key="from")
    until = Moment(data_key="to")
    metric = fields.String(load_default="lost", validate=validate.OneOf(list(METRICS)))
    first = fields.String(load_default="", validate=validate.Length(max=256))
    last = fields.String(load_default="", validate=validate.Length(max=256))

    @pre_load
    def _drop_empty(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        return {name: value for name, value in data.items() if value != ""}


class SystemPageArguments(SystemArguments):
    """The same, and which event the form is filled with."""

    event = fields.Integer(validate=validate.Range(1, (1 << 63) - 1))


@blueprint.get("/system")
def index() -> str:
    """The page; its picture is fetched by the page's script. Its jobs and events are in tables, too."""
    wanted = arguments_or_400(SystemPageArguments())
    conn, who = connection(), viewer()
    newest_ns = newest_data_ns(conn)
    begin_ns, end_ns = _range(wanted, newest_ns or 0)
    jobs = timespace.placed_jobs(conn, begin_ns, end_ns, who.scope)
    loads = loads_now(conn, newest_ns, SLICE_NS, who) if newest_ns else []
    loading = [load.job for of_resource in loads for load in of_resource.loads if load.job]
    log_names("system", (job.user for job in (*jobs, *loading)))
    events = _seen_events(begin_ns, end_ns)
    may_edit = who.role >= Role.SUPPORT
    chosen = next((one for one in events if one.id == wanted.get("event")), None) if may_edit else None
    return render_template(
        "system.html",
        wanted=wanted,
        newest_ns=newest_ns,
        begin_ns=begin_ns,
        end_ns=end_ns,
        spans=_SPANS,
        groups=GROUPS,
        metric=METRICS[wanted["metric"]],
        of_nodes=isinstance(METRICS[wanted["metric"]], NodeMetric),
        jobs=sorted(jobs, key=lambda job: -len(job.hosts) * (job.end_ns - job.start_ns))[:_LISTED],
        n_jobs=len(jobs),
        events=events,
        kinds=EVENT_KINDS,
        may_edit=may_edit,
        names_others=who.names_others,
        chosen=chosen,
        loads=loads,
        withheld_words=withheld_words(),
    )


_LISTED = 50  # jobs of the table below the picture
_SPANS = (("1 h", 3600), ("6 h", 6 * 3600), ("24 h", 24 * 3600), ("7 days", 7 * 86400))


@blueprint.get("/system/grid.json")
def grid() -> Response:
    """The picture for the page's script."""
    wanted = arguments_or_400(SystemArguments())
    conn, who = connection(), viewer()
    newest_ns = newest_data_ns(conn)
    if newest_ns is None:
        abort(404, description="No job has been collected yet.")
    begin_ns, end_ns = _range(wanted, newest_ns)
    metric = METRICS[wanted["metric"]]
    drawn = draw_grid(conn, begin_ns, end_ns, wanted["metric"], who, wanted["first"], wanted["last"])
    log_names("system", (job["user"] for job in drawn.jobs))
    withheld = _withheld(who.scope, begin_ns, end_ns)
    panels = read_panels(conn, begin_ns, end_ns, SLICE_NS, withheld)
    notes = drawn.notes + ([withheld_words()] if any(hidden.any() for hidden in withheld.values()) else [])
    return jsonify(
        drawn.to_json(metric)
        | {
            "from": begin_ns // 10**6,
            "to": end_ns // 10**6,
            "panels": [vars(panel) for panel in panels],
            "events": [_event_json(one) for one in _seen_events(begin_ns, end_ns)],
            "notes": notes,
        }
    )


def _range(wanted: dict[str, Any], newest_ns: int) -> tuple[int, int]:
    """The time that is shown; without a wish the last day. Whole slices, at least a minute, at most a week."""
    scope = viewer().scope
    end_ns = wanted["until"] * 10**6 if "until" in wanted else max(newest_ns, SHORTEST_NS)
    if "since" in wanted:
        begin_ns = wanted["since"] * 10**6
        if "until" not in wanted:
            end_ns = min(end_ns, begin_ns + LONGEST_NS) if begin_ns < end_ns else begin_ns + DEFAULT_NS
    else:
        begin_ns = first_shown_ns(connection(), end_ns, scope, DEFAULT_NS)
    begin_ns = min(max(begin_ns, end_ns - LONGEST_NS, 0), end_ns - SHORTEST_NS)
    return max(begin_ns // SLICE_NS, 0) * SLICE_NS, -(-end_ns // SLICE_NS) * SLICE_NS


def _withheld(scope: JobScope, begin_ns: int, end_ns: int) -> dict[str, NDArray[np.bool_]]:
    """The shared resources that are drawn, and in which slices they may not be."""
    conn = connection()
    placed = (
        timespace.shared_resources(conn, PLACED) if scope is JobScope.EVERYTHING else _own_resources(begin_ns, end_ns)
    )
    first, last = begin_ns // SLICE_NS, -(-end_ns // SLICE_NS)
    return {
        name: withheld_slices(conn, [name], first, last - first, SLICE_NS)
        for name in ("fs:net", "net", *placed[:MOST_PLACED])
    }


def _own_resources(begin_ns: int, end_ns: int) -> list[str]:
    """The switches and partitions that the viewer's own jobs used."""
    conn = connection()
    jobs = timespace.placed_jobs(conn, begin_ns, end_ns, viewer().scope)[:_LISTED]
    names = {name for job in jobs for name in queries.resources_of_job(conn, job.key)}
    return sorted(name for name in names if name.partition("@")[0] in PLACED)


def _seen_events(begin_ns: int, end_ns: int) -> list[StoredEvent]:
    """The events that the viewer may see: of the whole cluster and of shared resources; of nodes all for staff, else
    those of own jobs.
    """
    conn, who = connection(), viewer()
    events = stored_events(conn, begin_ns, end_ns)
    if who.names_others:
        return events
    own = {host for job in timespace.placed_jobs(conn, begin_ns, end_ns, who.scope) for host in job.hosts}
    return [one for one in events if one.event.place in own or one.event.place.partition("@")[0] in _SYSTEM_PLACES]


_SYSTEM_PLACES = frozenset({"", "fs:net", "net"})


def _event_json(stored: StoredEvent) -> dict[str, Any]:
    event = stored.event
    return {
        "kind": event.kind,
        "place": event.place,
        "begin": event.start_ns // 10**6,
        "end": None if event.end_ns is None else event.end_ns // 10**6,
        "note": event.note,
    }
