"""The REST API under /api/v1, described at /api/v1/openapi.json. It answers from the same functions as the pages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from flask import Flask
from flask.views import MethodView
from flask_smorest import Api
from numpy.typing import NDArray

from crosswind.analysis import SERIES
from crosswind.analysis.timeline import resample
from crosswind.db import details
from crosswind.db.job_list import list_jobs
from crosswind.db.queries import JobRow
from crosswind.profile.summary import summarize_access
from crosswind.web import api_series, schemas
from crosswind.web.database import connection
from crosswind.web.identity import viewer
from crosswind.web.identity.privacy import withheld_words
from crosswind.web.jobdata import read_background, read_loss, read_series
from crosswind.web.joblist import filters_of
from crosswind.web.joblookup import job_or_404
from crosswind.web.name_log import log_names
from crosswind.web.plots import resource_lines
from crosswind.web.rest import OPENAPI, ApiBlueprint

__all__ = ["blueprint", "init_app"]


blueprint = ApiBlueprint("api", __name__, url_prefix="/api/v1", description="Jobs, their time lines, their background")


def init_app(app: Flask) -> Api:
    """Register the API and its description."""
    app.config.update(OPENAPI)
    rest = Api(app)
    for each in (blueprint, api_series.blueprint):
        rest.register_blueprint(each)
    return rest


@blueprint.route("/jobs")
@blueprint.token_scope("read:jobs")
class Jobs(MethodView):
    """The list of jobs."""

    @blueprint.arguments(schemas.JobListArguments, location="query")
    @blueprint.response(200, schemas.JobList)
    def get(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """One page of the job steps that match."""
        page, size = arguments["page"], arguments["size"]
        rows, total = list_jobs(
            connection(),
            scope=viewer().scope,
            order=arguments["order"],
            limit=size,
            offset=(page - 1) * size,
            **filters_of(arguments),
        )
        log_names("api/v1/jobs", (row.user for row in rows))
        return {"jobs": [dataclasses.asdict(row) for row in rows], "total": total, "page": page, "size": size}


@blueprint.route("/jobs/<int:key>")
@blueprint.token_scope("read:jobs")
class Job(MethodView):
    """One job."""

    @blueprint.response(200, schemas.JobAnswer)
    @blueprint.alt_response(404, description="no such job")
    def get(self, key: int) -> dict[str, Any]:
        """One job step."""
        return dataclasses.asdict(job_or_404(connection(), key))


@blueprint.route("/jobs/<int:key>/access")
@blueprint.token_scope("read:jobs")
class Access(MethodView):
    """How a job used its files."""

    @blueprint.response(200, schemas.AccessAnswer)
    @blueprint.alt_response(404, description="no such job")
    def get(self, key: int) -> dict[str, Any]:
        """Per class of file the pattern of the requests, their sizes, and how many files are shared."""
        conn = connection()
        job_or_404(conn, key)
        return {"classes": summarize_access(details.get_access(conn, key))}


@blueprint.route("/jobs/<int:key>/timeline")
@blueprint.token_scope("read:jobs")
class Timeline(MethodView):
    """A job over time."""

    @blueprint.arguments(schemas.TimelineArguments, location="query")
    @blueprint.response(200, schemas.TimelineAnswer)
    @blueprint.alt_response(404, description="no such job")
    def get(self, arguments: dict[str, int], key: int) -> dict[str, Any]:
        """The job's rates per slice, and when it lost time."""
        conn = connection()
        job = job_or_404(conn, key)
        found, loss, most = read_series(conn, job), read_loss(conn, job), arguments["max_points"]
        series = [
            {
                "name": each.name,
                "title": each.title,
                "panel": each.panel,
                "unit": each.unit,
                "metrics": each.metrics,
                **_points(found[each.name].total, most),
            }
            for each in SERIES
            if each.name in found
        ]
        lost = None if loss.per_slice_s is None else _sums(loss.per_slice_s, most)
        return _axis(job, most) | {"series": series, "lost_s": lost, "lost_unknown_because": loss.why_not}


@blueprint.route("/jobs/<int:key>/untrusted")
@blueprint.token_scope("read:jobs")
class Untrusted(MethodView):
    """When not to trust a measurement of a job."""

    @blueprint.response(200, schemas.UntrustedAnswer)
    @blueprint.alt_response(404, description="no such job")
    def get(self, key: int) -> dict[str, Any]:
        """The stretches of a job that interference hit, as they were found when it was loaded."""
        conn = connection()
        loss = read_loss(conn, job_or_404(conn, key))
        if loss.time is None:
            return {"intervals": None, "total": None, "unknown_because": loss.why_not}
        columns = {name: values.tolist() for name, values in vars(loss.time.stretches).items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {"intervals": rows, "total": loss.time.n_stretches, "unknown_because": ""}


@blueprint.route("/jobs/<int:key>/background")
@blueprint.token_scope("read:background")
class Background(MethodView):
    """The others over the time of a job."""

    @blueprint.arguments(schemas.TimelineArguments, location="query")
    @blueprint.response(200, schemas.BackgroundAnswer)
    @blueprint.alt_response(404, description="no such job")
    def get(self, arguments: dict[str, int], key: int) -> dict[str, Any]:
        """What all other jobs did, slice by slice, on the resources that this job used."""
        conn = connection()
        job, most = job_or_404(conn, key), arguments["max_points"]
        backgrounds = read_background(conn, job)
        series = [
            {
                "resource": background.kind,
                "resources": background.names,
                "name": each.name,
                "title": each.title,
                "unit": each.unit,
                "others": _points(others, most)["mean"],
                "own": _points(own, most)["mean"],
            }
            for background in backgrounds
            for each, others, own in resource_lines(background, job.slice_ns)
        ]
        hidden = any(background.withheld.any() for background in backgrounds)
        return _axis(job, most) | {
            "series": series,
            "unknown_because": "" if job.detail else _PRUNED,
            "withheld_because": withheld_words() if hidden else "",
        }


_PRUNED = "The slices of this job are older than the site keeps them, so its share of the load is not known."


def _axis(job: JobRow, max_points: int) -> dict[str, int]:
    return {
        "slice_ns": job.slice_ns,
        "first_slice": job.first_slice,
        "n_slices": job.n_slices,
        "slices_per_point": max(1, -(-job.n_slices // max_points)),
    }


def _points(values: NDArray[np.float64], max_points: int) -> dict[str, list[float | None]]:
    bins = resample(values, max_points)
    return {"mean": _numbers(bins.mean), "low": _numbers(bins.low), "high": _numbers(bins.high)}


def _sums(values: NDArray[np.float64], max_points: int) -> list[float]:
    starts = resample(values, max_points).start
    return np.add.reduceat(np.nan_to_num(values), starts).tolist() if starts.size else []


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]
