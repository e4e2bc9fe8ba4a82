"""Series as Grafana and spreadsheets read them: plain arrays of {"time": ms, "value": number or null}."""

from __future__ import annotations

from typing import Any

import numpy as np
from flask import abort
from flask.views import MethodView
from numpy.typing import NDArray

from crosswind.analysis import SERIES, series_named
from crosswind.analysis.timeline import resample
from crosswind.db import queries, resources
from crosswind.db.queries import JobRow
from crosswind.web import schemas
from crosswind.web.database import connection
from crosswind.web.identity import viewer
from crosswind.web.identity.privacy import withheld_slices
from crosswind.web.jobdata import Background, read_background, read_series
from crosswind.web.joblookup import job_or_404
from crosswind.web.plots import resource_lines
from crosswind.web.rest import ApiBlueprint

__all__ = ["blueprint"]

blueprint = ApiBlueprint("series", __name__, url_prefix="/api/v1/series", description="Series for Grafana")

SLICE_NS = 4 * 10**9  # the system's series come in multiples of it
_MS = 10**6
_DAY_MS = 86_400_000
_MOST_DAYS = 31
_MOST_DAYS_COUNTED = 8  # where the jobs behind a sum have to be counted


@blueprint.route("/names")
@blueprint.token_scope("read:jobs")
class Names(MethodView):
    """Which series there are."""

    @blueprint.response(200, schemas.SeriesName(many=True))
    def get(self) -> list[dict[str, Any]]:
        """Every series by name, with its unit and the kinds of shared resource that have it."""
        return [
            {
                "name": each.name,
                "title": each.title,
                "unit": each.unit,
                "resources": [kind for kind in resources.FEEDS if set(each.metrics) <= set(resources.FEEDS[kind])],
            }
            for each in SERIES
        ]


@blueprint.route("/job")
@blueprint.token_scope("read:jobs")
class OfJob(MethodView):
    """One series of one job."""

    @blueprint.arguments(schemas.JobSeriesArguments, location="query")
    @blueprint.response(200, schemas.Point(many=True))
    @blueprint.alt_response(404, description="no such job")
    def get(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """The job's values between two times; empty where the series is zero throughout."""
        conn = connection()
        job = job_or_404(conn, arguments["job"])
        first, n = _slices_of(job, arguments)
        found = read_series(conn, job, first=first, n=n, names=[arguments["name"]]).get(arguments["name"])
        if found is None:
            return []
        return _points(
            getattr(found, arguments["band"]), (job.first_slice + first), job.slice_ns, arguments["max_points"]
        )


@blueprint.route("/background")
@blueprint.token_scope("read:background")
class OfBackground(MethodView):
    """What all other jobs did beside a job."""

    @blueprint.arguments(schemas.BackgroundSeriesArguments, location="query")
    @blueprint.response(200, schemas.Point(many=True))
    @blueprint.alt_response(404, description="no such job")
    def get(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """The sum over all other jobs on the job's resources of a kind; null where too few of them ran."""
        conn = connection()
        job = job_or_404(conn, arguments["job"])
        first, n = _slices_of(job, arguments)
        for background in read_background(conn, job, kinds=(arguments["resource"],)):
            others = _others(background, arguments["name"], job.slice_ns)[first : first + n]
            return _points(others, job.first_slice + first, job.slice_ns, arguments["max_points"])
        return []


@blueprint.route("/system")
@blueprint.token_scope("read:system")
class OfSystem(MethodView):
    """What all jobs did on a shared resource."""

    @blueprint.arguments(schemas.SystemSeriesArguments, location="query")
    @blueprint.response(200, schemas.Point(many=True))
    @blueprint.alt_response(404, description="no such resource")
    def get(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """The sum over all profiled jobs; null where too few of others ran. A resource of one node is for staff."""
        conn = connection()
        name, asks = arguments["resource"], viewer()
        if "@" in name and not asks.names_others:
            abort(404, description=f"There is no shared resource {name[:80]}.")
        first, n, slice_ns = _system_slices(arguments, counted=not asks.names_others)
        try:
            total = queries.get_background_sum(conn, [name], None, first, n, slice_ns)
        except KeyError:
            abort(404, description=f"There is no shared resource {name[:80]}.")
        hidden = withheld_slices(conn, [name], first, n, slice_ns)
        none = np.zeros(n, dtype=np.int64)
        shown = {metric: np.where(hidden, 0, values) for metric, values in total.items()}
        whole = Background(resources.split(name)[0], (name,), shown, dict.fromkeys(total, none), hidden)
        return _points(_others(whole, arguments["name"], slice_ns), first, slice_ns, min(n, arguments["max_points"]))


def _others(background: Background, name: str, slice_ns: int) -> NDArray[np.float64]:
    """What the others did, [slice]: 0 where they did nothing, nothing at all where the resource has no such series."""
    for series, others, _ in resource_lines(background, slice_ns):
        if series.name == name:
            return others
    if not set(series_named(name).metrics) <= background.total.keys():
        return np.zeros(0)
    return np.where(background.withheld, np.nan, 0.0)


def _slices_of(job: JobRow, arguments: dict[str, Any]) -> tuple[int, int]:
    """First (from the job's own) and number of the slices of a job between two times in ms."""
    first = arguments["from_ms"] * _MS // job.slice_ns - job.first_slice
    end = -(-arguments["to_ms"] * _MS // job.slice_ns) - job.first_slice
    first = min(max(first, 0), job.n_slices)
    return first, max(min(end, job.n_slices) - first, 0)


def _system_slices(arguments: dict[str, Any], *, counted: bool) -> tuple[int, int, int]:
    """First, number and length of slices that are no more than the points asked for."""
    span_ms = arguments["to_ms"] - arguments["from_ms"]
    most = _MOST_DAYS_COUNTED if counted else _MOST_DAYS
    if not 0 < span_ms <= most * _DAY_MS:
        abort(400, description=f"The time from `from` to `to` is to be more than nothing and at most {most} days.")
    whole = max(arguments["max_points"] - 1, 1)  # the first and the last may lie partly outside
    slice_ns = SLICE_NS * max(1, -(-span_ms * _MS // (SLICE_NS * whole)))
    first = arguments["from_ms"] * _MS // slice_ns
    return first, max(1, -(-arguments["to_ms"] * _MS // slice_ns) - first), slice_ns


def _points(values: NDArray[np.float64], first_slice: int, slice_ns: int, max_points: int) -> list[dict[str, Any]]:
    """At most so many points, each the mean of its slices, at the begin of the first; gaps are null."""
    bins = resample(values, max_points)
    times = (first_slice + bins.start.astype(np.int64)) * slice_ns // _MS
    means = [float(value) if np.isfinite(value) else None for value in bins.mean]
    return [{"time": time, "value": value} for time, value in zip(times.tolist(), means, strict=True)]
