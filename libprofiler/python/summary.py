"""What a profile holds in one document: `crosswind show --json`. Other programs rely on its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.access import access_by_class, file_counts_by_class, pattern
from crosswind.profile.metrics import LOST
from crosswind.profile.model import Process, Profile
from crosswind.profile.segments import SegmentTable
from crosswind.profile.threads import ThreadsAtWork, threads_at_work
from crosswind.profile.timesplit import time_split

__all__ = ["summarize", "summarize_access"]

SECOND_NS = 1_000_000_000


def summarize(profile: Profile) -> dict[str, Any]:
    """The summary of a profile, in plain Python types. Times are seconds, instants seconds of UTC, unless named else.

    totals: per metric sum, min, avg and max over the processes (a process that has none of a metric counts 0).
    time_s: where the threads' time went. processes[].threads: how many threads were at work (threads.py).
    functions: calls, bytes_out, bytes_in and time_s, summed over the processes. access: see summarize_access.
    """
    return {
        "job": _job(profile),
        "processes": [
            _process(p, bool(partial), at_work)
            for p, partial, at_work in zip(profile.processes, profile.partial, threads_at_work(profile), strict=True)
        ],
        "slices": {
            "length_s": profile.slice_ns / SECOND_NS,
            "first": profile.first_slice,
            "count": profile.n_slices,
            "covered_s": int(profile.covered_ns.sum()) / SECOND_NS,
        },
        "totals": _totals(profile),
        "time_s": _time(profile),
        "functions": {name: _function(q.sum(axis=0, dtype=np.int64).tolist()) for name, q in profile.functions.items()},
        "access": summarize_access(profile.access),
        "segments": _segments(profile),
        "lost": {
            "counts": dict(profile.lost),
            "reasons": {name: LOST[name] for name in profile.lost if name in LOST},
            "files": [{"path": path, "reason": reason} for path, reason in profile.dropped_files],
        },
        "clock": asdict(profile.clock),
    }


def _job(profile: Profile) -> dict[str, Any]:
    job = profile.job
    return {
        "id": job.id,
        "step": job.step,
        "user": job.user,
        "uid": job.uid,
        "hosts": list(job.hosts),
        "ranks": job.ranks,
        "processes": len(profile.processes),
        "start": job.start_ns / SECOND_NS,
        "end": job.end_ns / SECOND_NS,
        "run_time_s": (job.end_ns - job.start_ns) / SECOND_NS,
        "command": job.command,
        "mpi": job.mpi,
    }


def _process(process: Process, partial: bool, at_work: ThreadsAtWork | None) -> dict[str, Any]:
    return {
        "host": process.host,
        "pid": process.pid,
        "rank": process.rank,
        "exe": process.exe,
        "count": process.count,
        "mpi": process.is_mpi,
        "start": process.start_ns / SECOND_NS,
        "end": process.end_ns / SECOND_NS,
        "state": process.state,
        "partial": partial,
        "counters": process.counters,
        "lost": dict(process.lost),
        "omp_num_threads": process.omp_num_threads,
        "threads": None if at_work is None else {**asdict(at_work), "remark": at_work.remark},
    }


def _time(profile: Profile) -> dict[str, Any]:
    """Thread time in seconds by category (timesplit.py): of the job, and [process] in the order of the processes."""
    seconds = {name: values.sum(axis=1) / SECOND_NS for name, values in time_split(profile).items()}
    return {
        "job": {name: float(values.sum()) for name, values in seconds.items()},
        "processes": {name: values.tolist() for name, values in seconds.items()},
    }


def _totals(profile: Profile) -> dict[str, dict[str, Any]]:
    """In the order of the columns: the sum over all processes; the rest over the ranks, where there are any.

    A launcher and its helpers are processes too, and would make every minimum 0.
    """
    rows = profile.mpi_rows
    totals = {}
    for column in profile.columns:
        values = profile.totals.get(column.name)
        if values is not None and values.size:
            spread = values[rows] if rows.size else values
            totals[column.name] = {
                "sum": int(values.sum()),
                "min": int(spread.min()),
                "avg": float(spread.mean()),
                "max": int(spread.max()),
                "unit": column.unit,
            }
    return totals


def _function(quad: list[int]) -> dict[str, Any]:
    calls, bytes_out, bytes_in, time_ns = quad
    return {"calls": calls, "bytes_out": bytes_out, "bytes_in": bytes_in, "time_s": time_ns / SECOND_NS}


def summarize_access(arrays: Mapping[str, NDArray[np.int64]]) -> dict[str, dict[str, Any]]:
    """Per class of file: `files`, the different files by own or shared and by use, and per way the pattern in words,
    the steps, and `sizes`: [smallest number of bytes, requests] where there are any.
    """
    files = file_counts_by_class(arrays)
    return {
        cls: {
            "files": asdict(files[cls]) if cls in files else None,
            **{
                way: {
                    "requests": access.requests,
                    "pattern": pattern(access, writes=way.endswith("write")),
                    "steps": access.steps,
                    "sizes": [[bucket and 1 << bucket - 1, n] for bucket, n in enumerate(access.sizes) if n],
                }
                for way, access in ways.items()
            },
        }
        for cls, ways in access_by_class(arrays).items()
    }


def _closed_by(table: SegmentTable) -> dict[str, int]:
    """How many columns of the table each call ended, most first."""
    counts = np.bincount(table.closed_at[table.closed_at >= 0], minlength=len(table.places))
    return {table.places[i]: int(counts[i]) for i in np.argsort(-counts, kind="stable") if counts[i]}


def _segments(profile: Profile) -> dict[str, Any] | None:
    """How many segments there are, mean and longest duration over ranks, and whether instructions were counted."""
    table = profile.segments
    if table is None or "dur_us" not in table.columns or not table.valid.any():
        return None
    duration = table.columns["dur_us"][table.valid] / np.broadcast_to(table.stride, table.valid.shape)[table.valid]
    return {
        "count": int(table.stride.sum()),
        "records": table.n_segments,
        "from_call_sites": int(np.count_nonzero(table.from_call_sites)),
        "call_sites": list(table.call_sites),
        "closed_by": _closed_by(table),
        "ranks": table.n_ranks,
        "mean_us": float(duration.mean()),
        "max_us": float(duration.max()),
        "instructions": table.has("instructions"),
    }
