"""plot.csv and plot.json: the numbers of one plot, slice by slice, in base units."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from flask import Response, abort, jsonify
from numpy.typing import NDArray

from crosswind.db.queries import JobRow
from crosswind.web.arguments import arguments_or_400
from crosswind.web.csv_answer import csv_answer
from crosswind.web.database import connection
from crosswind.web.figures import Plot
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import FigureArguments, blueprint, window_of
from crosswind.web.pages.job.figure import stack_of
from crosswind.web.text import slice_begin

__all__ = ["columns_of", "plot_csv", "plot_json"]


@blueprint.get("/jobs/<int:key>/plot.csv")
def plot_csv(key: int) -> Response:
    """One row a slice: its number, its begin in UTC, and the columns of `columns_of`; empty where there is a gap."""
    job, plot, window = _asked(key)
    columns = columns_of(plot, window)
    head = ["slice", "begin_utc", *(f"{name} [{plot.unit}]" for name in columns)]
    lines = zip(range(job.first_slice + window.start, job.first_slice + window.stop), *columns.values(), strict=True)
    rows = ([number, slice_begin(number * job.slice_ns), *values] for number, *values in lines)
    return csv_answer(f"job-{key}-{_file_name(plot)}", itertools.chain([head], rows))


@blueprint.get("/jobs/<int:key>/plot.json")
def plot_json(key: int) -> Response:
    """The same columns as lists, null where there is a gap, and how they were measured."""
    job, plot, window = _asked(key)
    columns = {
        name: [v if np.isfinite(v) else None for v in values.tolist()]
        for name, values in columns_of(plot, window).items()
    }
    return jsonify(
        {
            "plot": plot.name,
            "title": plot.title,
            "unit": plot.unit,
            "slice_ns": job.slice_ns,
            "first_slice": job.first_slice + window.start,
            "n_slices": window.stop - window.start,
            "columns": columns,
            "how": dict(plot.how),
        }
    )


def columns_of(plot: Plot, window: slice) -> dict[str, NDArray[np.float64]]:
    """Each line of a plot, and the edges of its band as NAME/low and NAME/high, over these slices."""
    columns = {}
    for line in (whole.cut(window) for whole in plot.lines):
        columns[line.name] = line.values
        if line.low is not None and line.high is not None:
            columns |= {f"{line.name}/low": line.low, f"{line.name}/high": line.high}
    return columns


def _asked(key: int) -> tuple[JobRow, Plot, slice]:
    """The job, the plot and the slices. Ends the request with 404 where the job has no such plot."""
    wanted: dict[str, Any] = arguments_or_400(FigureArguments())
    job = job_or_404(connection(), key)
    plots = {plot.name: plot for plot in stack_of(job, wanted).plots}
    plot = plots.get(wanted.get("plot", ""))
    if plot is None:
        abort(404, description=f"The job has no such plot; there are: {', '.join(plots) or 'none'}.")
    return job, plot, window_of(job, wanted)


def _file_name(plot: Plot) -> str:
    return "".join(c if c.isalnum() else "-" for c in plot.name)
