"""What the list of jobs is made of: profiled job steps and batch jobs that nobody profiled, as the same columns.

    step    job 1---1 job_sums, and what the batch system said of its run (batch_step, batch_job), if anything
    batch   batch_job without any step

Filters and orders (crosswind.db.job_list) are written once, over these columns. A step that lacks what the batch system
says has "" there; what cannot be known is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    FromClause,
    Select,
    case,
    cast,
    func,
    literal,
    null,
    or_,
    select,
    true,
    union_all,
)  # fmt: skip

from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.schema import job, job_sums
from crosswind.db.scope import JobScope
from crosswind.db.sums import MIN_RATE_S, SMALL_BYTES, SUSPICIOUS_RATES

__all__ = ["RATES", "RATE_COLUMNS", "SHOWN", "batch_scope", "entries_of"]

SHOWN = ("profiled", "all", "unprofiled")


def _elapsed_s() -> ColumnElement[float]:
    """Seconds a step lasted, for rates."""
    seconds = cast(job.c.end_ns - job.c.start_ns, Float) / 1e9
    return case((seconds < MIN_RATE_S, MIN_RATE_S), else_=seconds)


_SMALL = case(  # as floats: what a user's file says may be too large for a product
    (cast(job_sums.c.fs_bytes, Float) < SMALL_BYTES * cast(job_sums.c.fs_requests, Float), job_sums.c.fs_requests),
    else_=0,
)
RATES: dict[str, ColumnElement[Any]] = {  # per second, over the whole job
    "small requests": cast(_SMALL, Float) / _elapsed_s(),
    "many opens": cast(job_sums.c.opens, Float) / _elapsed_s(),
    "metadata storm": cast(job_sums.c.fs_metadata_calls, Float) / _elapsed_s(),
}
RATE_COLUMNS = {name: name.replace(" ", "_") for name in RATES}


def _score() -> ColumnElement[Any]:
    """By how much the most suspicious rate exceeds what is suspicious; 1: as much."""
    scores = [rate / SUSPICIOUS_RATES[name] for name, rate in RATES.items()]
    largest = scores[0]
    for score in scores[1:]:
        largest = case((score > largest, score), else_=largest)
    return largest


_ALLOCATED_NS = cast(batch_job.c.cpus, Float) * cast(job.c.end_ns - job.c.start_ns, Float)
_IDLE = case((_ALLOCATED_NS > 0, 1 - cast(job_sums.c.cpu_ns, Float) / _ALLOCATED_NS), else_=None)
_COLUMNS = (
    "kind", "key", "job_id", "step_id", "user", "command", "account", "partition", "state", "batch_state", "n_hosts",
    "ranks", "start_ns", "end_ns", "interference_pct", "fs_bytes", "idle_share", "pattern_score",
    *RATE_COLUMNS.values(),
)  # fmt: skip


def _profiled(scope: JobScope) -> Select[Any]:
    j, s, b = job.c, job_sums.c, batch_job.c
    values = (
        literal("step"), j.key, j.job_id, j.step, j.user, j.command, func.coalesce(b.account, ""),
        func.coalesce(b.partition, ""), j.state, func.coalesce(b.state, ""), s.n_hosts, j.ranks, j.start_ns, j.end_ns,
        j.interference_pct, s.fs_bytes, case((_IDLE < 0, 0.0), else_=_IDLE), _score(),
        *RATES.values(),
    )  # fmt: skip
    joined = (
        job.join(job_sums, s.job_key == j.key)
        .outerjoin(batch_step, batch_step.c.job_key == j.key)
        .outerjoin(batch_job, b.key == batch_step.c.batch_key)
    )
    return select(*_named(values)).select_from(joined).where(scope.condition())


def _unprofiled(scope: JobScope) -> Select[Any]:
    b = batch_job.c
    state = case((b.state == "RUNNING", "running"), else_=b.state)
    values = (
        literal("batch"), b.key, b.job_id, literal(""), b.user, b.name, b.account, b.partition, state, b.state,
        func.json_array_length(b.hosts), literal(0), b.start_ns, b.end_ns, cast(null(), Float),
        cast(null(), BigInteger), cast(null(), Float), cast(null(), Float), *(cast(null(), Float) for _ in RATES),
    )  # fmt: skip
    known = select(batch_step.c.batch_key)
    return select(*_named(values)).where(batch_scope(scope), b.key.not_in(known))


def _named(values: Sequence[Any]) -> list[Any]:
    return [value.label(name) for name, value in zip(_COLUMNS, values, strict=True)]


def entries_of(shown: str, scope: JobScope) -> FromClause:
    """The lines of the list before any filter, as one table of _COLUMNS."""
    if shown == "profiled":
        return _profiled(scope).subquery()
    if shown == "unprofiled":
        return _unprofiled(scope).subquery()
    return union_all(_profiled(scope), _unprofiled(scope)).subquery()


def batch_scope(scope: JobScope) -> ColumnElement[bool]:
    """The same scope over the rows of batch_job."""
    if scope.everything:
        return true()
    own = (batch_job.c.user == scope.user) & (batch_job.c.user != "")
    return or_(own, batch_job.c.account.in_(scope.accounts))
