"""The jobs of a stretch of time with their sums: what a site screens. One row a run of a job, profiled or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, select

from crosswind.db import codec, schema
from crosswind.db.batch import ENDED
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.details import IO_VOLUME_METRICS

__all__ = ["OPENS", "ScreenedJob", "jobs_since"]

OPENS = ("open", "openat", "creat", "fopen", "freopen", "MPI_File_open")
_VOLUMES = frozenset(IO_VOLUME_METRICS)
_REQUESTS = frozenset(name.removesuffix("bytes") + "calls" for name in IO_VOLUME_METRICS)
_METADATA = frozenset(f"posix_{place}_meta_calls" for place in ("net", "disk"))
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
        for key, name, total in _totals(conn, part):
            job = by_step[key]
            if name == "cpu_time":
                job.cpu_ns += total
            elif name in _VOLUMES:
                job.bytes_moved += total
            elif name in _REQUESTS:
                job.requests += total
            else:
                job.metadata_calls += total
        for key, total in _opens(conn, part).items():
            by_step[key].opens += total


def _totals(conn: Connection, keys: Sequence[int]) -> Iterator[tuple[int, str, int]]:
    """(job step, metric, sum over its processes) of the metrics that are screened."""
    names = {"cpu_time", *_VOLUMES, *_REQUESTS, *_METADATA}
    query = (
        select(schema.total.c.job_key, schema.metric.c.name, schema.total.c.data, schema.job.c.n_processes)
        .join(schema.metric, schema.metric.c.id == schema.total.c.metric_id)
        .join(schema.job, schema.job.c.key == schema.total.c.job_key)
        .where(schema.total.c.job_key.in_(keys), schema.metric.c.name.in_(sorted(names)))
    )
    for key, name, data, n in conn.execute(query):
        yield key, name, int(codec.decode_ints(data, (n,)).sum())


def _opens(conn: Connection, keys: Sequence[int]) -> dict[int, int]:
    """How often each of these job steps opened a file."""
    query = (
        select(schema.function.c.job_key, schema.function.c.data, schema.job.c.n_processes)
        .join(schema.job, schema.job.c.key == schema.function.c.job_key)
        .where(schema.function.c.job_key.in_(keys), schema.function.c.name.in_(OPENS))
    )
    opens: dict[int, int] = defaultdict(int)
    for key, data, n in conn.execute(query):
        opens[key] += int(codec.decode_ints(data, (n, 4))[:, 0].sum())
    return opens


def _batches(items: Sequence[int]) -> Iterator[Sequence[int]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
