"""The page of one job: who it was, the verdict, the footprint, and one tab; the tabs' plots are fetched by scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flask import render_template
from sqlalchemy import Connection

from crosswind.db import details, queries
from crosswind.db.batch_queries import BatchRow, batch_job_of_step
from crosswind.db.queries import JobRow
from crosswind.profile.model import Process
from crosswind.profile.timesplit import TIME_COLUMNS
from crosswind.web.access import access_rows
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.hits import worst_hits
from crosswind.web.jobdata import read_frames, read_loss
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import TABS, PageArguments, blueprint
from crosswind.web.pages.job.coverage import read_coverage
from crosswind.web.pages.job.footprint import Bar, footprint
from crosswind.web.pages.job.heat import CELLS, metrics_of_job
from crosswind.web.pages.job.nodes import memory_of_nodes
from crosswind.web.pages.job.stack import process_title
from crosswind.web.tables import function_rows, lost_rows, process_rows, total_rows
from crosswind.web.timebar import time_parts
from crosswind.web.verdict import verdict_of, verdict_of_loss

__all__ = ["page"]

MAX_PROCESSES = 1000  # rows of the table of processes; more are only counted
MAX_HITS = 100  # rows of the table of stretches
MAX_TIMES = 1 << 20  # processes times slices, up to which the split of the time is made slice by slice


@blueprint.get("/jobs/<int:key>")
def page(key: int) -> str:
    """One tab of the page."""
    wanted = arguments_or_400(PageArguments())
    conn = connection()
    job = job_or_404(conn, key)
    processes = queries.get_processes(conn, key)
    batch = batch_job_of_step(conn, key)
    return render_template(
        f"job/{wanted['tab']}.html",
        job=job,
        wanted=wanted,
        tabs=TABS,
        verdict=verdict_of(job) if job.estimate else verdict_of_loss(read_loss(conn, job)),
        batch=batch,
        killed=_killed(processes),
        footprint=_footprint(conn, job, processes, batch),
        **_TAB_VALUES[wanted["tab"]](conn, job, processes, wanted),
    )


def _killed(processes: list[Process]) -> int:
    return sum(process.count for process in processes if process.state == "killed")


def _footprint(conn: Connection, job: JobRow, processes: list[Process], batch: BatchRow | None) -> list[Bar]:
    return footprint(
        processes,
        details.get_totals(conn, job.key),
        lost_pct=(job.estimate or {}).get("interference_pct"),
        cpus=batch.cpus if batch else None,
        node_bytes=memory_of_nodes(conn, job),
    )


def _time(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    loss = read_loss(conn, job)
    lost = loss.per_slice_s
    hits, n_hits = ([], 0) if lost is None else worst_hits(lost, job.first_slice, job.slice_ns, MAX_HITS)
    chosen = wanted["process"]
    return {
        "hits": hits,
        "n_hits": n_hits,
        "lost_unknown": loss.why_not,
        "process_title": None if chosen is None else process_title(conn, job, chosen),
    }


def _processes(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    rows = process_rows(processes, MAX_PROCESSES)
    return {
        "processes": rows,
        "states": {row.process.state: row.state_text for row in rows if row.process.state != "killed"},
        "has_lost_time": read_loss(conn, job).per_slice_s is not None,
        "more_processes": max(0, len(processes) - MAX_PROCESSES),
        "metrics": metrics_of_job(conn, job),
        "cells": CELLS,
        "n_nodes": len({process.host for process in processes}),
    }


def _segments(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    return {"rows": (job.estimate or {}).get("clusters") or [], "estimate": job.estimate or {}}


def _io(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    return {"access": access_rows(details.get_access(conn, job.key))}


def _functions(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    mpi = np.array([process.is_mpi for process in processes], dtype=np.bool_)
    totals = details.get_totals(conn, job.key)
    if job.n_processes * job.n_slices <= MAX_TIMES:
        data = read_frames(conn, job, TIME_COLUMNS)
        times = time_parts(data.frames, data.covered_ns)
    else:  # each process as one long slice: what it did at the same time as nothing else is lost
        lives = np.array([[process.end_ns - process.start_ns] for process in processes], dtype=np.int64)
        times = time_parts({name: totals[name][:, np.newaxis] for name in TIME_COLUMNS if name in totals}, lives)
    return {
        "functions": function_rows(queries.get_functions(conn, job.key)),
        "totals": total_rows(totals, mpi),
        "time": times,
    }


def _nodes(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    return {}


def _quality(conn: Connection, job: JobRow, processes: list[Process], wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "record": details.get_record(conn, job.key),
        "coverage": read_coverage(conn, job),
        "lost": lost_rows(job.lost),
    }


_TAB_VALUES: dict[str, Callable[[Connection, JobRow, list[Process], dict[str, Any]], dict[str, Any]]] = {
    "time": _time,
    "processes": _processes,
    "segments": _segments,
    "io": _io,
    "functions": _functions,
    "nodes": _nodes,
    "quality": _quality,
}
