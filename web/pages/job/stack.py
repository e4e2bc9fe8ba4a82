"""The stacked plots of a job: which there are, what stands below them in words. Read once, drawn or exported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flask import abort
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis import process_series, series_named
from crosswind.db import queries
from crosswind.db.frames import each_frame
from crosswind.db.queries import JobRow
from crosswind.db.resources import FEEDS
from crosswind.web.figures import Plot, points_per_line
from crosswind.web.identity.privacy import withheld_words
from crosswind.web.jobdata import Background, Loss, read_background, read_loss, read_series
from crosswind.web.pages.job.coverage import coverage_plot, read_coverage
from crosswind.web.pages.job.nodes import node_plots, read_nodes
from crosswind.web.plots import (
    MAIN_KINDS,
    background_plots,
    job_plots,
    lost_plot,
    quiet_resources,
    series_shown,
    withheld_resources,
)

__all__ = ["Stack", "process_title", "read_node_stack", "read_stack"]

_PRUNED = (
    "The slices of this job are older than the site keeps them, so there is no time line; the other tabs are complete."
)
_TOO_SHORT = "The job ended before its first slice was closed, so there is no time line. The other tabs are complete."
_STARTING = "The first slice of this job is not over yet; the plots begin with it."


@dataclass(frozen=True)
class Stack:
    """plots: from top to bottom, over all slices of the job. notes: what they do not show, in words."""

    plots: list[Plot]
    loss: Loss
    notes: list[str]


def read_stack(conn: Connection, job: JobRow, *, spread: bool, every: bool, process: int | None = None) -> Stack:
    """The job's own plots above, the background below. process: whose own lines are drawn over the bands."""
    loss = read_loss(conn, job)
    missing = _missing(job)
    if missing:
        return Stack([], loss, [missing])
    names = series_shown(every)
    spread = spread or process is not None
    one = {} if process is None else _one_process(conn, job, names, process)
    title = "" if process is None else process_title(conn, job, process)
    own = job_plots(read_series(conn, job, names=names), spread=spread, every=every, one=one, one_title=title)
    kinds = tuple(FEEDS) if every else MAIN_KINDS
    backgrounds = read_background(conn, job, kinds=kinds)
    beside = background_plots(backgrounds, job.slice_ns, every=every)
    covered = coverage_plot(read_coverage(conn, job)) if beside else []
    plots = [*lost_plot(loss.per_slice_s, job.slice_ns), *own, *beside, *covered]
    return Stack(plots, loss, list(_notes(job, plots, backgrounds, every, loss.why_not)))


def read_node_stack(conn: Connection, job: JobRow) -> Stack:
    """What the agents of the job's nodes saw while it ran."""
    loss, seen = read_loss(conn, job), read_nodes(conn, job)
    return Stack(node_plots(seen, job.slice_ns), loss, list(seen.notes))


def process_title(conn: Connection, job: JobRow, number: int) -> str:
    """A process as people name it. Ends the request with 404 where the job has no process of that number."""
    processes = queries.get_processes(conn, job.key)
    if number >= len(processes):
        abort(404, description=f"The job has {len(processes)} processes; there is no number {number}.")
    process = processes[number]
    return f"pid {process.pid}" if process.rank is None else f"rank {process.rank}"


def _missing(job: JobRow) -> str:
    """Why a job has no time line at all, or empty."""
    if job.n_slices == 0:
        return _STARTING if job.state == "running" else _TOO_SHORT
    return "" if job.detail else _PRUNED


def _one_process(conn: Connection, job: JobRow, names: tuple[str, ...], process: int) -> dict[str, NDArray[np.float64]]:
    """The series of one process by name, [slice], without those that are zero in the whole job."""
    if process >= job.n_processes:
        return {}
    chosen = [series_named(name) for name in names]
    row = slice(process, process + 1)
    covered = queries.get_covered(conn, job.key, rows=row)
    if covered is None:
        return {}
    metrics = {metric for series in chosen for metric in series.metrics}
    frames = dict(each_frame(conn, job.key, metrics, rows=row))
    return {
        series.name: process_series(series, frames, covered)[0]
        for series in chosen
        if not frames.keys().isdisjoint(series.metrics)
    }


def _notes(job: JobRow, plots: list[Plot], backgrounds: list[Background], every: bool, why_not: str) -> Iterator[str]:
    """What the plots do not show, in words."""
    beside = any(plot.group == "background" for plot in plots)
    quiet = quiet_resources(backgrounds, job.slice_ns, every=every)
    hidden = withheld_resources(backgrounds, job.slice_ns, every=every)
    if not any(plot.group == "job" and plot.name != "lost" for plot in plots):
        yield "None of the measured series of this job was ever above zero."
    if job.n_slices < 5:
        slices = "1 slice" if job.n_slices == 1 else f"{job.n_slices} slices"
        yield f"The job lasted {slices} of {job.slice_ns / 1e9:g} s: too few to see a course."
    if why_not:
        yield f"Nothing is shaded. {why_not}"
    if any(background.withheld.any() for background in backgrounds):
        nothing = f" Nothing is drawn of: {', '.join(hidden)}." if hidden else ""
        yield f"{withheld_words()}{nothing}"
    elif not beside:
        yield "No other profiled job used a resource of this job while it ran."
    if beside and quiet:
        yield f"No other profiled job was seen on: {', '.join(quiet)}."
    most = points_per_line(plots)
    if job.n_slices > most:
        yield (
            f"Unzoomed, each point is the mean of {-(-job.n_slices // most)} slices; the bands hold their smallest and "
            "largest values. Zoom in for every slice."
        )
