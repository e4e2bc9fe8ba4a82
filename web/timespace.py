"""What the page of the system draws: nodes by time, the background below, events, and who loads what now."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.derived import SERIES, Series
from crosswind.analysis.timeline import resample
from crosswind.analysis.timespace import Grid, NodeRows, between, levels, natural_order, runs_of
from crosswind.analysis.units import display_unit
from crosswind.db import queries, timespace
from crosswind.db.node_queries import list_nodes
from crosswind.db.scope import JobScope
from crosswind.db.timespace import PlacedJob
from crosswind.web.grid_metrics import METRICS, GridMetric, JobMetric, NodeMetric
from crosswind.web.identity import Viewer
from crosswind.web.node_grid import colour_nodes
from crosswind.web.resource_words import resource_words

__all__ = ["Drawn", "Panel", "draw_grid", "first_shown_ns", "read_panels", "within_budget"]

COLUMNS = 480
SLICE_NS = 4 * 10**9  # where no job tells how long its slices are
MOST_ROWS = 160
MOST_OUTLINES = 700  # jobs that are drawn with their outline, the largest of all
MOST_CELLS = 40_000_000  # process-slices that are read for one picture
MOST_PANELS = 8


@dataclass(frozen=True)
class Drawn:
    """The picture: shades uint8 [row, column], its rows, the largest value, its jobs, and what has to be said of it."""

    shades: NDArray[np.uint8]
    rows: NodeRows
    top: float
    jobs: list[dict[str, Any]]
    n_jobs: int
    notes: list[str]

    def to_json(self, metric: GridMetric) -> dict[str, Any]:
        """For the page's script."""
        unit = display_unit(metric.unit, self.top)
        return {
            "rows": self.rows.labels(),
            "nodes": [self.rows.names[0], self.rows.names[-1]] if self.rows.names else [],
            "per_row": self.rows.per_row,
            "first_of_row": list(self.rows.names[:: self.rows.per_row]),
            "last_of_row": [
                self.rows.names[min(at + self.rows.per_row, len(self.rows.names)) - 1]
                for at in range(0, len(self.rows.names), self.rows.per_row)
            ],
            "columns": self.shades.shape[1],
            "shades": base64.b64encode(self.shades.tobytes()).decode(),
            "metric": {
                "title": metric.title,
                "unit": unit.label,
                "top": self.top * unit.factor,
                "how": metric.how,
                "blank": metric.blank,
            },
            "jobs": self.jobs,
            "n_jobs": self.n_jobs,
            "notes": self.notes,
        }


