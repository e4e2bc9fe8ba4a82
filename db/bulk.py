"""SELECTs for the export of everything, day by day: nothing here holds more than one array of a job at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from crosswind.db import codec, schema
from crosswind.db.evaluation import lost_time_of
from crosswind.db.frames import each_frame
from crosswind.db.queries import JobRow
from crosswind.profile.metrics import BY_NAME

__all__ = [
    "Block", "LostSlices", "TimeSpan", "blocks_between", "frames_of", "lost_between", "metric_names", "state_of_span",
    "time_span",
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


def time_span(conn: Connection) -> TimeSpan | None:
    """From the begin of the first job step or event to the end of the last; None: there is nothing."""
    j, e = schema.job.c, schema.event.c
    spans = [
        conn.execute(select(func.min(first), func.max(last))).one()
        for first, last in ((j.start_ns, j.end_ns), (e.start_ns, e.start_ns))
    ]
    known = [span for span in spans if span[0] is not None]
    return TimeSpan(min(s[0] for s in known), max(s[1] for s in known) + 1) if known else None


def state_of_span(conn: Connection, span: TimeSpan) -> tuple[str, bool]:
    """A fingerprint of the jobs and events of a time, the same while nothing of them changes, and whether the detail of
    one of these jobs was pruned. Pruning alone leaves the fingerprint as it is; it is empty where there is nothing.
    """
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
    for row in conn.execute(events):
        empty = False
        hashed.update(json.dumps(list(row)).encode())
    return "" if empty else hashed.hexdigest(), pruned


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
