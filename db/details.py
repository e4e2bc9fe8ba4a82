"""SELECTs behind a job's page: sums, the clock, what was dropped, lost time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crosswind.db import codec, schema
from crosswind.db.evaluation import LostTime, lost_time_of
from crosswind.profile.model import Clock

__all__ = ["JobRecord", "get_access", "get_lost_time", "get_record", "get_totals", "has_segments"]


@dataclass(frozen=True)
class JobRecord:
    """What a job's row holds beside JobRow. dropped_files: (spool file, why it could not be read)."""

    clock: Clock
    dropped_files: tuple[tuple[str, str], ...]


def get_record(conn: Connection, job_key: int) -> JobRecord | None:
    """The clock's quality and the files that could not be read; None: no such job."""
    columns = (schema.job.c.clock, schema.job.c.dropped_files)
    row = conn.execute(select(*columns).where(schema.job.c.key == job_key)).one_or_none()
    if row is None:
        return None
    return JobRecord(Clock(**row.clock), tuple((path, reason) for path, reason in row.dropped_files))


def get_totals(conn: Connection, job_key: int) -> dict[str, NDArray[np.int64]]:
    """The counters at the very end by metric: int64 [process]. Metrics that are zero everywhere are absent."""
    query = (
        select(schema.metric.c.name, schema.total.c.data, schema.job.c.n_processes)
        .join(schema.metric, schema.metric.c.id == schema.total.c.metric_id)
        .join(schema.job, schema.job.c.key == schema.total.c.job_key)
        .where(schema.total.c.job_key == job_key)
    )
    return {name: codec.decode_ints(data, (n,)) for name, data, n in conn.execute(query)}


def get_access(conn: Connection, job_key: int) -> dict[str, NDArray[np.int64]]:
    """The access patterns by name (crosswind.profile.access): int64 [process, number]."""
    query = (
        select(schema.access.c.name, schema.access.c.width, schema.access.c.data, schema.job.c.n_processes)
        .join(schema.job, schema.job.c.key == schema.access.c.job_key)
        .where(schema.access.c.job_key == job_key)
        .order_by(schema.access.c.name)
    )
    return {name: codec.decode_ints(data, (n, width)) for name, width, data, n in conn.execute(query)}


def get_lost_time(conn: Connection, job_key: int) -> LostTime | None:
    """When the job lost time, as it was found when it was loaded; None where nothing is stored.

    Raises DatabaseError when what is stored is damaged.
    """
    row = conn.execute(select(schema.lost_time).where(schema.lost_time.c.job_key == job_key)).one_or_none()
    return None if row is None else lost_time_of(row)


def has_segments(conn: Connection, job_key: int) -> bool:
    """Whether the job has the bulk-synchronous view that estimates are made of."""
    query = select(schema.segments.c.job_key).where(schema.segments.c.job_key == job_key)
    return conn.execute(query).one_or_none() is not None
