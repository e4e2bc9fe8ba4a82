"""What the jobs beside a job did on the resources that they share with it, on its slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.db import queries, resources
from crosswind.db.background import add_block
from crosswind.db.frames import each_frame
from crosswind.db.queries import JobRow

__all__ = ["JobLoad", "Neighbours", "loads_beside"]

MAX_JOBS = 1000  # read for one job; the others are only counted
MAX_FRAME = 256 << 20  # bytes of one metric of a job that is read
MAX_HELD = 256 << 20  # bytes of loads, after which no further job is read


@dataclass(frozen=True)
class JobLoad:
    """What one other job did on one resource. values: metric -> int64 [slice], on the slices of the job asked about."""

    job: JobRow
    resource: str
    values: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Neighbours:
    """The loads of the jobs beside a job. left_out: how many jobs were not read: their slices were
    pruned or are too large, or there were too many of them.
    """

    loads: tuple[JobLoad, ...]
    left_out: int


def loads_beside(conn: Connection, job: JobRow, metrics: Mapping[str, Collection[str]]) -> Neighbours:
    """Every other job that used a resource of this job while it ran.

    metrics: kind of resource (db.resources.FEEDS) -> the metrics to read there; other kinds are left out. Of too many
    jobs those are read that ran longest beside it. A job does nothing outside of its own slices: its values there
    are 0. A metric that is zero everywhere is absent.
    """
    names = [name for name in queries.resources_of_job(conn, job.key) if resources.split(name)[0] in metrics]
    others: dict[int, JobRow] = {}
    shared: dict[int, list[str]] = {}
    for name in names:
        for other in _others(conn, job, name):
            others[other.key] = other
            shared.setdefault(other.key, []).append(name)
    loads: list[JobLoad] = []
    left_out = held = 0
    for number, other in enumerate(_longest_first(job, others.values())):
        if number >= MAX_JOBS or held > MAX_HELD or not _is_readable(other):
            left_out += 1
            continue
        found = _loads_of(conn, job, other, shared[other.key], metrics)
        held += sum(values.nbytes for load in found for values in load.values.values())
        loads += found
    loads.sort(key=lambda load: (load.resource, load.job.start_ns, load.job.key))
    return Neighbours(tuple(loads), left_out)


def _others(conn: Connection, job: JobRow, resource: str) -> list[JobRow]:
    found = queries.jobs_overlapping(conn, job.start_ns, job.end_ns, resource)
    return [other for other in found if other.key != job.key]


def _longest_first(job: JobRow, others: Iterable[JobRow]) -> list[JobRow]:
    return sorted(others, key=lambda o: min(o.end_ns, job.end_ns) - max(o.start_ns, job.start_ns), reverse=True)


def _is_readable(other: JobRow) -> bool:
    """Whether its slices are there, and one metric of them fits."""
    return other.detail and 8 * other.n_processes * other.n_slices <= MAX_FRAME


def _loads_of(
    conn: Connection, job: JobRow, other: JobRow, names: Sequence[str], metrics: Mapping[str, Collection[str]]
) -> list[JobLoad]:
    """What `other` did on these resources. One of its frames at a time is in memory."""
    wanted = {name: metrics[resources.split(name)[0]] for name in names}
    values: dict[str, dict[str, NDArray[np.int64]]] = {name: {} for name in names}
    hosts: Sequence[str] = () if len(other.hosts) == 1 else [p.host for p in queries.get_processes(conn, other.key)]
    for metric, frame in _frames(conn, other, {metric for some in wanted.values() for metric in some}):
        for name in (name for name, some in wanted.items() if metric in some):
            whole = not resources.split(name)[1] or len(other.hosts) == 1
            own = frame.sum(axis=0) if whole else resources.share_of(name, frame, hosts)
            if own.any():
                values[name][metric] = _on_slices_of(job, other, own)
    return [JobLoad(other, name, of_name) for name, of_name in values.items() if of_name]


def _frames(conn: Connection, job: JobRow, metrics: Collection[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A job's frames of these metrics one by one, int64 [process, slice]."""
    return each_frame(conn, job.key, metrics)


def _on_slices_of(job: JobRow, other: JobRow, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """A counter of `other`, [slice of other], spread over the slices of `job`."""
    out = np.zeros(job.n_slices, dtype=np.int64)
    start_ns = other.first_slice * other.slice_ns
    add_block(out, job.first_slice, job.slice_ns, values, start_ns, other.slice_ns, gauge=False)
    return out
