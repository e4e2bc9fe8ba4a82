"""Every SELECT, each named for the question it answers. All take a connection; none writes.

Keys of jobs are the numbers in `JobRow.key`. Times are UTC ns, slice k of length L is [k*L, (k+1)*L).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, func, intersect, select

from crosswind.db import codec, resources, rows, schema
from crosswind.db.background import add_block
from crosswind.db.errors import DatabaseError
from crosswind.db.frames import Grid, frame_blobs, get_covered, get_frames, get_series, get_sums, slice_range, spans_of
from crosswind.db.job_list import ORDERS, list_jobs
from crosswind.db.job_rows import JOB_COLUMNS, JobRow, job_row
from crosswind.db.limits import MAX_INT, MAX_SLICES
from crosswind.db.one_of import one_of
from crosswind.db.rows import Frame
from crosswind.db.scope import JobScope
from crosswind.profile.model import Column, Process, Profile
from crosswind.profile.segments import SegmentTable

__all__ = [
    "ORDERS",
    "BlockKey",
    "Frame",
    "JobRow",
    "count_segment_cells",
    "find_jobs",
    "get_background",
    "get_background_sum",
    "get_covered",
    "get_digest",
    "get_frames",
    "get_functions",
    "get_job",
    "get_processes",
    "get_profile",
    "get_segments",
    "get_series",
    "get_sums",
    "job_keys",
    "jobs_overlapping",
    "list_jobs",
    "locked_blocks",
    "locked_job",
    "lost_time_row",
    "metric_ids",
    "metric_ids_of_job",
    "resource_ids",
    "resources_of_job",
    "shared_names",
    "slice_range",
]


class BlockKey(NamedTuple):
    """What a block of the background is found by."""

    resource_id: int
    metric_id: int
    start_ns: int
    slice_ns: int


def get_job(conn: Connection, job_key: int, scope: JobScope = JobScope.EVERYTHING) -> JobRow | None:
    """One job step, or None where there is none or it is out of scope."""
    query = select(*JOB_COLUMNS).where(schema.job.c.key == job_key, scope.condition())
    row = conn.execute(query).one_or_none()
    return None if row is None else job_row(row)


def job_keys(conn: Connection) -> list[int]:
    """The keys of all job steps."""
    return list(conn.execute(select(schema.job.c.key).order_by(schema.job.c.key)).scalars())


def find_jobs(conn: Connection, job_id: str, step: str | None = None) -> list[JobRow]:
    """The steps of the jobs of that id, newest first (ids of different clusters and users may agree)."""
    conditions = [schema.job.c.job_id == job_id]
    if step is not None:
        conditions.append(schema.job.c.step == step)
    query = select(*JOB_COLUMNS).where(*conditions).order_by(schema.job.c.start_ns.desc(), schema.job.c.key.desc())
    return [job_row(row) for row in conn.execute(query)]


def jobs_overlapping(conn: Connection, start_ns: int, end_ns: int, resource: str | None = None) -> list[JobRow]:
    """Which job steps ran in [start_ns, end_ns), by their start; with a resource: only those that used it."""
    conditions = _ran_in(conn, start_ns, end_ns)
    if resource is not None:
        users = (
            select(schema.job_resource.c.job_key)
            .join(schema.resource, schema.resource.c.id == schema.job_resource.c.resource_id)
            .where(schema.resource.c.name == resource)
        )
        conditions.append(schema.job.c.key.in_(users))
    query = select(*JOB_COLUMNS).where(*conditions).order_by(schema.job.c.start_ns, schema.job.c.key)
    return [job_row(row) for row in conn.execute(query)]


def _ran_in(conn: Connection, start_ns: int, end_ns: int) -> list[ColumnElement[bool]]:
    """What is true of the job steps that ran in [start_ns, end_ns).

    None of them began earlier than the longest lasted, so that an index on the begin finds them.
    """
    j = schema.job.c
    duration = j.end_ns - j.start_ns
    longest = conn.execute(select(duration).order_by(duration.desc()).limit(1)).scalar_one_or_none() or 0
    return [j.start_ns < end_ns, j.start_ns >= start_ns - longest, j.end_ns > start_ns]


def get_processes(conn: Connection, job_key: int) -> list[Process]:
    """A job's processes, in the order of the rows of its frames."""
    p = schema.process.c
    query = select(*(p[name] for name in Process.__dataclass_fields__)).where(p.job_key == job_key).order_by(p.number)
    return [Process(*row) for row in conn.execute(query)]


