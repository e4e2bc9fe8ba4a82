"""Writing: one profile, one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Row, bindparam, delete, insert, update

from crosswind.db import codec, names, queries, schema, topology
from crosswind.db.background import blocks_of
from crosswind.db.connection import reading, writing
from crosswind.db.evaluation import Evaluation, lost_time_row
from crosswind.db.limits import check_profile, check_text
from crosswind.db.names import batches, insert_missing
from crosswind.db.partitions import make_partitions
from crosswind.db.queries import BlockKey
from crosswind.db.resources import Place, Placement
from crosswind.db.rows import Rows, rows_of, shares_of
from crosswind.db.union import union
from crosswind.profile.model import Column, Profile

__all__ = ["LoadResult", "load_profile", "store_evaluation"]

_PARTS = (  # beside the frames, whose place depends on time
    schema.process,
    schema.total,
    schema.function,
    schema.access,
    schema.coverage,
    schema.segments,
    schema.job_resource,
    schema.job_sums,
)

# What changes in the background: (resource, metric, begin of the block, length of its slices) -> int64 [BLOCK] to add
_Changes = dict[tuple[str, Column, int, int], NDArray[np.int64]]


@dataclass(frozen=True)
class LoadResult:
    """What loading did. loaded: whether the database changed; slices: how many the job step spans now. is_joined: its
    segments are those of this profile and of what was there together, and nothing is stored of their interference.
    """

    job_key: int
    loaded: bool
    slices: int
    is_joined: bool = False


def load_profile(
    engine: Engine, profile: Profile, *, evaluation: Evaluation | None = None, cluster: str = ""
) -> LoadResult:
    """Load a profile, whole or not at all. What is there of the same job step already stays: see union.union.

    A job step is known by cluster, job id, step and uid. Loading something again changes nothing. evaluation: what was
    found of the interference of this profile; None leaves what is there of the same profile. Raises RefusedProfile for
    a profile that no honest job can have.
    """
    check_text(cluster)
    check_profile(profile)
    with reading(engine) as conn:
        placement = topology.new_placement(conn, cluster, _step_of(profile), _hosts(profile))
    rows = rows_of(profile, cluster, placement)
    changes = _contribution(profile, rows.job["fed"], placement.place)
    make_partitions(engine, "frame", {_start_ns(rows)})
    make_partitions(engine, "background", {start_ns for _, _, start_ns, _ in changes})
    with writing(engine) as conn:
        key = _insert_job(conn, rows)
        if key is None:
            return _merge(conn, profile, rows, changes, placement, evaluation)
        _write(conn, key, rows, changes)
        _write_evaluation(conn, key, evaluation)
        return LoadResult(key, True, profile.n_slices)


def store_evaluation(engine: Engine, job_key: int, evaluation: Evaluation | None, digest: str) -> bool:
    """Replace what is stored of the interference of a job. Nothing happens, and False is returned, if the job is no
    longer the one of that digest: who changed it stores what belongs to it.
    """
    with writing(engine) as conn:
        if queries.get_digest(conn, job_key, lock=True) != digest:
            return False
        _write_evaluation(conn, job_key, evaluation)
        return True


def _merge(
    conn: Connection,
    profile: Profile,
    rows: Rows,
    changes: _Changes,
    placement: Placement,
    evaluation: Evaluation | None,
) -> LoadResult:
    """Bring a profile together with what is there of its job step. placement: by which rows and changes were made."""
    held = queries.locked_job(conn, *_identity(rows))
    if (held.topology_id, held.partition) != (placement.topology_id, placement.place.partition):  # loaded meanwhile
        placement = topology.held_placement(conn, held.topology_id, held.partition, _hosts(profile))
        rows = rows_of(profile, rows.job["cluster"], placement)
        changes = _contribution(profile, rows.job["fed"], placement.place)
    if held.digest == rows.digest:
        differs = evaluation is not None and not _is_stored(conn, held, evaluation)
        if differs:
            _write_evaluation(conn, held.key, evaluation)
        return LoadResult(held.key, differs, profile.n_slices)
    if not held.detail:  # it was pruned: what is loaded cannot be told from what was, nor be taken back
        return LoadResult(held.key, False, held.n_slices)
    old = queries.get_profile(conn, held.key)
    assert old is not None, "its row is locked"  # noqa: S101
    both = union(old, profile)
    if both is old:
        return LoadResult(held.key, False, old.n_slices)
    is_joined = both.segments is not profile.segments and both.segments is not old.segments
    where = topology.held_placement(conn, held.topology_id, held.partition, _hosts(old) | _hosts(profile))
    if both is not profile:
        check_profile(both)
        rows = rows_of(both, rows.job["cluster"], where)
        if rows.digest == held.digest:  # a part that is there already; who loaded it may have died before the estimate
            return LoadResult(held.key, False, old.n_slices, is_joined and held.estimate is None)
        changes = _contribution(both, rows.job["fed"], where.place)
    for block, values in _contribution(old, held.fed, where.place).items():
        changes[block] = changes.get(block, 0) - values
    frames = schema.frame.c
    conn.execute(
        delete(schema.frame).where(frames.job_key == held.key, frames.start_ns == held.first_slice * held.slice_ns)
    )
    for table in _PARTS:
        conn.execute(delete(table).where(table.c.job_key == held.key))
    _write(conn, held.key, rows, changes)
    if both.segments is not old.segments:  # else what is stored is of the segments that stay
        _write_evaluation(conn, held.key, None if is_joined else evaluation)
    return LoadResult(held.key, True, both.n_slices, is_joined)


def _start_ns(rows: Rows) -> int:
    """Where the frames of a job lie in time."""
    return int(rows.job["first_slice"]) * int(rows.job["slice_ns"])


def _identity(rows: Rows) -> tuple[str, str, str, int]:
    return rows.job["cluster"], rows.job["job_id"], rows.job["step"], rows.job["uid"]


def _step_of(profile: Profile) -> tuple[str, str, int]:
    return profile.job.id, profile.job.step, profile.job.uid


def _hosts(profile: Profile) -> set[str]:
    return {process.host for process in profile.processes}


def _contribution(profile: Profile, fed: Mapping[str, Sequence[str]], place: Place) -> _Changes:
    """What a job has in the background. fed, place: which metrics it fed to which kind of resource, and where it was,
    when it was loaded.
    """
    columns = {c.name: c for c in profile.columns}
    return {
        (resource, columns[metric], block * schema.BLOCK * profile.slice_ns, profile.slice_ns): values
        for (resource, metric), share in shares_of(profile, fed, place).items()
        for block, values in blocks_of(share, profile.first_slice)
    }


def _insert_job(conn: Connection, rows: Rows) -> int | None:
    """Make the job's row; its key, or None where it is there. Whoever loads the same job step waits for this
    transaction.
    """
    empty = {**rows.job, "columns": [], "digest": ""}
    return conn.execute(
        insert_missing(conn, schema.job).values(**empty).returning(schema.job.c.key)
    ).scalar_one_or_none()


def _write(conn: Connection, key: int, rows: Rows, changes: _Changes) -> None:
    """All that belongs to a job whose row is there and has nothing under it.

    Names come before blocks, and both in sorted order, so that two loaders on PostgreSQL never wait for each other
    in a circle.
    """
    resource_ids = names.resource_ids(conn, {resource for resource, *_ in changes} | set(rows.resources))
    metric_ids = names.metric_ids(conn, {column for _, column, *_ in changes} | set(rows.columns))
    by_name = {c.name: metric_ids[c] for c in rows.columns}
    job = {**rows.job, "columns": [metric_ids[c] for c in rows.columns], "digest": rows.digest}
    conn.execute(update(schema.job).where(schema.job.c.key == key).values(**job))
    parts = {
        schema.process: rows.processes,
        schema.frame: [
            {"metric_id": by_name[m], "start_ns": _start_ns(rows), "data": data} for m, data in rows.frames.items()
        ],
        schema.total: [{"metric_id": by_name[m], "data": data} for m, data in rows.totals.items()],
        schema.function: rows.functions,
        schema.access: rows.access,
        schema.coverage: [{"data": rows.coverage}],
        schema.segments: [] if rows.segments is None else [{"data": rows.segments}],
        schema.job_resource: [{"resource_id": resource_ids[name]} for name in rows.resources],
        schema.job_sums: [rows.sums],
    }
    for table, of_job in parts.items():
        if of_job:
            conn.execute(insert(table), [{"job_key": key, **row} for row in of_job])
    blocks = {
        BlockKey(resource_ids[resource], metric_ids[column], start_ns, slice_ns): values
        for (resource, column, start_ns, slice_ns), values in changes.items()
    }
    _add_to_background(conn, blocks)


def _is_stored(conn: Connection, held: Row[Any], evaluation: Evaluation) -> bool:
    """Whether exactly this was stored for a job before."""
    lost = None if evaluation.lost is None else lost_time_row(evaluation.lost)
    return evaluation.document == held.estimate and lost == queries.lost_time_row(conn, held.key)


def _write_evaluation(conn: Connection, key: int, evaluation: Evaluation | None) -> None:
    document = None if evaluation is None else evaluation.document
    pct = None if document is None else document.get("interference_pct")
    job, lost_time = schema.job, schema.lost_time
    conn.execute(update(job).where(job.c.key == key).values(estimate=document, interference_pct=pct))
    conn.execute(delete(lost_time).where(lost_time.c.job_key == key))
    if evaluation is not None and evaluation.lost is not None:
        conn.execute(insert(lost_time).values(job_key=key, **lost_time_row(evaluation.lost)))


def _add_to_background(conn: Connection, blocks: Mapping[BlockKey, NDArray[np.int64]]) -> None:
    """Add to the blocks, making those that are missing and dropping those that become zero. First all are made, then
    all locked.
    """
    b = schema.background.c
    keys = sorted(blocks)
    for part in batches(keys):
        conn.execute(insert_missing(conn, schema.background), [{**key._asdict(), "data": b""} for key in part])
    here = [column == bindparam(f"at_{column.name}") for column in (b.resource_id, b.metric_id, b.start_ns, b.slice_ns)]
    for part in batches(keys):
        kept, dropped = [], []
        for key, data in queries.locked_blocks(conn, part).items():
            at = {f"at_{name}": value for name, value in key._asdict().items()}
            values = blocks[key] + codec.decode_ints(data, (schema.BLOCK,)) if data else blocks[key]
            if values.any():
                kept.append({**at, "data": codec.encode_ints(values)})
            else:
                dropped.append(at)
        if kept:
            conn.execute(update(schema.background).where(*here).values(data=bindparam("data")), kept)
        if dropped:
            conn.execute(delete(schema.background).where(*here), dropped)
