"""The page of one job: the verdict, its time line over the background, and the tables behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from flask import Blueprint, Response, jsonify, render_template

from crosswind.db import details, queries
from crosswind.db.batch_queries import batch_job_of_step
from crosswind.db.queries import JobRow
from crosswind.profile.timesplit import TIME_COLUMNS
from crosswind.web.access import access_rows
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.figures import MAX_POINTS, Axis, stacked_figure
from crosswind.web.jobdata import read_background, read_frames, read_loss
from crosswind.web.joblookup import job_or_404
from crosswind.web.plots import background_plots, job_plots, lost_plot, quiet_resources
from crosswind.web.schemas import FigureArguments, JobPageArguments
from crosswind.web.tables import function_rows, lost_rows, process_rows, total_rows
from crosswind.web.timebar import TimePart, time_parts
from crosswind.web.verdict import verdict_of, verdict_of_loss

__all__ = ["blueprint"]

blueprint = Blueprint("job", __name__)

MAX_PROCESSES = 200  # rows of the table of processes; more are only counted


@blueprint.get("/jobs/<int:key>")
def page(key: int) -> str:
    """The page; its plots are fetched by the page's script."""
    wanted = arguments_or_400(JobPageArguments())
    conn = connection()
    job = job_or_404(conn, key)
    processes = queries.get_processes(conn, key)
    record = details.get_record(conn, key)
    return render_template(
        "job.html",
        job=job,
        wanted=wanted,
        verdict=verdict_of(job) if job.estimate else verdict_of_loss(read_loss(conn, job)),
        record=record,
        batch=batch_job_of_step(conn, key),
        processes=process_rows(processes, MAX_PROCESSES),
        more_processes=max(0, len(processes) - MAX_PROCESSES),
        killed=sum(process.count for process in processes if process.state == "killed"),
        totals=total_rows(details.get_totals(conn, key), np.array([p.is_mpi for p in processes], dtype=np.bool_)),
        time=_time(job),
        functions=function_rows(queries.get_functions(conn, key)),
        access=access_rows(details.get_access(conn, key)),
        lost=lost_rows(job.lost),
    )


@blueprint.get("/jobs/<int:key>/figure.json")
def figure(key: int) -> Response:
    """The stacked plots as plotly.js takes them, or (``plots`` empty) the words that explain why there are none."""
    wanted = arguments_or_400(FigureArguments())
    conn = connection()
    job = job_or_404(conn, key)
    if job.n_slices == 0:
        return jsonify({"plots": [], "notes": [_TOO_SHORT]})
    if not job.detail:
        return jsonify({"plots": [], "notes": [_PRUNED]})
    return jsonify(_figure(job, wanted))


def _time(job: JobRow) -> list[TimePart]:
    data = read_frames(connection(), job, TIME_COLUMNS)
    return time_parts(data.frames, data.covered_ns)


_PRUNED = (
    "The slices of this job are older than the site keeps them, so there is no time line; the tables are complete."
)
_TOO_SHORT = "The job ended before its first slice was closed, so there is no time line. The tables below are complete."


def _figure(job: JobRow, wanted: dict[str, Any]) -> dict[str, Any]:
    conn = connection()
    data, loss = read_frames(conn, job), read_loss(conn, job)
    backgrounds = read_background(conn, job, data)
    every = wanted["plots"] == "all"
    own = job_plots(data, job.slice_ns, spread=wanted["view"] == "spread", every=every)
    others = background_plots(backgrounds, job.slice_ns, every=every)
    drawn = stacked_figure(
        [*lost_plot(loss.per_slice_s, job.slice_ns), *own, *others],
        Axis(job.first_slice, job.n_slices, job.slice_ns),
        loss.per_slice_s,
        theme=wanted["theme"],
        size=wanted["size"],
    )
    quiet = quiet_resources(backgrounds, job.slice_ns, every=every)
    return drawn | {"notes": list(_notes(job, bool(own), bool(others), quiet, loss.why_not))}


def _notes(job: JobRow, own: bool, others: bool, quiet: list[str], why_not: str) -> list[str]:
    """What the plots do not show, in words."""
    notes = []
    if not own:
        notes.append("None of the measured series of this job was ever above zero.")
    if job.n_slices < 5:
        notes.append(f"The job lasted {job.n_slices} slices of {job.slice_ns / 1e9:g} s: too few to see a course.")
    if why_not:
        notes.append(f"Nothing is shaded. {why_not}")
    if not others:
        notes.append("No other profiled job used a resource of this job while it ran.")
    elif quiet:
        notes.append(f"No other profiled job was seen on: {', '.join(quiet)}.")
    if job.n_slices > MAX_POINTS:
        width = -(-job.n_slices // MAX_POINTS)
        notes.append(f"Each point is the mean of {width} slices; the bands hold their smallest and largest values.")
    return notes
