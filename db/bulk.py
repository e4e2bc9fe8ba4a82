"""SELECTs for the export of everything, day by day: nothing here holds more than one array of a job at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, func, select

from crosswind.db import codec, schema
from crosswind.db.batch_schema import batch_job
from crosswind.db.evaluation import lost_time_of
from crosswind.db.frames import each_frame
from crosswind.db.queries import JobRow
from crosswind.profile.metrics import BY_NAME

__all__ = [
    "Block", "LostSlices", "NodeBlock", "TimeSpan", "batch_jobs_between", "blocks_between", "frames_of", "lost_between",
    "metric_names", "node_blocks_between", "state_of_span", "time_span",
]  # fmt: skip


class TimeSpan(NamedTuple):
    """[start_ns, end_ns) in UTC."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Block:
    """A block of the background: values int64 [slice], the first begins at start_ns."""

    resource: str
    metric: str
    unit: str
    start_ns: int
    slice_ns: int
    values: NDArray[np.int64]


@dataclass(frozen=True)
class LostSlices:
    """When a job lost time: lost_ns int64 [slice], the first begins at start_ns."""

    job_key: int
    start_ns: int
    slice_ns: int
    lost_ns: NDArray[np.int64]


@dataclass(frozen=True)
class NodeBlock:
    """What a node's agent saw: values int64 [instance, slice], schema.GAP where nothing is known."""

    cluster: str
    node: str
    metric: str
    unit: str
    instances: tuple[str, ...]
    start_ns: int
    slice_ns: int
    values: NDArray[np.int64]


def time_span(conn: Connection) -> TimeSpan | None:
    """From the begin of what is known first (of a job step, an event, a run of a batch job, a node) to the end of the
    last; None: there is nothing.
    """
    j, e, b, n = schema.job.c, schema.event.c, batch_job.c, schema.node.c
    known_times = ((j.start_ns, j.end_ns), (e.start_ns, e.start_ns), (b.start_ns, b.start_ns), (n.first_ns, n.last_ns))
    spans = [conn.execute(select(func.min(first), func.max(last))).one() for first, last in known_times]
    known = [span for span in spans if span[0] is not None]
    return TimeSpan(min(s[0] for s in known), max(s[1] for s in known) + 1) if known else None


class SpanState(NamedTuple):
    """What there is of a time. fingerprint: of its jobs, batch jobs, events and nodes, the same while nothing of them
    changes; empty where there is nothing. pruned: whether the detail of one of these jobs is gone, which leaves the
    fingerprint as it is. node_blocks: how many there are of nodes; fewer than before where some were pruned.
    """

    fingerprint: str
    pruned: bool
    node_blocks: int


def state_of_span(conn: Connection, span: TimeSpan) -> SpanState:
    """Whether a time has to be exported anew."""
    j, e = schema.job.c, schema.event.c
    jobs = (
        select(j.key, j.digest, j.state, j.estimate, j.detail)
        .where(j.start_ns < span.end_ns, j.end_ns >= span.start_ns)
        .order_by(j.key)
    )
    events = select(schema.event).where(e.start_ns >= span.start_ns, e.start_ns < span.end_ns).order_by(e.id)
    hashed = hashlib.blake2b(digest_size=16)
    pruned, empty = False, True
    for row in conn.execute(jobs):
        empty = False
        pruned |= not row.detail
        hashed.update(json.dumps(list(row[:4]), sort_keys=True).encode())
    for rows in (conn.execute(events), batch_jobs_between(conn, span)):
        for row in rows:
            empty = False
            hashed.update(json.dumps(list(row)).encode())
    blocks, size = _node_blocks(conn, span)
    if blocks:
        empty = False
        hashed.update(f"{blocks} {size}".encode())
    return SpanState("" if empty else hashed.hexdigest(), pruned, blocks)


def metric_names(conn: Connection) -> list[str]:
    """The metrics that any job was ever measured by: of those that this version knows. A file of a user may name
    others, or give a known name another unit; these are no columns.
    """
    return sorted(row.name for row in conn.execute(select(schema.metric)) if _is_known(row))


def _is_known(row: Row[Any]) -> bool:
    known = BY_NAME.get(row.name)
    return known is not None and (row.column_id, row.unit, row.kind) == (known.id, known.unit, known.kind)


