"""SELECTs of what the batch system said of jobs, each named for the question it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, Row, select

from crosswind.db import schema
from crosswind.db.batch import BatchJob
from crosswind.db.batch_schema import batch_job, batch_step

__all__ = ["BatchRow", "batch_job_of_step", "find_batch_jobs", "latest_state", "steps_of_batch_job"]


@dataclass(frozen=True)
class BatchRow(BatchJob):
    """One run of a job as the database has it. key: its number there."""

    key: int = 0
    cluster: str = ""


_COLUMNS = [batch_job.c[f.name] for f in fields(BatchRow)]


def latest_state(conn: Connection, job_id: str, uid: int, cluster: str = "") -> str | None:
    """The state of a job's last run, or None where the job is not known."""
    b = batch_job.c
    query = (
        select(b.state).where(b.cluster == cluster, b.job_id == job_id, b.uid == uid).order_by(b.run.desc()).limit(1)
    )
    return conn.execute(query).scalar_one_or_none()


def find_batch_jobs(conn: Connection, job_ids: Sequence[str] | None = None, cluster: str = "") -> list[BatchRow]:
    """All runs of these jobs (None: of all), by job and run."""
    query = select(*_COLUMNS).where(batch_job.c.cluster == cluster).order_by(batch_job.c.job_id, batch_job.c.run)
    if job_ids is not None:
        query = query.where(batch_job.c.job_id.in_(job_ids))
    return [_row(row) for row in conn.execute(query)]


def batch_job_of_step(conn: Connection, job_key: int) -> BatchRow | None:
    """The run that a profiled job step belongs to, or None where that is not known."""
    query = select(*_COLUMNS).join(batch_step, batch_step.c.batch_key == batch_job.c.key)
    row = conn.execute(query.where(batch_step.c.job_key == job_key)).one_or_none()
    return None if row is None else _row(row)


def steps_of_batch_job(conn: Connection, batch_key: int) -> list[tuple[int, str]]:
    """The profiled steps of a run: (key of the job step, its name), by start."""
    query = (
        select(schema.job.c.key, schema.job.c.step)
        .join(batch_step, batch_step.c.job_key == schema.job.c.key)
        .where(batch_step.c.batch_key == batch_key)
        .order_by(schema.job.c.start_ns, schema.job.c.key)
    )
    return [(row.key, row.step) for row in conn.execute(query)]


def _row(row: Row[Any]) -> BatchRow:
    return BatchRow(**{**row._mapping, "hosts": tuple(row.hosts)})
