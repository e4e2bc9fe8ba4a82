"""Parameters and answers of the pages and the API, each bounded. An unknown or impossible parameter is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, fields, pre_load, validate

from crosswind.analysis import SERIES
from crosswind.db import resources
from crosswind.web.joblist import JobFilterArguments

__all__ = [
    "AccessAnswer", "Arguments", "BackgroundAnswer", "BackgroundSeriesArguments", "FormArguments",
    "JobAnswer", "JobList", "JobListArguments", "JobSeriesArguments", "Point", "SeriesName",
    "SystemSeriesArguments", "TimelineAnswer", "TimelineArguments", "UntrustedAnswer",
]  # fmt: skip

MAX_PAGE = 200
MAX_POINTS = 20_000


class Arguments(Schema):
    """Parameters of an address; unknown ones are refused."""

    class Meta:
        """marshmallow's own settings."""

        unknown = RAISE


class FormArguments(Arguments):
    """Fields of a form, with the one that every form has."""

    csrf_token = fields.String()


class JobListArguments(JobFilterArguments):
    """Which jobs, in which order, which page of them: the filters of the page, of profiled steps. Nothing is empty."""

    class Meta(JobFilterArguments.Meta):
        """marshmallow's own settings."""

        exclude = ("shown",)

    page = fields.Integer(load_default=1, validate=validate.Range(1, 1_000_000))
    size = fields.Integer(
        load_default=50, validate=validate.Range(1, MAX_PAGE), metadata={"description": "jobs a page"}
    )

    @pre_load
    def _drop_empty(self, data: Mapping[str, Any], **_kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        """Programs send no empty fields of a form."""
        return dict(data)


class TimelineArguments(Arguments):
    """How many points at most; where there are more slices, points are bins of them."""

    max_points = fields.Integer(load_default=2000, validate=validate.Range(1, MAX_POINTS))


_SERIES_NAME = validate.OneOf([series.name for series in SERIES])
_LAST_MS = 4_000_000_000_000  # in the year 2096


class _SeriesArguments(Arguments):
    """Which series, from when to when, how many points at most."""

    name = fields.String(required=True, validate=_SERIES_NAME, metadata={"description": "as /series/names has it"})
    from_ms = fields.Integer(
        load_default=0, data_key="from", validate=validate.Range(0, _LAST_MS), metadata={"description": "UTC, ms"}
    )
    to_ms = fields.Integer(
        load_default=_LAST_MS, data_key="to", validate=validate.Range(0, _LAST_MS), metadata={"description": "UTC, ms"}
    )
    max_points = fields.Integer(load_default=1000, validate=validate.Range(1, MAX_POINTS))


class JobSeriesArguments(_SeriesArguments):
    """The same of one job."""

    job = fields.Integer(required=True, validate=validate.Range(0), metadata={"description": "key of the job"})
    band = fields.String(
        load_default="total",
        validate=validate.OneOf(["total", "low", "median", "high"]),
        metadata={"description": "of the whole job, or of its smallest, median or largest rank"},
    )


class BackgroundSeriesArguments(_SeriesArguments):
    """The same of the others beside one job."""

    job = fields.Integer(required=True, validate=validate.Range(0), metadata={"description": "key of the job"})
    resource = fields.String(required=True, validate=validate.OneOf(list(resources.FEEDS)))


class SystemSeriesArguments(_SeriesArguments):
    """The same of a shared resource; `from` and `to` are needed."""

    resource = fields.String(
        required=True, validate=validate.Length(1, 256), metadata={"description": "such as fs:net, or cpu@NODE"}
    )
    from_ms = fields.Integer(required=True, data_key="from", validate=validate.Range(0, _LAST_MS))
    to_ms = fields.Integer(required=True, data_key="to", validate=validate.Range(0, _LAST_MS))


class SeriesName(Schema):
    """One series that can be asked for."""

    name = fields.String(required=True)
    title = fields.String(required=True)
    unit = fields.String(required=True)
    resources = fields.List(fields.String(), required=True, metadata={"description": "kinds of shared resource"})


class Point(Schema):
    """One point."""

    time = fields.Integer(required=True, metadata={"description": "its begin, UTC in ms"})
    value = fields.Float(required=True, allow_none=True, metadata={"description": "null: a gap"})


class JobAnswer(Schema):
    """One job step. Times are UTC nanoseconds; estimate is the document of `estimate --json`, or null."""

    key = fields.Integer(required=True)
    cluster = fields.String(required=True)
    job_id = fields.String(required=True)
    step = fields.String(required=True)
    user = fields.String(required=True)
    command = fields.String(required=True)
    hosts = fields.List(fields.String(), required=True)
    ranks = fields.Integer(required=True)
    n_processes = fields.Integer(required=True)
    start_ns = fields.Integer(required=True)
    end_ns = fields.Integer(required=True)
    mpi = fields.String(required=True)
    state = fields.String(
        required=True,
        metadata={"description": "finished, killed, running; lost: it ran when its nodes were last heard of"},
    )
    slice_ns = fields.Integer(required=True)
    first_slice = fields.Integer(required=True)
    n_slices = fields.Integer(required=True)
    estimate = fields.Dict(keys=fields.String(), allow_none=True)
    lost = fields.Dict(keys=fields.String(), values=fields.Integer())


class JobList(Schema):
    """One page of jobs."""

    jobs = fields.List(fields.Nested(JobAnswer), required=True)
    total = fields.Integer(required=True, metadata={"description": "jobs that match, on all pages"})
    page = fields.Integer(required=True)
    size = fields.Integer(required=True)


def _numbers() -> fields.List:
    return fields.List(fields.Float(allow_none=True), metadata={"description": "one value a point; null: not there"})


class SeriesAnswer(Schema):
    """One series: the mean of each point, and the smallest and largest of its slices."""

    name = fields.String(required=True)
    title = fields.String(required=True)
    panel = fields.String(required=True)
    unit = fields.String(
        required=True, metadata={"description": "B/s, 1/s, share (of wall time), processors, B, count"}
    )
    metrics = fields.List(fields.String(), required=True)
    mean = _numbers()
    low = _numbers()
    high = _numbers()


class _Points(Schema):
    slice_ns = fields.Integer(required=True)
    first_slice = fields.Integer(required=True, metadata={"description": "slice k is [k, k+1) * slice_ns, UTC"})
    n_slices = fields.Integer(required=True)
    slices_per_point = fields.Integer(required=True)


class TimelineAnswer(_Points):
    """The job's own series, and the seconds it lost to interference in each point."""

    series = fields.List(fields.Nested(SeriesAnswer), required=True)
    lost_s = fields.List(fields.Float(), allow_none=True, required=True)
    lost_unknown_because = fields.String(required=True, metadata={"description": "empty where lost_s is there"})


class IntervalAnswer(Schema):
    """One stretch of hit segments. Times are UTC nanoseconds."""

    begin_ns = fields.Integer(required=True)
    end_ns = fields.Integer(required=True)
    lost_ns = fields.Integer(required=True, metadata={"description": "of the run's time"})
    segments = fields.Integer(required=True)
    hit = fields.Integer(required=True, metadata={"description": "how many of the segments were hit"})


class UntrustedAnswer(Schema):
    """The stretches that interference hit, in order of time; of very many those that lost most."""

    intervals = fields.List(fields.Nested(IntervalAnswer), allow_none=True, required=True)
    total = fields.Integer(allow_none=True, required=True, metadata={"description": "how many were found"})
    unknown_because = fields.String(required=True, metadata={"description": "empty where intervals are there"})


class ResourceSeriesAnswer(Schema):
    """One series on one kind of shared resource: all other jobs together, and this job alone."""

    resource = fields.String(required=True)
    resources = fields.List(fields.String(), required=True, metadata={"description": "those that were added up"})
    name = fields.String(required=True)
    title = fields.String(required=True)
    unit = fields.String(required=True)
    others = _numbers()
    own = _numbers()


class BackgroundAnswer(_Points):
    """What all other jobs did on the resources that this job used."""

    series = fields.List(fields.Nested(ResourceSeriesAnswer), required=True)
    unknown_because = fields.String(required=True, metadata={"description": "empty where the job's share is known"})
    withheld_because = fields.String(
        required=True,
        metadata={"description": "why `others` has gaps where too few other jobs ran; empty: it has none"},
    )


class AccessAnswer(Schema):
    """How a job used its files, as `show --json` has it under `access`."""

    classes = fields.Dict(
        keys=fields.String(),
        values=fields.Dict(),
        required=True,
        metadata={"description": "class of file: files (own and shared, by use), and per way requests, steps, sizes"},
    )
