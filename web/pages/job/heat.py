"""heat.json: one metric, process or node by slice, as an image; of large jobs each cell stands for several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flask import Response, jsonify
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis import SERIES, Series, job_series, process_series, series_named
from crosswind.analysis.series_bands import workers_of
from crosswind.analysis.timeline import rate_unit
from crosswind.analysis.units import display_unit
from crosswind.db import details, queries
from crosswind.db.queries import JobRow
from crosswind.profile.model import Process
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.hits import shading
from crosswind.web.jobdata import JobFrames, parts_of, read_frames, read_loss
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import HeatArguments, blueprint, window_of
from crosswind.web.plots import how_counted

__all__ = [
    "CELLS", "MAX_COLUMNS", "MAX_ROWS", "Asked", "Grid", "binned", "heat", "metrics_of_job", "read_grid",
    "what_is_asked",
]  # fmt: skip

MAX_ROWS, MAX_COLUMNS = 128, 320  # cells of an image: some 200 kB
MAX_CELLS = 128 << 20  # values that are read for one image, a part of them at a time: some ten seconds
CELLS = {"mean": "the mean", "low": "the smallest", "high": "the largest"}
_PRUNED = "The slices of this job are older than the site keeps them, so there is no heat map."
_TOO_SHORT = "The job ended before its first slice was closed, so there is no heat map."
_TOO_LARGE = (
    "The job has too many processes and slices to be drawn at once. Zoom in on the plots over time first: the zoom "
    "stays when you come back."
)
_OF_PROCESSES = "one process in one slice, over the time that it was covered; a gap where it was not there"
_OF_NODES = "the processes of one node together, in one slice"
_NOTHING = "No series of this job was ever above zero."


@dataclass(frozen=True)
class Grid:
    """z: float64 [row of cells, column], NaN where nobody was there; a cell is `height` rows by `width` slices. peak:
    the largest value of all. labels: [row]. processes: [row], the number of the process of each, or -1 where it is a
    node. shown: which of the rows z has.
    """

    z: NDArray[np.float64]
    height: int
    width: int
    peak: float
    labels: list[str]
    processes: list[int]
    shown: slice
    unit: str


@dataclass(frozen=True)
class Asked:
    """What a map is of. series: None where there is nothing to draw, as `why_not` says."""

    job: JobRow
    series: Series | None
    window: slice
    wanted: dict[str, Any]
    why_not: str


@blueprint.get("/jobs/<int:key>/heat.json")
def heat(key: int) -> Response:
    """The image, or (``z`` empty) the words that explain why there is none."""
    conn = connection()
    asked = what_is_asked(conn, key)
    if asked.series is None:
        return jsonify({"z": [], "notes": [asked.why_not]})
    grid = read_grid(conn, asked, asked.series, MAX_ROWS, MAX_COLUMNS)
    return jsonify(_document(conn, asked.job, asked.series, grid, asked.window, asked.wanted["cells"]))


def what_is_asked(conn: Connection, key: int) -> Asked:
    """By the parameters of this request. Ends it with 404 where the viewer has no such job."""
    wanted = arguments_or_400(HeatArguments())
    job = job_or_404(conn, key)
    window = window_of(job, wanted)
    why_not = _missing(job)
    known = [] if why_not else metrics_of_job(conn, job)
    series = series_named(wanted["metric"]) if wanted.get("metric") else (known[0] if known else None)
    if series and job.n_processes * (window.stop - window.start) * len(series.metrics) > MAX_CELLS:
        why_not = _TOO_LARGE
    return Asked(job, None if why_not else series, window, wanted, why_not or _NOTHING)


def metrics_of_job(conn: Connection, job: JobRow) -> list[Series]:
    """The series of which the job has anything, in page order."""
    alive = details.get_totals(conn, job.key).keys()
    return [series for series in SERIES if not alive.isdisjoint(series.metrics)]


def binned(values: NDArray[np.float64], height: int, width: int, cells: str) -> NDArray[np.float64]:
    """Values [row, slice] in cells of so many rows and slices; those at the lower and right edge may hold fewer.

    cells: mean, low or high of what a cell holds that is no gap; NaN where all of it is.
    """
    if not values.size:
        return values
    starts = (np.arange(0, values.shape[0], height), np.arange(0, values.shape[1], width))
    if cells == "mean":
        there = ~np.isnan(values)
        total = _reduced(np.add, np.where(there, values, 0.0), *starts)
        count = _reduced(np.add, there.astype(np.float64), *starts)
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return _reduced(np.fmin if cells == "low" else np.fmax, values, *starts)


def _reduced(
    function: np.ufunc, values: NDArray[np.float64], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.float64]:
    return function.reduceat(function.reduceat(values, rows, axis=0), columns, axis=1)


def _missing(job: JobRow) -> str:
    """Why a job has no heat map at all, or empty."""
    if not job.n_slices:
        return _TOO_SHORT
    return "" if job.detail else _PRUNED


def read_grid(conn: Connection, asked: Asked, series: Series, most_rows: int, most_columns: int) -> Grid:
    """At most so many cells, from as many slices at a time as fit into memory."""
    job, window, wanted = asked.job, asked.window, asked.wanted
    processes = queries.get_processes(conn, job.key)
    workers = np.flatnonzero(workers_of(np.array([p.rank is not None for p in processes], dtype=np.bool_)))
    order = sorted(workers.tolist(), key=lambda i: (processes[i].rank or 0, i))
    nodes = _members(processes, order) if wanted["rows"] == "node" else None
    labels = [_label(processes[i]) for i in order] if nodes is None else list(nodes)
    shown, n = _rows(len(labels), wanted), window.stop - window.start
    height, width = max(1, -(-(shown.stop - shown.start) // most_rows)), max(1, -(-n // most_columns))
    parts, peak = [], 0.0
    for first, length in parts_of(job, window.start, n, len(series.metrics), width):
        data = read_frames(conn, job, series.metrics, first=first, n=length)
        if nodes is None:
            values = _of_processes(series, data, order)
        else:
            values = _of_nodes(series, data, nodes.values(), job.slice_ns)
        parts.append(binned(values[shown], height, width, wanted["cells"]))
        peak = max(peak, float(np.fmax.reduce(np.ravel(values), initial=0.0)))
    return Grid(
        z=np.concatenate(parts, axis=1),
        height=height,
        width=width,
        peak=peak,
        labels=labels,
        processes=order if nodes is None else [-1] * len(labels),
        shown=shown,
        unit=rate_unit(series.metric_unit, series.kind) if nodes is None else series.unit,
    )


def _members(processes: Sequence[Process], order: Sequence[int]) -> dict[str, list[int]]:
    """The processes of each node, nodes in the order of their first rank."""
    hosts: dict[str, list[int]] = {}
    for i in order:
        hosts.setdefault(processes[i].host, []).append(i)
    return hosts


def _of_processes(series: Series, data: JobFrames, order: Sequence[int]) -> NDArray[np.float64]:
    frames = {name: values[order] for name, values in data.frames.items()}
    return process_series(series, frames, data.covered_ns[order])


def _of_nodes(series: Series, data: JobFrames, nodes: Collection[Sequence[int]], slice_ns: int) -> NDArray[np.float64]:
    """The processes of each node together."""
    rows = []
    for members in nodes:
        frames = {name: values[members] for name, values in data.frames.items()}
        rows.append(job_series(series, frames, data.covered_ns[members], slice_ns, data.cut))
    return np.stack(rows)


def _label(process: Process) -> str:
    name = f"pid {process.pid}" if process.rank is None else f"rank {process.rank}"
    return f"{name} on {process.host}"


def _rows(n: int, wanted: dict[str, Any]) -> slice:
    """The rows that the reader zoomed to; all where there are none."""
    first = min(wanted.get("first_row", 0), max(n - 1, 0))
    return slice(first, min(first + wanted.get("n_rows", n), n))


def _document(conn: Connection, job: JobRow, series: Series, grid: Grid, window: slice, cells: str) -> dict[str, Any]:
    rows, height, width = grid.shown, grid.height, grid.width
    unit = display_unit(grid.unit, grid.peak)
    lost = read_loss(conn, job).per_slice_s
    first_slice = job.first_slice + window.start
    hits = [] if lost is None else shading(lost[window], first_slice, job.slice_ns)
    return {
        "title": f"{series.title[0].upper()}{series.title[1:]}",
        "unit": unit.label,
        "z": [[float(f"{v:.3g}") if np.isfinite(v) else None for v in row] for row in (grid.z * unit.factor).tolist()],
        "first_row": rows.start,
        "n_rows": rows.stop - rows.start,
        "all_rows": len(grid.labels),
        "rows_per_cell": height,
        "labels": grid.labels[rows][::height],
        "processes": grid.processes[rows][::height],
        "first_ms": first_slice * job.slice_ns / 1e6,
        "slice_ms": job.slice_ns / 1e6,
        "slices_per_cell": width,
        "first_slice": first_slice,
        "n_slices": window.stop - window.start,
        "whole": [job.first_slice * job.slice_ns / 1e6, (job.first_slice + job.n_slices) * job.slice_ns / 1e6],
        "hits": [hit.to_json() for hit in hits],
        "how": [("cell", _OF_NODES if grid.processes[:1] == [-1] else _OF_PROCESSES), *how_counted([series])],
        "notes": list(_notes(height, width, cells)),
    }


def _notes(height: int, width: int, cells: str) -> list[str]:
    """What a cell stands for, in words."""
    if height == width == 1:
        return []
    parts = [f"{height} rows" if height > 1 else "", f"{width} slices" if width > 1 else ""]
    return [f"A cell is {CELLS[cells]} of {' by '.join(part for part in parts if part)}. Zoom in for single ones."]