def get_segments(conn: Connection, job_key: int) -> SegmentTable | None:
    """A job's segments, or None where it has none."""
    blob = conn.execute(select(schema.segments.c.data).where(schema.segments.c.job_key == job_key)).scalar_one_or_none()
    return None if blob is None else codec.decode_segments(blob)


def count_segment_cells(conn: Connection, job_key: int) -> int:
    """How many cells (segments times ranks) a job's segments have, 0 where it has none: what get_segments unpacks."""
    s = schema.segments.c
    query = select(func.substr(s.data, 1, codec.SEGMENT_HEAD)).where(s.job_key == job_key)
    head = conn.execute(query).scalar_one_or_none()
    return 0 if head is None else codec.segment_cells(bytes(head))


def get_functions(conn: Connection, job_key: int) -> dict[str, NDArray[np.int64]]:
    """Per function int64 [process, 4]: calls, bytes out, bytes in, time in ns."""
    query = (
        select(schema.function.c.name, schema.function.c.data, schema.job.c.n_processes)
        .join(schema.job, schema.job.c.key == schema.function.c.job_key)
        .where(schema.function.c.job_key == job_key)
        .order_by(schema.function.c.name)
    )
    return {name: codec.decode_ints(data, (n, 4)) for name, data, n in conn.execute(query)}


def get_profile(conn: Connection, job_key: int, since: int = 0) -> Profile | None:
    """A job step as it was loaded, or None. Metrics that are zero everywhere are absent from its slices. since: only
    the blocks of slices that end behind this one (a number of a slice); all else is of the whole job.

    Raises DatabaseError for one whose detail was pruned.
    """
    row = conn.execute(select(schema.job).where(schema.job.c.key == job_key)).one_or_none()
    if row is None:
        return None
    if not row.detail:
        raise DatabaseError(f"the slices of job {row.job_id} were pruned: restore a backup of the time, or its export")
    grid = Grid(row.n_processes, row.first_slice, row.n_slices, row.slice_ns)
    every = spans_of(conn, job_key, grid)
    spans = {start: span for start, span in every.items() if span.first_slice + span.n_slices > since}
    first = min((span.first_slice for span in spans.values()), default=row.first_slice)
    described = {
        m.id: Column(m.column_id, m.name, m.unit, m.kind)
        for m in conn.execute(select(schema.metric).where(schema.metric.c.id.in_(row.columns)))
    }
    of_job = {
        table: conn.execute(select(table).where(table.c.job_key == job_key).order_by(table.c[by])).all()
        for table, by in ((schema.total, "metric_id"), (schema.function, "name"), (schema.access, "name"))
    }
    coverage = conn.execute(
        select(schema.coverage.c.start_ns, schema.coverage.c.data).where(schema.coverage.c.job_key == job_key)
    )
    return rows.profile_of(
        {**row._asdict(), "first_slice": first, "n_slices": row.first_slice + row.n_slices - first},
        [described[number] for number in row.columns],
        _process_rows(conn, job_key),
        frame_blobs(conn, job_key, spans),
        {described[total.metric_id].name: total.data for total in of_job[schema.total]},
        [function._asdict() for function in of_job[schema.function]],
        [access._asdict() for access in of_job[schema.access]],
        {spans[start]: data for start, data in coverage if start in spans},
        conn.execute(select(schema.segments.c.data).where(schema.segments.c.job_key == job_key)).scalar_one_or_none(),
    )


def resources_of_job(conn: Connection, job_key: int) -> list[str]:
    """The shared resources that a job used, by name."""
    query = (
        select(schema.resource.c.name)
        .join(schema.job_resource, schema.job_resource.c.resource_id == schema.resource.c.id)
        .where(schema.job_resource.c.job_key == job_key)
        .order_by(schema.resource.c.name)
    )
    return list(conn.execute(query).scalars())


