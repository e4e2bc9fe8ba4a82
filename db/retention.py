"""Letting go of detail: slices and segments of old jobs, and old slices of nodes.

The jobs, their totals and the background stay for ever.

A pruned job keeps its row (who, when, where, its estimate, when it lost time), its processes, totals, functions and
access patterns. What loads later of a pruned job changes nothing: see store.load_profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, func, select, update

from crosswind.db import schema
from crosswind.db.connection import writing
from crosswind.db.node_queries import old_node_bytes
from crosswind.db.nodes import prune_node_frames
from crosswind.db.partitions import Partition, drop_partition, old_partitions

__all__ = ["PruneStep", "detail_before", "prune_detail"]

_DETAIL = {  # table -> the bytes of a row of it
    **{table: func.length(table.c.data) for table in (schema.frame, schema.coverage, schema.segments)},
    schema.summary: func.length(schema.summary.c.sums) + func.length(schema.summary.c.bands),
}
_MOST_JOBS = 50  # in one transaction
_MOST_BYTES = 32 << 20

# Where the frames of a job lie: blocks begin in [_FIRST_NS, _END_NS).
_FIRST_NS = schema.job.c.first_slice * schema.job.c.slice_ns
_END_NS = (schema.job.c.first_slice + schema.job.c.n_slices) * schema.job.c.slice_ns


@dataclass(frozen=True)
class PruneStep:
    """What one transaction let go, or would: jobs, compressed bytes of slices and segments, partitions dropped."""

    jobs: int
    n_bytes: int
    partitions: int = 0


def detail_before(conn: Connection, before_ns: int) -> PruneStep:
    """What prune_detail would let go."""
    jobs = conn.execute(select(func.count()).select_from(schema.job).where(*_is_old(before_ns))).scalar_one()
    sizes = [
        conn.execute(
            select(func.coalesce(func.sum(size), 0))
            .select_from(table)
            .join(schema.job, schema.job.c.key == table.c.job_key)
            .where(*_is_old(before_ns))
        ).scalar_one()
        for table, size in _DETAIL.items()
    ]
    sizes.append(old_node_bytes(conn, before_ns))
    return PruneStep(jobs, sum(map(int, sizes)), len(_droppable(conn, before_ns)))


def prune_detail(engine: Engine, before_ns: int) -> Iterator[PruneStep]:
    """Let go of the detail of job steps that ended before; yields after each transaction.

    Each is short (50 jobs or 32 MB), so collectors load in between. Interrupted at any point it leaves whole jobs, and
    the next call goes on. PostgreSQL drops a partition when nobody needs any of it. Raises DatabaseError when
    readers keep it from that for more than ten seconds.
    """
    with engine.connect() as conn:
        doomed = _droppable(conn, before_ns)
    last = 0
    while True:
        with writing(engine) as conn:
            keys, n_bytes, last = _next_jobs(conn, before_ns, last)
            if not keys:
                break
            _let_go(conn, keys, doomed)
        yield PruneStep(len(keys), n_bytes)
    for partition in doomed:
        if _drop(engine, partition):
            yield PruneStep(0, 0, 1)
    for n_bytes, partitions in prune_node_frames(engine, before_ns):
        yield PruneStep(0, n_bytes, partitions)


def _is_old(before_ns: int) -> tuple[ColumnElement[bool], ...]:
    return schema.job.c.detail, schema.job.c.end_ns < before_ns


def _next_jobs(conn: Connection, before_ns: int, after_ns: int) -> tuple[list[int], int, int]:
    """The next jobs by their end, their bytes, and the end of the last. On PostgreSQL their rows are locked."""
    query = (
        select(schema.job.c.key, schema.job.c.end_ns)
        .where(*_is_old(before_ns), schema.job.c.end_ns >= after_ns)
        .order_by(schema.job.c.end_ns, schema.job.c.key)
        .limit(_MOST_JOBS)
    )
    candidates = _still_old(conn, conn.execute(query).all(), before_ns)
    while not candidates and (again := conn.execute(query).all()):  # others pruned or grew all of them meanwhile
        candidates = _still_old(conn, again, before_ns)
    found = [row.key for row in candidates]
    sizes = dict.fromkeys(found, 0)
    for table, size in _DETAIL.items():
        per_job = select(table.c.job_key, func.sum(size)).where(table.c.job_key.in_(found)).group_by(table.c.job_key)
        for key, size in conn.execute(per_job):
            sizes[key] += int(size)
    keys: list[int] = []
    total = 0
    for row in candidates:
        if keys and total + sizes[row.key] > _MOST_BYTES:
            break
        keys.append(row.key)
        total += sizes[row.key]
        after_ns = row.end_ns
    return keys, total, after_ns


def _still_old(conn: Connection, candidates: Sequence[Row[Any]], before_ns: int) -> list[Row[Any]]:
    """Lock the rows, in the order of their keys, as nobody else holds more than one; those that are old when they are
    locked: a job may have grown while its lock was waited for.
    """
    keys = sorted(row.key for row in candidates)
    query = select(schema.job.c.key).where(schema.job.c.key.in_(keys), *_is_old(before_ns))
    locked = set(conn.execute(query.order_by(schema.job.c.key).with_for_update()).scalars())
    return [row for row in candidates if row.key in locked]


def _let_go(conn: Connection, keys: list[int], doomed: list[Partition]) -> None:
    """Delete the detail of these jobs, but for the frames that go with their partition."""
    conn.execute(update(schema.job).where(schema.job.c.key.in_(keys)).values(detail=False))
    for table in _DETAIL:
        gone = delete(table).where(table.c.job_key.in_(keys))
        if table is schema.frame:
            for partition in doomed:
                gone = gone.where(~schema.frame.c.start_ns.between(partition.begin_ns, partition.end_ns - 1))
        conn.execute(gone)


def _droppable(conn: Connection, before_ns: int) -> list[Partition]:
    """The partitions of frames in which no job lies that keeps its detail."""
    kept = (schema.job.c.detail, schema.job.c.end_ns >= before_ns)
    return [p for p in old_partitions(conn, "frame", before_ns) if not _lies_in(conn, p, kept)]


def _lies_in(conn: Connection, partition: Partition, conditions: Sequence[ColumnElement[bool]]) -> bool:
    here = (partition.end_ns > _FIRST_NS, partition.begin_ns < _END_NS)
    return conn.execute(select(schema.job.c.key).where(*here, *conditions).limit(1)).first() is not None


def _drop(engine: Engine, partition: Partition) -> bool:
    """Drop a partition unless a job with detail came into it meanwhile. Whoever is loading into it fails and comes
    again: its job is then kept, in a partition made anew.
    """
    return drop_partition(engine, partition, lambda conn: not _lies_in(conn, partition, (schema.job.c.detail,)))
