"""SELECTs of what the batch system said of jobs, each named for the question it answers."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sqlalchemy import Connection, select

from crosswind.db.batch import BatchJob
from crosswind.db.batch_schema import batch_job, batch_step

__all__ = ["BatchRow", "batch_job_of_step", "latest_state"]


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


def batch_job_of_step(conn: Connection, job_key: int) -> BatchRow | None:
    """The run that a profiled job step belongs to, or None where that is not known."""
    query = select(*_COLUMNS).join(batch_step, batch_step.c.batch_key == batch_job.c.key)
    row = conn.execute(query.where(batch_step.c.job_key == job_key)).one_or_none()
    return None if row is None else BatchRow(**{**row._mapping, "hosts": tuple(row.hosts)})
