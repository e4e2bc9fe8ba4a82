"""heat.json: one metric, process or node by slice, as an image; of large jobs each cell stands for several."""

from __future__ import annotations

from collections.abc import Sequence
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
from crosswind.web.jobdata import JobFrames, read_frames, read_loss
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import HeatArguments, blueprint, window_of

__all__ = ["CELLS", "MAX_COLUMNS", "MAX_ROWS", "Grid", "binned", "heat", "metrics_of_job"]

MAX_ROWS, MAX_COLUMNS = 128, 320  # cells of an image: some 200 kB
MAX_CELLS = 64 << 20  # of a job that are read: 512 MB of one metric
CELLS = {"mean": "the mean", "low": "the smallest", "high": "the largest"}
_PRUNED = "The slices of this job are older than the site keeps them, so there is no heat map."
_TOO_SHORT = "The job ended before its first slice was closed, so there is no heat map."
_TOO_LARGE = "The job has too many processes and slices to be read at once."
_NOTHING = "No series of this job was ever above zero."


@dataclass(frozen=True)
class Grid:
    """values: float64 [row, slice], NaN where nobody was there. labels: [row]. processes: [row], the number of the
    process of each row, or -1 where a row is a node.
    """

    values: NDArray[np.float64]
    labels: list[str]
    processes: list[int]
    unit: str


@blueprint.get("/jobs/<int:key>/heat.json")
def heat(key: int) -> Response:
    """The image, or (``z`` empty) the words that explain why there is none."""
    wanted = arguments_or_400(HeatArguments())
    conn = connection()
    job = job_or_404(conn, key)
    why_not = _missing(job)
    known = [] if why_not else metrics_of_job(conn, job)
    series = series_named(wanted["metric"]) if wanted.get("metric") else (known[0] if known else None)
    if why_not or series is None:
        return jsonify({"z": [], "notes": [why_not or _NOTHING]})
    window = window_of(job, wanted)
    grid = _read_grid(conn, job, series, window, nodes=wanted["rows"] == "node")
    rows = _rows(len(grid.labels), wanted)
    return jsonify(_document(conn, job, series, grid, rows, window, wanted["cells"]))


def metrics_of_job(conn: Connection, job: JobRow) -> list[Series]:
    """The series of which the job has anything, in page order."""
    alive = details.get_totals(conn, job.key).keys()
    return [series for series in SERIES if not alive.isdisjoint(series.metrics)]


def binned(
    values: NDArray[np.float64], max_rows: int, max_columns: int, cells: str
) -> tuple[NDArray[np.float64], int, int]:
    """Values [row, slice] reduced to at most so many rows and columns, and how many rows and slices a cell holds.

    cells: mean, low or high of what a cell holds that is no gap; NaN where all of it is.
    """
    height, width = (max(1, -(-n // most)) for n, most in zip(values.shape, (max_rows, max_columns), strict=True))
    row_starts, column_starts = (np.arange(0, n, step) for n, step in zip(values.shape, (height, width), strict=True))
    if not values.size:
        return values, height, width
    if cells == "mean":
        there = ~np.isnan(values)
        total = _reduced(np.add, np.where(there, values, 0.0), row_starts, column_starts)
        count = _reduced(np.add, there.astype(np.float64), row_starts, column_starts)
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0), height, width
    reduce = np.fmin if cells == "low" else np.fmax
    return _reduced(reduce, values, row_starts, column_starts), height, width


def _reduced(
    function: np.ufunc, values: NDArray[np.float64], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.float64]:
    return function.reduceat(function.reduceat(values, rows, axis=0), columns, axis=1)


def _missing(job: JobRow) -> str:
    """Why a job has no heat map at all, or empty."""
    if not job.n_slices:
        return _TOO_SHORT
    if not job.detail:
        return _PRUNED
    return _TOO_LARGE if job.n_processes * job.n_slices > MAX_CELLS else ""


def _read_grid(conn: Connection, job: JobRow, series: Series, window: slice, *, nodes: bool) -> Grid:
    processes = queries.get_processes(conn, job.key)
    data = read_frames(conn, job, series.metrics, first=window.start, n=window.stop - window.start)
    workers = np.flatnonzero(workers_of(data.ranks))
    order = sorted(workers.tolist(), key=lambda i: (processes[i].rank or 0, i))
    if nodes:
        return _of_nodes(series, data, processes, order, job.slice_ns)
    frames = {name: values[order] for name, values in data.frames.items()}
    values = process_series(series, frames, data.covered_ns[order])
    return Grid(values, [_label(processes[i]) for i in order], order, rate_unit(series.metric_unit, series.kind))


def _of_nodes(
    series: Series, data: JobFrames, processes: Sequence[Process], order: Sequence[int], slice_ns: int
) -> Grid:
    """The processes of each node together, nodes in the order of their first rank."""
    hosts: dict[str, list[int]] = {}
    for i in order:
        hosts.setdefault(processes[i].host, []).append(i)
    rows = []
    for members in hosts.values():
        frames = {name: values[members] for name, values in data.frames.items()}
        rows.append(job_series(series, frames, data.covered_ns[members], slice_ns, data.cut))
    return Grid(np.stack(rows), list(hosts), [-1] * len(rows), series.unit)


def _label(process: Process) -> str:
    name = f"pid {process.pid}" if process.rank is None else f"rank {process.rank}"
    return f"{name} on {process.host}"


def _rows(n: int, wanted: dict[str, Any]) -> slice:
    """The rows that the reader zoomed to; all where there are none."""
    first = min(wanted.get("first_row", 0), max(n - 1, 0))
    return slice(first, min(first + wanted.get("n_rows", n), n))


def _document(
    conn: Connection, job: JobRow, series: Series, grid: Grid, rows: slice, window: slice, cells: str
) -> dict[str, Any]:
    z, height, width = binned(grid.values[rows], MAX_ROWS, MAX_COLUMNS, cells)
    unit = display_unit(grid.unit, grid.values)
    lost = read_loss(conn, job).per_slice_s
    first_slice = job.first_slice + window.start
    hits = [] if lost is None else shading(lost[window], first_slice, job.slice_ns)
    return {
        "title": f"{series.title[0].upper()}{series.title[1:]}",
        "unit": unit.label,
        "z": [[float(f"{v:.3g}") if np.isfinite(v) else None for v in row] for row in (z * unit.factor).tolist()],
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
        "notes": list(_notes(height, width, cells)),
    }


def _notes(height: int, width: int, cells: str) -> list[str]:
    """What a cell stands for, in words."""
    if height == width == 1:
        return []
    parts = [f"{height} rows" if height > 1 else "", f"{width} slices" if width > 1 else ""]
    return [f"A cell is {CELLS[cells]} of {' by '.join(part for part in parts if part)}. Zoom in for single ones."]
