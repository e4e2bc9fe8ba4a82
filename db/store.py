"""Writing: one profile, one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, insert, update

from crosswind.db import frames, queries, schema, topology
from crosswind.db.connection import reading, writing
from crosswind.db.evaluation import Evaluation, lost_time_row
from crosswind.db.job_writing import (
    Changes,
    add_to_background,
    contribution,
    delete_rows,
    starts_ns,
    taken_back,
    write_rows,
)
from crosswind.db.limits import check_profile, check_text
from crosswind.db.names import insert_missing
from crosswind.db.partitions import make_partitions, missing_partitions
from crosswind.db.resources import Placement
from crosswind.db.rows import Rows, continued, digest_of, rows_of
from crosswind.db.schema import BLOCK
from crosswind.db.summaries import Summarize
from crosswind.db.union import Tail, dropped_of_both, grown, union
from crosswind.profile.model import Profile

__all__ = ["LoadResult", "extend_profile", "load_profile", "store_evaluation"]


@dataclass(frozen=True)
class LoadResult:
    """What loading did. loaded: whether the database changed; slices: how many the job step spans now. is_joined: its
    segments are those of this profile and of what was there together, and nothing is stored of their interference.
    """

    job_key: int
    loaded: bool
    slices: int
    is_joined: bool = False


@dataclass(frozen=True)
class _Part:
    """A profile that is being loaded, and what is made of it before the database is locked. placement: by which rows
    and changes were made.
    """

    profile: Profile
    rows: Rows
    changes: Changes
    placement: Placement


class _NoPartition(Exception):
    """Blocks that the parts of a job have together lie where no part has any; the transaction is begun again."""

    def __init__(self, starts: set[int]) -> None:
        super().__init__()
        self.starts = starts


def load_profile(
    engine: Engine,
    profile: Profile,
    *,
    evaluation: Evaluation | None = None,
    summarize: Summarize | None = None,
    cluster: str = "",
) -> LoadResult:
    """Load a profile, whole or not at all. What is there of the same job step already stays: see union.union.

    A job step is known by cluster, job id, step and uid. Loading something again changes nothing. evaluation: what was
    found of the interference of this profile; None leaves what is there of the same profile. summarize: what makes the
    series of a block; None: they are left out. Raises RefusedProfile for a profile that no honest job can have.
    """
    check_text(cluster)
    check_profile(profile)
    with reading(engine) as conn:
        placement = topology.new_placement(conn, cluster, _step_of(profile), _hosts(profile))
    part = _part(profile, cluster, placement, summarize)
    make_partitions(engine, "frame", starts_ns(part.rows))
    make_partitions(engine, "background", {start_ns for _, _, start_ns, _ in part.changes})
    try:
        with writing(engine) as conn:
            key = _insert_job(conn, part.rows)
            if key is None:
                return _merge(conn, part, evaluation, summarize)
            write_rows(conn, key, part.rows, digest_of(part.rows))
            add_to_background(conn, part.changes)
            _write_evaluation(conn, key, evaluation)
            return LoadResult(key, True, profile.n_slices)
    except _NoPartition as missing:
        make_partitions(engine, "frame", missing.starts)
        return load_profile(engine, profile, evaluation=evaluation, summarize=summarize, cluster=cluster)


def extend_profile(
    engine: Engine, tail: Tail, *, summarize: Summarize | None = None, cluster: str = ""
) -> LoadResult | None:
    """Load the newest slices of a running job step, whole or not at all: what load_profile does with all of its slices,
    at the price of the blocks that change. Segments and estimate stay as they are.

    None, and nothing is done, where the database lacks what the tail leaves out: then the whole has to be loaded.
    """
    new = tail.profile
    check_text(cluster)
    check_profile(new)
    span_ns = BLOCK * new.slice_ns
    numbers = range(new.first_slice // BLOCK, (new.first_slice + new.n_slices) // BLOCK + 1)
    make_partitions(engine, "background", {number * span_ns for number in numbers})
    try:
        with writing(engine) as conn:
            return _extend(conn, tail, summarize, cluster)
    except _NoPartition as missing:
        make_partitions(engine, "frame", missing.starts)
        return extend_profile(engine, tail, summarize=summarize, cluster=cluster)


def store_evaluation(engine: Engine, job_key: int, evaluation: Evaluation | None, digest: str) -> bool:
    """Replace what is stored of the interference of a job. Nothing happens, and False is returned, if the job is no
    longer the one of that digest: who changed it stores what belongs to it.
    """
    with writing(engine) as conn:
        if queries.get_digest(conn, job_key, lock=True) != digest:
            return False
        _write_evaluation(conn, job_key, evaluation)
        return True


def _part(profile: Profile, cluster: str, placement: Placement, summarize: Summarize | None) -> _Part:
    rows = rows_of(profile, cluster, placement, summarize=summarize)
    return _Part(profile, rows, contribution(profile, rows.job["fed"], placement.place), placement)


def _merge(conn: Connection, part: _Part, evaluation: Evaluation | None, summarize: Summarize | None) -> LoadResult:
    """Bring a profile together with what is there of its job step."""
    profile, cluster = part.profile, part.rows.job["cluster"]
    held = queries.locked_job(conn, cluster, *_step_of(profile))
    assert held is not None, "its row was there, and none is ever deleted"  # noqa: S101
    if (held.topology_id, held.partition) != (part.placement.topology_id, part.placement.place.partition):
        placement = topology.held_placement(conn, held.topology_id, held.partition, _hosts(profile))
        part = _part(profile, cluster, placement, summarize)  # it was loaded by another one meanwhile
    if held.digest == digest_of(part.rows):
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
        part = _part(both, cluster, where, summarize)
        if digest_of(part.rows) == held.digest:  # it is there already; who loaded it may have died before the estimate
            return LoadResult(held.key, False, old.n_slices, is_joined and held.estimate is None)
    _check_partitions(conn, part.rows)
    delete_rows(conn, held.key, held.first_slice * held.slice_ns)
    write_rows(conn, held.key, part.rows, digest_of(part.rows))
    add_to_background(conn, taken_back(part.changes, contribution(old, held.fed, where.place)))
    if both.segments is not old.segments:  # else what is stored is of the segments that stay
        _write_evaluation(conn, held.key, None if is_joined else evaluation)
    return LoadResult(held.key, True, both.n_slices, is_joined)


def _extend(conn: Connection, tail: Tail, summarize: Summarize | None, cluster: str) -> LoadResult | None:
    """Bring the newest slices of a job step together with what is there of it."""
    new = tail.profile
    held = queries.locked_job(conn, cluster, *_step_of(new))
    if held is None or not held.detail or held.slice_ns != new.slice_ns:
        return None
    last = held.first_slice + held.n_slices - 1
    if not held.first_slice <= new.first_slice <= last + 1:
        return None
    # The last slice that is there is made anew in any case: the job was there for a part of it only.
    old = queries.get_profile(conn, held.key, since=min(new.first_slice, last))
    both = None if old is None else grown(replace(old, segments=None), tail)
    if old is None or both is None:
        return None
    both = _with_past(both, old)
    place = topology.held_placement(conn, held.topology_id, held.partition, _hosts(both))
    since_ns = old.first_slice * held.slice_ns
    rows = rows_of(both, cluster, place, summarize=summarize, goes_on_before=old.first_slice > held.first_slice)
    fed = rows.job["fed"]
    rows = continued(rows, held.first_slice, held.fed, place.place)
    n_slices = rows.job["n_slices"]
    late = {metric for kind, metrics in fed.items() for metric in metrics if metric not in held.fed.get(kind, ())}
    if late & frames.metrics_before(conn, held.key, held.first_slice * held.slice_ns, since_ns):
        return None  # loaded by a version by which the metric fed nothing: now all of it does
    digest = digest_of(rows, frames.block_digests(conn, held.key, since_ns))
    if digest == held.digest:
        return LoadResult(held.key, False, n_slices)
    check_profile(both)
    _check_partitions(conn, rows)
    delete_rows(conn, held.key, since_ns, keep=(schema.segments,))
    write_rows(conn, held.key, rows, digest)
    changes = contribution(both, rows.job["fed"], place.place)
    add_to_background(conn, taken_back(changes, contribution(old, held.fed, place.place)))
    return LoadResult(held.key, True, n_slices)


def _with_past(both: Profile, old: Profile) -> Profile:
    """What a profile of some slices cannot say of the whole job stays as it was."""
    errors = {name: max(getattr(p.clock, name) for p in (both, old)) for name in ("max_error_us", "late_max_ms")}
    return replace(
        both,
        job=replace(both.job, command=old.job.command),
        clock=replace(old.clock, **errors),
        dropped_files=dropped_of_both(old, both),
    )


def _check_partitions(conn: Connection, rows: Rows) -> None:
    starts = starts_ns(rows)
    if missing_partitions(conn, "frame", starts):
        raise _NoPartition(starts)


def _step_of(profile: Profile) -> tuple[str, str, int]:
    return profile.job.id, profile.job.step, profile.job.uid


def _hosts(profile: Profile) -> set[str]:
    return {process.host for process in profile.processes}


def _insert_job(conn: Connection, rows: Rows) -> int | None:
    """Make the job's row; its key, or None where it is there. Whoever loads the same job step waits for this
    transaction.
    """
    empty = {**rows.job, "columns": [], "digest": ""}
    return conn.execute(
        insert_missing(conn, schema.job).values(**empty).returning(schema.job.c.key)
    ).scalar_one_or_none()


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
