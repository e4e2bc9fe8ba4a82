"""SELECTs behind the grid of nodes by time: which jobs ran where, and what each did on each of its nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, or_, select

from crosswind.db import codec
from crosswind.db.evaluation import lost_time_of
from crosswind.db.schema import coverage, frame, job, lost_time, metric, process, resource
from crosswind.db.scope import JobScope

__all__ = [
    "HostValues", "PlacedJob", "first_job_ns", "host_rows", "lost_per_slice", "per_host", "placed_jobs",
    "shared_resources",
]  # fmt: skip

_PART = 500  # keys in one statement


@dataclass(frozen=True)
class PlacedJob:
    """A job step on the grid. start_ns, end_ns: UTC."""

    key: int
    cluster: str
    job_id: str
    step: str
    user: str
    command: str
    state: str
    hosts: tuple[str, ...]
    start_ns: int
    end_ns: int
    slice_ns: int
    first_slice: int
    n_slices: int
    n_processes: int
    detail: bool

    def cells(self, start_ns: int, end_ns: int) -> int:
        """Process-slices between two times: what reading one metric costs."""
        begin = max(start_ns // self.slice_ns, self.first_slice)
        end = min(-(-end_ns // self.slice_ns), self.first_slice + self.n_slices)
        return self.n_processes * max(end - begin, 0)


_COLUMNS = [job.c[name] for name in PlacedJob.__dataclass_fields__]


def placed_jobs(conn: Connection, start_ns: int, end_ns: int, scope: JobScope) -> list[PlacedJob]:
    """The job steps in scope that ran in [start_ns, end_ns), by their begin. None began earlier than the longest
    lasted, so that an index on the begin finds them.
    """
    duration = job.c.end_ns - job.c.start_ns
    longest = conn.execute(select(duration).order_by(duration.desc()).limit(1)).scalar_one_or_none() or 0
    query = select(*_COLUMNS).where(
        job.c.start_ns < end_ns, job.c.start_ns >= start_ns - longest, job.c.end_ns > start_ns, scope.condition()
    )
    rows = conn.execute(query.order_by(job.c.start_ns, job.c.key))
    return [PlacedJob(**{**row._mapping, "hosts": tuple(row.hosts)}) for row in rows]


def first_job_ns(conn: Connection, scope: JobScope) -> int | None:
    """When the first job in scope began."""
    return conn.execute(
        select(job.c.start_ns).where(scope.condition()).order_by(job.c.start_ns).limit(1)
    ).scalar_one_or_none()


def shared_resources(conn: Connection, kinds: Collection[str]) -> list[str]:
    """The names of the resources of these kinds that any job used."""
    r = resource.c
    of_kinds = or_(*(r.name.startswith(f"{kind}@", autoescape=True) for kind in sorted(kinds)))
    return list(conn.execute(select(r.name).where(of_kinds).order_by(r.name)).scalars())


def host_rows(conn: Connection, jobs: Sequence[PlacedJob]) -> dict[int, list[tuple[str, int, int]]]:
    """For each job the rows of its frames by host: (host, first row, number). Jobs whose processes of a host are not
    side by side are absent.
    """
    p = process.c
    out: dict[int, list[tuple[str, int, int]]] = {
        one.key: [(one.hosts[0], 0, one.n_processes)] for one in jobs if len(one.hosts) == 1
    }
    many = [one.key for one in jobs if len(one.hosts) > 1]
    scattered: set[int] = set()
    for at in range(0, len(many), _PART):
        query = (
            select(p.job_key, p.host, func.min(p.number), func.max(p.number), func.count())
            .where(p.job_key.in_(many[at : at + _PART]))
            .group_by(p.job_key, p.host)
        )
        for key, host, first, last, n in conn.execute(query):
            out.setdefault(key, []).append((host, first, n))
            if last - first + 1 != n:
                scattered.add(key)
    return {key: rows for key, rows in out.items() if key not in scattered}


@dataclass(frozen=True)
class HostValues:
    """Slices of a job from first_slice on. values: the sum over the processes of each host, int64 [host, slice]."""

    job: PlacedJob
    hosts: list[str]
    first_slice: int
    values: NDArray[np.int64]


def per_host(
    conn: Connection, jobs: Sequence[PlacedJob], metrics: Collection[str], start_ns: int, end_ns: int
) -> Iterator[HostValues]:
    """What each of these jobs did of these metrics together, in the blocks of its slices that overlap [start_ns,
    end_ns). Jobs that did none of it, and those whose slices were pruned, are left out.
    """
    by_key = {one.key: one for one in jobs if one.detail and one.n_slices}
    rows = host_rows(conn, list(by_key.values()))
    c, f = coverage.c, frame.c
    for at in range(0, len(keys := sorted(rows)), _PART):
        part = keys[at : at + _PART]
        spans = {
            (row.job_key, row.start_ns): (row.n_processes, row.n_slices)
            for row in conn.execute(
                select(c.job_key, c.start_ns, c.n_slices, c.n_processes).where(c.job_key.in_(part), c.start_ns < end_ns)
            )
            if row.start_ns + row.n_slices * by_key[row.job_key].slice_ns > start_ns
        }
        if not spans:
            continue
        starts = [start for _, start in spans]
        query = (
            select(f.job_key, f.start_ns, f.data)
            .join(metric, metric.c.id == f.metric_id)
            .where(
                f.job_key.in_(part), metric.c.name.in_(sorted(metrics)), f.start_ns.between(min(starts), max(starts))
            )
        )
        held: dict[tuple[int, int], NDArray[np.int64]] = {}
        for key, start, data in conn.execute(query):
            if (key, start) in spans:
                values = codec.decode_ints(data, spans[key, start])
                summed = np.stack([values[first : first + n].sum(axis=0) for _, first, n in rows[key]])
                held[key, start] = held[key, start] + summed if (key, start) in held else summed
        of_jobs: dict[int, dict[int, NDArray[np.int64]]] = {}
        for (key, start), values in held.items():
            of_jobs.setdefault(key, {})[start // by_key[key].slice_ns] = values
        for key, blocks in of_jobs.items():
            yield HostValues(by_key[key], [host for host, _, _ in rows[key]], min(blocks), _joined(blocks))


def _joined(blocks: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Blocks [host, slice] by their first slice as one; 0 between them, where a job did nothing."""
    if len(blocks) == 1:
        return next(iter(blocks.values()))
    first = min(blocks)
    n_slices = max(at + values.shape[1] for at, values in blocks.items()) - first
    out = np.zeros((next(iter(blocks.values())).shape[0], n_slices), dtype=np.int64)
    for at, values in blocks.items():
        out[:, at - first : at - first + values.shape[1]] = values
    return out


def lost_per_slice(conn: Connection, jobs: Sequence[PlacedJob]) -> Iterator[tuple[PlacedJob, NDArray[np.int64]]]:
    """For each job that lost any time what it lost in each of its slices, int64 [slice], ns."""
    by_key = {one.key: one for one in jobs if one.n_slices}
    for at in range(0, len(keys := sorted(by_key)), _PART):
        for row in conn.execute(select(lost_time).where(lost_time.c.job_key.in_(keys[at : at + _PART]))):
            of_job = by_key[row.job_key]
            lost = lost_time_of(row).in_slices(of_job.first_slice, of_job.n_slices)
            if lost.any():
                yield of_job, lost