def draw_grid(
    conn: Connection, begin_ns: int, end_ns: int, name: str, viewer: Viewer, first: str = "", last: str = ""
) -> Drawn:
    """The grid of a stretch of time: all nodes for those who may see all jobs, else the nodes of the viewer's own jobs,
    with these alone on them. first, last: only the nodes between these two, in natural order.
    """
    jobs = timespace.placed_jobs(conn, begin_ns, end_ns, viewer.scope)
    names = [host for job in jobs for host in job.hosts]
    if viewer.names_others:
        names += [node.name for node in list_nodes(conn, serves="")]
    metric = METRICS[name]
    lowest = isinstance(metric, NodeMetric) and metric.falls
    rows = NodeRows.of(between(natural_order(names), first, last), MOST_ROWS)
    shortest_ns = min((job.slice_ns for job in jobs), default=SLICE_NS)
    columns = max(1, min(COLUMNS, (end_ns - begin_ns) // shortest_ns))
    grid = Grid(rows, begin_ns, end_ns, columns, np.fmin if lowest else np.fmax)
    if isinstance(metric, NodeMetric):
        notes = colour_nodes(conn, grid, jobs, metric, end_ns)
    else:
        for job in jobs:
            grid.occupy(job.hosts, job.start_ns, job.end_ns)
        notes = _colour(conn, grid, jobs, metric, end_ns)
    cells = grid.cells()
    top = metric.top or float(np.fmax.reduce(cells, axis=None, initial=0.0))
    if rows.per_row > 1:
        extreme = "smallest" if lowest else "largest"
        notes.insert(0, f"Each row is {rows.per_row} nodes; a cell shows the {extreme} value of them in its time.")
    on_grid = [job for job in jobs if grid.rows_of(job.hosts).size]
    outlined = sorted(on_grid, key=lambda job: -len(job.hosts) * (job.end_ns - job.start_ns))[:MOST_OUTLINES]
    if len(on_grid) > len(outlined):
        notes.append(f"Of {len(on_grid)} jobs the {len(outlined)} largest are outlined.")
    return Drawn(levels(cells, top), rows, top, [_outline(job, grid) for job in outlined], len(on_grid), notes)


def _colour(conn: Connection, grid: Grid, jobs: Sequence[PlacedJob], metric: JobMetric, end_ns: int) -> list[str]:
    """Add what the jobs did to the grid; what has to be said of it."""
    if not metric.metrics:
        for job, lost in timespace.lost_per_slice(conn, jobs):
            grid.add(job.hosts, job.first_slice, job.slice_ns, lost[np.newaxis] / job.slice_ns)
        return []
    shown = [job for job in jobs if grid.rows_of(job.hosts).size]
    readable = within_budget([job for job in shown if job.detail], grid.begin_ns, end_ns, len(metric.metrics))
    for did in timespace.per_host(conn, readable, metric.metrics, grid.begin_ns, end_ns):
        scale = 1.0 if metric.gauge else metric.scale / did.job.slice_ns
        grid.add(did.hosts, did.first_slice, did.job.slice_ns, did.values.astype(np.float64) * scale)
    if len(readable) == len(shown):
        return []
    return [f"{len(shown) - len(readable)} of {len(jobs)} jobs are drawn without values: they are too large to read at "
            "once, or their slices were pruned. Choose a shorter time or fewer nodes."]  # fmt: skip


def within_budget(jobs: Sequence[PlacedJob], begin_ns: int, end_ns: int, n_metrics: int) -> list[PlacedJob]:
    """As many of the jobs as may be read for one picture, the smallest first."""
    by_size = sorted(jobs, key=lambda job: job.cells(begin_ns, end_ns))
    cost = np.cumsum([job.cells(begin_ns, end_ns) * n_metrics for job in by_size])
    return by_size[: int(np.searchsorted(cost, MOST_CELLS, side="right"))]


def _outline(job: PlacedJob, grid: Grid) -> dict[str, Any]:
    return {
        "key": job.key,
        "name": f"{job.job_id}.{job.step}" if job.step else job.job_id,
        "user": job.user,
        "command": job.command[:60],
        "nodes": len(job.hosts),
        "begin": job.start_ns // 10**6,
        "end": job.end_ns // 10**6,
        "rows": runs_of(grid.rows_of(job.hosts), grid.rows.per_row)[:100],
    }


# --- the background below the grid -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel:
    """One shared resource over time. lines: title -> mean and largest value of each column, None where withheld."""

    resource: str
    title: str
    unit: str
    how: str
    lines: dict[str, tuple[list[float | None], list[float | None]]]


_SHOWN_UNITS = ("B/s", "1/s")


def read_panels(
    conn: Connection, begin_ns: int, end_ns: int, slice_ns: int, withheld: Mapping[str, NDArray[np.bool_]]
) -> list[Panel]:
    """Each resource of `withheld` (its name -> where nothing may be shown, [slice]), bytes and calls apart."""
    first = begin_ns // slice_ns
    n = -(-end_ns // slice_ns) - first
    panels = []
    for name, hidden in withheld.items():
        sums = queries.get_background(conn, [name], None, first, n, slice_ns)
        by_metric = {metric: values for (_, metric), values in sums.items()}
        for unit in _SHOWN_UNITS:
            lines = {
                series.title: rates
                for series in SERIES
                if series.unit == unit and (rates := _rates(series, by_metric, slice_ns, hidden)) is not None
            }
            if lines:
                panels.append(_panel(name, unit, lines))
    return panels[: 2 * MOST_PANELS]


def _rates(
    series: Series, by_metric: Mapping[str, NDArray[np.int64]], slice_ns: int, hidden: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """A series of a resource per second, [slice], NaN where hidden; None where nothing of it is seen: neither a line
    nor the unit tells what is withheld.
    """
    known = [by_metric[name] for name in series.metrics if name in by_metric]
    if not any(values[~hidden].any() for values in known):
        return None
    return np.where(hidden, np.nan, np.sum(known, axis=0).astype(np.float64) * (1e9 / slice_ns))


def _panel(name: str, unit: str, lines: Mapping[str, NDArray[np.float64]]) -> Panel:
    words = resource_words(name)
    largest = max(float(np.nanmax(values)) for values in lines.values())
    shown = display_unit(unit, largest)
    binned = {}
    for title, values in lines.items():
        points = resample(values * shown.factor, COLUMNS)
        binned[title] = (_short(points.mean), _short(points.high))
    return Panel(
        name,
        f"{words[0].upper()}{words[1:]}: {'bytes' if unit == 'B/s' else 'calls'}",
        shown.label,
        "All profiled jobs together, per second. The line is the mean of a point's slices, the band reaches to their "
        "largest value.",
        binned,
    )


def _short(values: Iterable[float]) -> list[float | None]:
    return [float(f"{v:.3g}") if np.isfinite(v) else None for v in values]


def first_shown_ns(conn: Connection, newest_ns: int, scope: JobScope, span_ns: int) -> int:
    """Where the picture begins if nobody says so: `span_ns` before the newest data, or where the first job began."""
    first = timespace.first_job_ns(conn, scope)
    return max(newest_ns - span_ns, first if first is not None else 0)
