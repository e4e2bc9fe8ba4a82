"""What tests ask of the runs of jobs that a batch system reported; the product itself never lists them like this."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import Connection, select

from crosswind.db import schema
from crosswind.db.batch_queries import BatchRow
from crosswind.db.batch_schema import batch_job, batch_step

__all__ = ["find_batch_jobs", "steps_of_batch_job"]


def find_batch_jobs(conn: Connection) -> list[BatchRow]:
    """All runs of all jobs of the unnamed cluster, by job and run."""
    columns = [batch_job.c[f.name] for f in fields(BatchRow)]
    query = select(*columns).where(batch_job.c.cluster == "").order_by(batch_job.c.job_id, batch_job.c.run)
    return [BatchRow(**{**row._mapping, "hosts": tuple(row.hosts)}) for row in conn.execute(query)]


def steps_of_batch_job(conn: Connection, batch_key: int) -> list[tuple[int, str]]:
    """The profiled steps of a run: (key of the job step, its name), by start."""
    query = (
        select(schema.job.c.key, schema.job.c.step)
        .join(batch_step, batch_step.c.job_key == schema.job.c.key)
        .where(batch_step.c.batch_key == batch_key)
        .order_by(schema.job.c.start_ns, schema.job.c.key)
    )
    return [(row.key, row.step) for row in conn.execute(query)]
