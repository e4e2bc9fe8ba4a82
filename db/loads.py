"""What the jobs beside a job did on the resources that they share with it, on its slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crosswind.db import codec, queries, resources, schema
from crosswind.db.background import add_block
from crosswind.db.queries import JobRow

__all__ = ["MAX_JOBS", "JobLoad", "Neighbours", "loads_beside"]

MAX_JOBS = 1000  # read for one job; the others are only counted


@dataclass(frozen=True)
class JobLoad:
    """What one other job did on one resource. values: metric -> int64 [slice], on the slices of the job asked about."""

    job: JobRow
    resource: str
    values: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Neighbours:
    """The loads of the jobs beside a job. left_out: how many jobs were not read, beyond MAX_JOBS."""

    loads: tuple[JobLoad, ...]
    left_out: int


def loads_beside(conn: Connection, job: JobRow, metrics: Mapping[str, Collection[str]]) -> Neighbours:
    """Every other job that used a resource of this job while it ran.

    metrics: kind of resource (db.resources.FEEDS) -> the metrics to read there; other kinds are left out. Of too many
    jobs those are read that ran longest beside it. A job does nothing outside of its own slices: its values there
    are 0. A metric that is zero everywhere is absent.
    """
    names = [name for name in queries.resources_of_job(conn, job.key) if resources.split(name)[0] in metrics]
    users = {name: _others(conn, job, name) for name in names}
    kept, left_out = _longest(job, {other.key: other for found in users.values() for other in found}.values())
    frames = _frames(conn, kept, {metric for of_kind in metrics.values() for metric in of_kind})
    loads = [
        JobLoad(other, name, values)
        for name, found in users.items()
        for other in found
        if other.key in kept and (values := _share(conn, job, other, name, metrics, frames.get(other.key, {})))
    ]
    return Neighbours(tuple(loads), left_out)


def _others(conn: Connection, job: JobRow, resource: str) -> list[JobRow]:
    found = queries.jobs_overlapping(conn, job.start_ns, job.end_ns, resource)
    return [other for other in found if other.key != job.key]


def _longest(job: JobRow, others: Iterable[JobRow]) -> tuple[dict[int, JobRow], int]:
    """The jobs to read by their key, and how many are left out."""
    by_time = sorted(others, key=lambda o: min(o.end_ns, job.end_ns) - max(o.start_ns, job.start_ns), reverse=True)
    return {other.key: other for other in by_time[:MAX_JOBS]}, max(0, len(by_time) - MAX_JOBS)


def _frames(
    conn: Connection, jobs: Mapping[int, JobRow], metrics: Collection[str]
) -> dict[int, dict[str, NDArray[np.int64]]]:
    """The frames of these jobs: key -> metric -> int64 [process, slice]."""
    query = (
        select(schema.frame.c.job_key, schema.metric.c.name, schema.frame.c.data)
        .join(schema.metric, schema.metric.c.id == schema.frame.c.metric_id)
        .where(
            schema.frame.c.job_key.in_(list(jobs)),
            schema.metric.c.name.in_(list(metrics)),
        )
    )
    out: dict[int, dict[str, NDArray[np.int64]]] = {}
    for key, name, data in conn.execute(query):
        shape = (jobs[key].n_processes, jobs[key].n_slices)
        out.setdefault(key, {})[name] = codec.decode_ints(data, shape)
    return out


def _share(
    conn: Connection,
    job: JobRow,
    other: JobRow,
    resource: str,
    metrics: Mapping[str, Collection[str]],
    frames: Mapping[str, NDArray[np.int64]],
) -> dict[str, NDArray[np.int64]]:
    """What `other` did on the resource, metric -> int64 [slice of job]."""
    kind, host = resources.split(resource)
    wanted = [metric for metric in metrics[kind] if metric in frames]
    if not wanted:
        return {}
    shared_by_all = not host or len(other.hosts) == 1
    hosts: Sequence[str] = () if shared_by_all else [p.host for p in queries.get_processes(conn, other.key)]
    out = {}
    for metric in wanted:
        own = frames[metric].sum(axis=0) if shared_by_all else resources.share_of(resource, frames[metric], hosts)
        if own.any():
            out[metric] = _on_slices_of(job, other, own)
    return out


def _on_slices_of(job: JobRow, other: JobRow, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """A counter of `other`, [slice of other], spread over the slices of `job`."""
    out = np.zeros(job.n_slices, dtype=np.int64)
    start_ns = other.first_slice * other.slice_ns
    add_block(out, job.first_slice, job.slice_ns, values, start_ns, other.slice_ns, gauge=False)
    return out
