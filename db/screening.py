"""The jobs of a stretch of time with their sums: what a site screens. One row a run of a job, profiled or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, select

from crosswind.db import schema
from crosswind.db.batch import ENDED
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.schema import job_sums

__all__ = ["ScreenedJob", "jobs_since"]

_BATCH = 500  # keys in one statement
_Key = tuple[object, ...]  # what a run of a job is found by: cluster, job id, run; or the step alone


@dataclass
class ScreenedJob:
    """A run of a job with the sums over its profiled steps. steps: their keys; none: it has no profile.

    cpus: allocated; None where the batch system said nothing. end_ns: where the batch system did not see it end, of its
    last step; None while it runs, and where nobody saw it end. state: of the batch system, else of the step.
    interference_pct: of the step that lost most.
    """

    job_id: str
    run: int
    cluster: str
    user: str
    name: str
    state: str
    start_ns: int
    end_ns: int | None
    hosts: int
    cpus: int | None
    steps: list[int] = field(default_factory=list)
    interference_pct: float | None = None
    cpu_ns: int = 0
    requests: int = 0
    bytes_moved: int = 0
    opens: int = 0
    metadata_calls: int = 0

    @property
    def runs(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self.end_ns is None and self.state not in ENDED


def jobs_since(conn: Connection, since_ns: int, *, user: str | None = None) -> list[ScreenedJob]:
    """All runs of jobs that began at or after since_ns, by start. The parts of a heterogeneous job are one."""
    jobs: dict[_Key, ScreenedJob] = {}
    key_of_batch: dict[int, _Key] = {}
    for row in _batch_rows(conn, since_ns, user):
        key: _Key = (row.cluster, row.het_job_id or row.job_id, row.run)
        key_of_batch[row.key] = key
        _add_part(jobs, key, row)
    by_step: dict[int, ScreenedJob] = {}
    last_ns: dict[_Key, int] = {}
    for row in _step_rows(conn, since_ns, user, key_of_batch):
        key = key_of_batch.get(row.batch_key, ("step", row.key))
        by_step[row.key] = job = _add_step(jobs, key, row)
        job.steps.append(row.key)
        last_ns[key] = max(row.end_ns, last_ns.get(key, 0))
    for key, job in jobs.items():
        if job.end_ns is None and job.state in ENDED:
            job.end_ns = last_ns.get(key)
    _add_sums(conn, by_step)
    return sorted(jobs.values(), key=lambda job: (job.start_ns, job.job_id, job.run))


def _batch_rows(conn: Connection, since_ns: int, user: str | None) -> Iterator[Row[Any]]:
    b = batch_job.c
    query = select(batch_job).where(b.start_ns >= since_ns).order_by(b.job_id, b.run)
    yield from conn.execute(query if user is None else query.where(b.user == user))


def _step_rows(conn: Connection, since_ns: int, user: str | None, known: dict[int, _Key]) -> Iterator[Row[Any]]:
    """The profiled steps of these runs, and those of no run that began in time."""
    j = schema.job.c
    columns = (
        j.key,
        j.cluster,
        j.job_id,
        j.user,
        j.command,
        j.state,
        j.start_ns,
        j.end_ns,
        j.hosts,
        j.interference_pct,
    )
    query = select(*columns, batch_step.c.batch_key).outerjoin(batch_step, batch_step.c.job_key == j.key)
    query = query.where(j.start_ns >= since_ns).order_by(j.start_ns, j.key)
    for row in conn.execute(query if user is None else query.where(j.user == user)):
        if row.batch_key is None or row.batch_key in known:
            yield row


def _add_part(jobs: dict[_Key, ScreenedJob], key: _Key, row: Row[Any]) -> None:
    if key not in jobs:
        jobs[key] = ScreenedJob(
            str(key[1]), row.run, row.cluster, row.user, row.name, row.state, row.start_ns, row.end_ns, len(row.hosts),
            row.cpus,
        )  # fmt: skip
        return
    job = jobs[key]
    job.hosts += len(row.hosts)
    job.cpus = None if job.cpus is None or row.cpus is None else job.cpus + row.cpus


def _add_step(jobs: dict[_Key, ScreenedJob], key: _Key, row: Row[Any]) -> ScreenedJob:
    if key not in jobs:
        jobs[key] = ScreenedJob(
            row.job_id, 0, row.cluster, row.user, row.command, row.state, row.start_ns, row.end_ns, len(row.hosts), None
        )
    job = jobs[key]
    if row.interference_pct is not None:
        job.interference_pct = max(row.interference_pct, job.interference_pct or 0.0)
    return job


def _add_sums(conn: Connection, by_step: dict[int, ScreenedJob]) -> None:
    for part in _batches(sorted(by_step)):
        for row in conn.execute(select(job_sums).where(job_sums.c.job_key.in_(part))):
            job = by_step[row.job_key]
            job.cpu_ns += row.cpu_ns
            job.bytes_moved += row.fs_bytes
            job.requests += row.fs_requests
            job.opens += row.opens
            job.metadata_calls += row.fs_metadata_calls


def _batches(items: Sequence[int]) -> Iterator[Sequence[int]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