def shared_names(conn: Connection, job: JobRow, names: Collection[str]) -> frozenset[str]:
    """Those of these resources of a job that any other job step used while it ran.

    The few jobs of that time are asked what they used: all that ever used a network are nearly all jobs.
    """
    r, used = schema.resource.c, schema.job_resource.c
    others = select(schema.job.c.key).where(
        schema.job.c.key != job.key, *_ran_in(conn, job.first_slice * job.slice_ns, _slices_end_ns(job))
    )
    both = intersect(
        select(used.resource_id).where(used.job_key == job.key),
        select(used.resource_id).where(used.job_key.in_(others)),
    )
    return frozenset(conn.execute(select(r.name).where(r.id.in_(both))).scalars()) & frozenset(names)


def _slices_end_ns(job: JobRow) -> int:
    return (job.first_slice + job.n_slices) * job.slice_ns


def get_background(
    conn: Connection,
    resource_names: Sequence[str],
    metrics: Collection[str] | None,
    first_slice: int,
    n_slices: int,
    slice_ns: int,
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """What ALL jobs together did, per (resource, metric): int64 [slice] of the given slices.

    The result has every pair that resources.FEEDS knows (metrics None: all of them), zeros where nobody did
    anything. To see the others only, take away the job's own share (resources.share_of). Jobs with slices of
    another length are spread over the given ones. Raises KeyError for an unknown resource, ValueError for an
    impossible range.
    """
    _check_range(first_slice, n_slices, slice_ns)
    out = {pair: np.zeros(n_slices, dtype=np.int64) for pair in _pairs(resource_names, metrics)}
    _add_blocks(conn, out, first_slice, n_slices, slice_ns)
    return out


def get_background_sum(
    conn: Connection,
    resource_names: Sequence[str],
    metrics: Collection[str] | None,
    first_slice: int,
    n_slices: int,
    slice_ns: int,
) -> dict[str, NDArray[np.int64]]:
    """As get_background, added up over the resources: per metric int64 [slice]."""
    _check_range(first_slice, n_slices, slice_ns)
    pairs = _pairs(resource_names, metrics)
    sums = {metric: np.zeros(n_slices, dtype=np.int64) for _, metric in pairs}
    _add_blocks(conn, {pair: sums[pair[1]] for pair in pairs}, first_slice, n_slices, slice_ns)
    return sums


def _check_range(first_slice: int, n_slices: int, slice_ns: int) -> None:
    last = first_slice + n_slices
    if slice_ns <= 0 or first_slice < 0 or not 0 <= n_slices <= MAX_SLICES or last * slice_ns > MAX_INT:
        raise ValueError(f"no background of {n_slices} slices from {first_slice}: at most {MAX_SLICES} at once")


def _pairs(resource_names: Sequence[str], metrics: Collection[str] | None) -> list[tuple[str, str]]:
    return [
        (name, metric)
        for name in resource_names
        for metric in resources.metrics_of(name)
        if metrics is None or metric in metrics
    ]


def _add_blocks(
    conn: Connection,
    out: Mapping[tuple[str, str], NDArray[np.int64]],
    first_slice: int,
    n_slices: int,
    slice_ns: int,
) -> None:
    """Add the blocks of (resource, metric) to the arrays of these pairs, [slice]."""
    for row in _blocks_between(conn, out.keys(), first_slice * slice_ns, (first_slice + n_slices) * slice_ns):
        target = out.get((row.resource, row.metric))
        if target is not None:
            block = codec.decode_ints(row.data, (schema.BLOCK,))
            gauge = row.kind == "gauge"
            add_block(target, first_slice, slice_ns, block, row.start_ns, row.slice_ns, gauge=gauge)


def _blocks_between(
    conn: Connection, pairs: Collection[tuple[str, str]], start_ns: int, end_ns: int
) -> Iterable[Row[Any]]:
    """The blocks of these resources and metrics, of slices of any length, that overlap [start_ns, end_ns)."""
    b, m, r = schema.background, schema.metric, schema.resource
    longest = conn.execute(select(func.max(schema.job.c.slice_ns))).scalar_one()
    if not pairs or longest is None:
        return ()
    query = (
        select(r.c.name.label("resource"), m.c.name.label("metric"), m.c.kind, b.c.slice_ns, b.c.start_ns, b.c.data)
        .join(m, m.c.id == b.c.metric_id)
        .join(r, r.c.id == b.c.resource_id)
        .where(
            one_of(r.c.name, {name for name, _ in pairs}),
            m.c.name.in_({metric for _, metric in pairs}),
            b.c.start_ns > start_ns - schema.BLOCK * longest,  # for the index; one job with long slices makes it wide
            b.c.start_ns + schema.BLOCK * b.c.slice_ns > start_ns,
            b.c.start_ns < end_ns,
        )
    )
    return conn.execute(query)


def locked_job(conn: Connection, cluster: str, job_id: str, step: str, uid: int) -> Row[Any] | None:
    """For loading: the row of a job step, held until the transaction ends; None: there is none."""
    j = schema.job.c
    columns = (
        j.key, j.digest, j.fed, j.estimate, j.first_slice, j.slice_ns, j.n_slices, j.detail, j.topology_id, j.partition,
    )  # fmt: skip
    same = (j.cluster == cluster, j.job_id == job_id, j.step == step, j.uid == uid)
    return conn.execute(select(*columns).where(*same).with_for_update()).one_or_none()


def get_digest(conn: Connection, job_key: int, *, lock: bool = False) -> str | None:
    """The digest of what is loaded of a job: another one, another content. None: no such job. lock: hold the job's row
    until the transaction ends.
    """
    query = select(schema.job.c.digest).where(schema.job.c.key == job_key)
    return conn.execute(query.with_for_update() if lock else query).scalar_one_or_none()


def lost_time_row(conn: Connection, job_key: int) -> dict[str, Any] | None:
    """For loading: what is stored of when a job lost time, without its key, as evaluation.lost_time_row made it."""
    columns = [column for column in schema.lost_time.c if column is not schema.lost_time.c.job_key]
    row = conn.execute(select(*columns).where(schema.lost_time.c.job_key == job_key)).one_or_none()
    return None if row is None else row._asdict()


def locked_blocks(conn: Connection, keys: Sequence[BlockKey]) -> dict[BlockKey, bytes]:
    """For loading: the blocks of the background of these keys that are there, held until the transaction ends.

    They are locked in the order of the keys, so that two loaders wait for each other and never in a circle. Each column
    is looked up by itself: SQLite reads the whole table for a list of four at once.
    """
    b = schema.background.c
    columns = (b.resource_id, b.metric_id, b.start_ns, b.slice_ns)
    here = [one_of(column, {key[i] for key in keys}) for i, column in enumerate(columns)]
    query = select(*columns, b.data).where(*here).order_by(*columns).with_for_update()
    wanted = set(keys)
    return {key: row.data for row in conn.execute(query) if (key := BlockKey(*row[:4])) in wanted}


def metric_ids(conn: Connection, columns: Collection[Column]) -> dict[Column, int]:
    """For loading: the ids of these metrics, as far as the database knows them."""
    m = schema.metric
    rows_ = conn.execute(select(m).where(one_of(m.c.name, [c.name for c in columns])))
    known = {Column(row.column_id, row.name, row.unit, row.kind): row.id for row in rows_}
    return {c: known[c] for c in columns if c in known}


def metric_ids_of_job(conn: Connection, job_key: int) -> dict[str, int]:
    """For loading: the ids of the metrics that a job was measured by, by name."""
    measured = conn.execute(select(schema.job.c.columns).where(schema.job.c.key == job_key)).scalar_one()
    m = schema.metric.c
    return {name: number for name, number in conn.execute(select(m.name, m.id).where(m.id.in_(measured)))}


def resource_ids(conn: Connection, names: Collection[str]) -> dict[str, int]:
    """For loading: the ids of these resources, as far as the database knows them."""
    r = schema.resource
    return {row.name: row.id for row in conn.execute(select(r).where(one_of(r.c.name, names)))}


def _process_rows(conn: Connection, job_key: int) -> Sequence[Mapping[str, Any]]:
    query = select(schema.process).where(schema.process.c.job_key == job_key).order_by(schema.process.c.number)
    return [row._asdict() for row in conn.execute(query)]
