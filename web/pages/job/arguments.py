"""What the addresses of a job's page may ask for, each bounded; and the blueprint that its routes share."""

from __future__ import annotations

from typing import Any

from flask import Blueprint
from marshmallow import fields, validate

from crosswind.analysis import SERIES
from crosswind.db.queries import JobRow
from crosswind.web.figures import SIZES
from crosswind.web.palette import THEMES
from crosswind.web.schemas import Arguments

__all__ = [
    "TABS", "ClusterArguments", "ClusterTableArguments", "FigureArguments", "HeatArguments", "PageArguments",
    "blueprint", "window_of",
]  # fmt: skip

blueprint = Blueprint("job", __name__)

TABS = {
    "time": "Over time",
    "processes": "Processes",
    "segments": "Segments",
    "io": "I/O",
    "functions": "Functions",
    "nodes": "Nodes",
    "quality": "Quality",
}
STACKS = ("job", "nodes")
_LATEST_MS = 1 << 43  # the year 2248
_MOST_ROWS = 1 << 24


def _whole(most: int, **options: Any) -> fields.Integer:  # noqa: ANN401 (marshmallow's own options)
    return fields.Integer(validate=validate.Range(0, most), **options)


class _Arguments(Arguments):
    from_ms = _whole(_LATEST_MS, data_key="from", metadata={"description": "begin of the zoom, UTC ms"})
    to_ms = _whole(_LATEST_MS, data_key="to", metadata={"description": "end of the zoom, UTC ms"})


class _StackArguments(_Arguments):
    view = fields.String(load_default="job", validate=validate.OneOf(["job", "spread"]))
    plots = fields.String(load_default="main", validate=validate.OneOf(["main", "all"]))
    process = _whole(
        _MOST_ROWS, load_default=None, metadata={"description": "number of a process whose own lines are drawn, too"}
    )


class _HeatArguments(_Arguments):
    metric = fields.String(validate=validate.OneOf([series.name for series in SERIES]))
    rows = fields.String(load_default="process", validate=validate.OneOf(["process", "node"]))
    cells = fields.String(load_default="mean", validate=validate.OneOf(["mean", "low", "high"]))
    first_row = _whole(_MOST_ROWS)
    n_rows = fields.Integer(validate=validate.Range(1, _MOST_ROWS))


class PageArguments(_StackArguments, _HeatArguments):
    """What the page shows: every state of every tab."""

    tab = fields.String(load_default="time", validate=validate.OneOf(list(TABS)))
    cluster = _whole(1 << 20, metadata={"description": "which cluster's histogram, 0: the longest"})


class FigureArguments(_StackArguments):
    """The stacked plots, and how to draw them. plot: one of them, for plot.csv and plot.json."""

    stack = fields.String(load_default="job", validate=validate.OneOf(STACKS))
    plot = fields.String(validate=validate.Length(max=64))
    theme = fields.String(load_default="light", validate=validate.OneOf(list(THEMES)))
    size = fields.String(load_default="wide", validate=validate.OneOf(list(SIZES)))


class HeatArguments(_HeatArguments):
    """The heat map."""


class ClusterTableArguments(_Arguments):
    """One figure of the segments as a table."""

    cluster = _whole(1 << 20, load_default=0)
    part = fields.String(load_default="boxes", validate=validate.OneOf(["boxes", "timeline", "histogram"]))


class ClusterArguments(_Arguments):
    """The figures of the segments."""

    cluster = _whole(1 << 20, load_default=0)
    theme = fields.String(load_default="light", validate=validate.OneOf(list(THEMES)))
    size = fields.String(load_default="wide", validate=validate.OneOf(list(SIZES)))


def window_of(job: JobRow, wanted: dict[str, Any]) -> slice:
    """The slices of a job that a range of time touches, counted from its first; all where none is asked for, or
    where the job was not there.
    """
    begin_ms, end_ms = wanted.get("from_ms"), wanted.get("to_ms")
    first = 0 if begin_ms is None else begin_ms * 1_000_000 // job.slice_ns - job.first_slice
    end = job.n_slices if end_ms is None else -(-end_ms * 1_000_000 // job.slice_ns) - job.first_slice
    first, end = max(first, 0), min(end, job.n_slices)
    return slice(first, end) if first < end else slice(0, job.n_slices)
