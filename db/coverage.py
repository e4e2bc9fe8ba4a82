"""How much of the machine was profiled: what the batch system had running, beside what was profiled of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, func, not_, or_, select

from crosswind.db import schema
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.crowd import Run
from crosswind.db.job_entries import batch_scope
from crosswind.db.scope import JobScope

__all__ = ["MAX_RUNS", "Allocations", "read_allocations", "runs_outside"]

MAX_RUNS = 50_000  # of the batch system that one answer looks at


@dataclass(frozen=True)
class Allocations:
    """Runs of the batch system in a stretch of time, with their nodes. Arrays are int64, times UTC ns.

    begin_ns, end_ns, nodes: [run], all of them. profiled_*: [run with a profiled step], from its first step's begin to
    its last one's end, and the most nodes that one of them had. complete: whether all runs were looked at.
    """

    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    nodes: NDArray[np.int64]
    profiled_begin_ns: NDArray[np.int64]
    profiled_end_ns: NDArray[np.int64]
    profiled_nodes: NDArray[np.int64]
    complete: bool


def read_allocations(conn: Connection, cluster: str, start_ns: int, end_ns: int) -> Allocations | None:
    """The runs of a cluster in [start_ns, end_ns); None where the batch system told of none. A run whose end is not
    known goes on until end_ns.
    """
    b, j = batch_job.c, schema.job.c
    inside = _inside(cluster, start_ns, end_ns)
    runs = (
        select(b.start_ns, func.coalesce(b.end_ns, end_ns), func.json_array_length(b.hosts))
        .where(*inside)
        .order_by(b.start_ns)
        .limit(MAX_RUNS + 1)
    )
    every = np.array([tuple(row) for row in conn.execute(runs)], dtype=np.int64).reshape(-1, 3)
    if not every.size:
        return None
    steps = (
        select(func.min(j.start_ns), func.max(j.end_ns), func.max(func.json_array_length(j.hosts)))
        .join(batch_step, batch_step.c.batch_key == b.key)
        .join(schema.job, j.key == batch_step.c.job_key)
        .where(*inside, j.start_ns < end_ns, j.end_ns > start_ns)
        .group_by(b.key)
        .limit(MAX_RUNS + 1)
    )
    profiled = np.array([tuple(row) for row in conn.execute(steps)], dtype=np.int64).reshape(-1, 3)
    begin_ns, run_end_ns, nodes = every[:MAX_RUNS].T
    first_ns, last_ns, most_nodes = profiled[:MAX_RUNS].T
    return Allocations(begin_ns, run_end_ns, nodes, first_ns, last_ns, most_nodes, complete=len(every) <= MAX_RUNS)


def runs_outside(conn: Connection, cluster: str, start_ns: int, end_ns: int, scope: JobScope) -> list[Run]:
    """Of the same runs those that are out of scope: by what the batch system says of them, and by their steps."""
    b, j = batch_job.c, schema.job.c
    seen = select(batch_step.c.batch_key).join(schema.job, j.key == batch_step.c.job_key).where(scope.condition())
    query = (
        select(b.cluster, b.job_id, b.uid, b.start_ns, func.coalesce(b.end_ns, end_ns))
        .where(*_inside(cluster, start_ns, end_ns), not_(batch_scope(scope)), b.key.not_in(seen))
        .order_by(b.start_ns)
        .limit(MAX_RUNS)
    )
    return [Run(*row) for row in conn.execute(query)]


def _inside(cluster: str, start_ns: int, end_ns: int) -> tuple[ColumnElement[bool], ...]:
    b = batch_job.c
    return b.cluster == cluster, b.start_ns < end_ns, or_(b.end_ns.is_(None), b.end_ns > start_ns)