def frames_of(conn: Connection, job: JobRow) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A job's metrics one by one, int64 [process, slice]: those of metric_names that are not zero everywhere."""
    yield from each_frame(conn, job.key, accept=_is_known)


def blocks_between(conn: Connection, span: TimeSpan) -> Iterator[Block]:
    """The blocks of the background of all resources that overlap a time, by resource, metric and time."""
    b, m, r = schema.background, schema.metric, schema.resource
    longest = conn.execute(select(func.max(schema.job.c.slice_ns))).scalar_one()
    if longest is None:
        return
    for resource_id, name in conn.execute(select(r.c.id, r.c.name).order_by(r.c.name)).all():
        query = (
            select(m.c.name.label("metric"), m.c.unit, b.c.start_ns, b.c.slice_ns, b.c.data)
            .join(m, m.c.id == b.c.metric_id)
            .where(
                b.c.resource_id == resource_id,
                b.c.start_ns > span.start_ns - schema.BLOCK * longest,  # for the index; one job's slices make it wide
                b.c.start_ns + schema.BLOCK * b.c.slice_ns > span.start_ns,
                b.c.start_ns < span.end_ns,
            )
            .order_by(m.c.name, b.c.start_ns, b.c.slice_ns)
        )
        for row in conn.execute(query):
            values = codec.decode_ints(row.data, (schema.BLOCK,))
            yield Block(name, row.metric, row.unit, row.start_ns, row.slice_ns, values)


def lost_between(conn: Connection, span: TimeSpan) -> Iterator[LostSlices]:
    """When the jobs of a time lost time, by their key."""
    j = schema.job.c
    query = (
        select(schema.lost_time, j.slice_ns)
        .join(schema.job, j.key == schema.lost_time.c.job_key)
        .where(j.start_ns < span.end_ns, j.end_ns >= span.start_ns)
        .order_by(schema.lost_time.c.job_key)
    )
    for row in conn.execute(query):
        lost = lost_time_of(row)
        yield LostSlices(row.job_key, lost.first_slice * row.slice_ns, row.slice_ns, lost.per_slice_ns)


def batch_jobs_between(conn: Connection, span: TimeSpan) -> Iterator[Row[Any]]:
    """The runs of batch jobs that began in a time, by their begin: the columns of crosswind.db.batch_schema."""
    b = batch_job.c
    inside = (b.start_ns >= span.start_ns, b.start_ns < span.end_ns)
    yield from conn.execute(select(batch_job).where(*inside).order_by(b.start_ns, b.key))


def node_blocks_between(conn: Connection, span: TimeSpan) -> Iterator[NodeBlock]:
    """The blocks of all nodes that overlap a time, by node, metric and time."""
    n, f, m = schema.node.c, schema.node_frame.c, schema.metric.c
    for node in conn.execute(select(n.key, n.cluster, n.name).order_by(n.cluster, n.name)).all():
        query = (
            select(m.name, m.unit, f.instances, f.start_ns, f.slice_ns, f.data)
            .join(schema.metric, m.id == f.metric_id)
            .where(f.node_key == node.key, *_of_nodes_in(conn, span))
            .order_by(m.name, f.start_ns, f.slice_ns)
        )
        for name, unit, instances, start_ns, slice_ns, data in conn.execute(query):
            values = codec.decode_ints(data, (len(instances), schema.BLOCK))
            yield NodeBlock(node.cluster, node.name, name, unit, tuple(instances), start_ns, slice_ns, values)


def _node_blocks(conn: Connection, span: TimeSpan) -> tuple[int, int]:
    """How many blocks of nodes overlap a time, and their bytes."""
    sizes = select(func.count(), func.coalesce(func.sum(func.length(schema.node_frame.c.data)), 0))
    count, size = conn.execute(sizes.where(*_of_nodes_in(conn, span))).one()
    return int(count), int(size)


def _of_nodes_in(conn: Connection, span: TimeSpan) -> tuple[ColumnElement[bool], ...]:
    f = schema.node_frame.c
    longest = conn.execute(select(func.coalesce(func.max(f.slice_ns), 0))).scalar_one()
    return (
        f.start_ns > span.start_ns - schema.BLOCK * longest,  # for the index
        f.start_ns + schema.BLOCK * f.slice_ns > span.start_ns,
        f.start_ns < span.end_ns,
    )
