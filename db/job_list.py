"""The list of jobs: which match, in which order, one page of them. Pages, API and CSV all ask here.

A line is a profiled job step or, where asked for, a run of a job that the batch system reported and nobody profiled.
Both are brought to the same columns first (`_entries`), so that each filter and each order is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, FromClause, func, or_, select

from crosswind.db.batch_schema import batch_job
from crosswind.db.job_entries import RATE_COLUMNS, SHOWN, batch_scope, entries_of
from crosswind.db.job_rows import JOB_COLUMNS, JobRow, job_row
from crosswind.db.schema import job
from crosswind.db.scope import JobScope
from crosswind.db.sums import SUSPICIOUS_RATES

__all__ = [
    "ORDERS", "SHOWN", "JobFilters", "JobLine", "all_job_lines", "distinct_values", "job_lines",
    "job_lines_by_key", "list_jobs", "newest_data_ns", "users_listed",
]  # fmt: skip

_PART = 500  # lines in one statement
_MOST_VALUES = 500  # suggested for one field


class JobFilters(TypedDict, total=False):
    """What a job has to match; what is not given, or None, does not matter.

    Texts: user, account, partition: exactly; command, job_id: a part of it, in any case. state: of the step (running,
    finished, killed) or of the batch system (TIMEOUT, ...). Times in UTC ns; durations in ns; *_from: at least; *_to:
    at most. started_*: of the begin; ran_from, ran_to: ran between the two. interference_above, _below: exclusive.
    told: whether the interference is known. pattern: of sums.SUSPICIOUS_RATES, or "any" of them. keys: these
    steps only.
    """

    user: str | None
    account: str | None
    partition: str | None
    command: str | None
    job_id: str | None
    state: str | None
    nodes_from: int | None
    nodes_to: int | None
    ranks_from: int | None
    ranks_to: int | None
    started_from: int | None
    started_to: int | None
    ran_from: int | None
    ran_to: int | None
    duration_from: int | None
    duration_to: int | None
    interference_from: float | None
    interference_to: float | None
    interference_above: float | None
    interference_below: float | None
    told: bool | None
    volume_from: int | None
    volume_to: int | None
    idle_from: float | None
    idle_to: float | None
    pattern: str | None
    keys: Collection[int] | None


@dataclass(frozen=True)
class JobLine:
    """One line of the list. key: of a profiled step, else None; then `step` is its profile's row, None without one.

    n_hosts, cpus: None where not known. end_ns: None while it runs or where nobody saw it end. fs_bytes: read from and
    written to network file systems and local disks. idle_share: of the allocated processors' time, 0 to 1. rates: name
    of RATES -> per second, over the whole job. batch_state: "" where the batch system said nothing.
    """

    key: int | None
    step: JobRow | None
    job_id: str
    step_id: str
    user: str
    command: str
    account: str
    partition: str
    state: str
    batch_state: str
    n_hosts: int
    ranks: int
    start_ns: int | None
    end_ns: int | None
    interference_pct: float | None
    fs_bytes: int | None
    idle_share: float | None
    rates: dict[str, float]


def list_jobs(
    conn: Connection,
    *,
    scope: JobScope = JobScope.EVERYTHING,
    order: str = "-start",
    limit: int = 50,
    offset: int = 0,
    **filters: Unpack[JobFilters],
) -> tuple[list[JobRow], int]:
    """One page of the job steps in scope that match, and how many there are. order: see job_lines."""
    entries = entries_of("profiled", scope)
    conditions = _conditions(entries, filters)
    query = (
        select(entries.c.key)
        .where(*conditions)
        .order_by(*_order(entries, order, "profiled"))
        .limit(limit)
        .offset(offset)
    )
    keys = list(conn.execute(query).scalars())
    rows = _steps(conn, keys)
    return [rows[key] for key in keys], _count(conn, entries, conditions)


def job_lines(
    conn: Connection,
    *,
    scope: JobScope = JobScope.EVERYTHING,
    shown: str = "profiled",
    order: str = "-start",
    limit: int = 50,
    offset: int = 0,
    **filters: Unpack[JobFilters],
) -> tuple[list[JobLine], int]:
    """One page of the list, and how many lines it has in all.

    shown: of SHOWN. order: of ORDERS; with "-" the largest first. Lines that lack the value come last. Raises
    ValueError for an order that there is not.
    """
    entries = entries_of(shown, scope)
    conditions = _conditions(entries, filters)
    query = select(entries.c.kind, entries.c.key).where(*conditions).order_by(*_order(entries, order, shown))
    found = [(row.kind, row.key) for row in conn.execute(query.limit(limit).offset(offset))]
    return _lines(conn, found, scope), _count(conn, entries, conditions)


def all_job_lines(
    conn: Connection,
    most: int,
    *,
    scope: JobScope = JobScope.EVERYTHING,
    shown: str = "profiled",
    order: str = "-start",
    **filters: Unpack[JobFilters],
) -> Iterator[JobLine]:
    """The whole list, at most so many lines, some hundred of them in memory at a time."""
    entries = entries_of(shown, scope)
    query = select(entries.c.kind, entries.c.key).where(*_conditions(entries, filters))
    found = [(row.kind, row.key) for row in conn.execute(query.order_by(*_order(entries, order, shown)).limit(most))]
    for at in range(0, len(found), _PART):
        yield from _lines(conn, found[at : at + _PART], scope)


def users_listed(
    conn: Connection,
    most: int,
    *,
    scope: JobScope = JobScope.EVERYTHING,
    shown: str = "profiled",
    **filters: Unpack[JobFilters],
) -> list[str]:
    """Whose jobs the whole list has, at most so many users."""
    entries = entries_of(shown, scope)
    query = select(entries.c.user).where(*_conditions(entries, filters)).distinct().order_by(entries.c.user)
    return list(conn.execute(query.limit(most)).scalars())


def job_lines_by_key(conn: Connection, keys: Sequence[int], scope: JobScope) -> list[JobLine]:
    """The lines of these job steps, as far as they are in scope, in this order."""
    entries = entries_of("profiled", scope)
    seen = set(conn.execute(select(entries.c.key).where(entries.c.key.in_(keys))).scalars())
    return _lines(conn, [("step", key) for key in keys if key in seen], scope)


def distinct_values(conn: Connection, name: str, scope: JobScope) -> list[str]:
    """The accounts or partitions (`name`) of the jobs in scope, for suggestions; at most some hundred."""
    column = batch_job.c[name]
    query = select(column).where(batch_scope(scope), column != "").distinct().order_by(column).limit(_MOST_VALUES)
    return list(conn.execute(query).scalars())


def newest_data_ns(conn: Connection) -> int | None:
    """The end of the newest slice that was loaded of any job, UTC ns; None: nothing was loaded yet."""
    return conn.execute(select(job.c.end_ns).order_by(job.c.end_ns.desc()).limit(1)).scalar_one_or_none()


# --- filters and orders ------------------------------------------------------------------------------------------

_Condition = Callable[[Any, Any], ColumnElement[bool]]  # of the entries' columns and the wanted value


def _range(column: str) -> dict[str, _Condition]:
    name = {
        "n_hosts": "nodes", "start_ns": "started", "interference_pct": "interference", "fs_bytes": "volume",
        "idle_share": "idle",
    }.get(column, column)  # fmt: skip
    return {
        f"{name}_from": lambda c, value: c[column] >= value,
        f"{name}_to": lambda c, value: c[column] <= value,
    }


_CONDITIONS: dict[str, _Condition] = {
    "user": lambda c, value: c.user == value,
    "account": lambda c, value: c.account == value,
    "partition": lambda c, value: c.partition == value,
    "command": lambda c, value: c.command.icontains(value, autoescape=True),
    "job_id": lambda c, value: c.job_id.icontains(value, autoescape=True),
    "state": lambda c, value: or_(c.state == value, c.batch_state == value),
    **_range("n_hosts"),
    **_range("ranks"),
    **_range("start_ns"),
    **_range("interference_pct"),
    **_range("fs_bytes"),
    **_range("idle_share"),
    "duration_from": lambda c, value: c.end_ns - c.start_ns >= value,
    "duration_to": lambda c, value: c.end_ns - c.start_ns <= value,
    "ran_from": lambda c, value: c.end_ns > value,
    "ran_to": lambda c, value: c.start_ns < value,
    "interference_above": lambda c, value: c.interference_pct > value,
    "interference_below": lambda c, value: c.interference_pct < value,
    "told": lambda c, value: c.interference_pct.is_not(None) if value else c.interference_pct.is_(None),
    "pattern": lambda c, value: (
        c.pattern_score >= 1 if value == "any" else c[RATE_COLUMNS[value]] >= SUSPICIOUS_RATES[value]
    ),
    "keys": lambda c, value: c.key.in_(value) & (c.kind == "step"),
}

ORDERS: dict[str, Callable[[Any], ColumnElement[Any]]] = {
    "start": lambda c: c.start_ns,
    "end": lambda c: c.end_ns,
    "duration": lambda c: c.end_ns - c.start_ns,
    "id": lambda c: c.job_id,
    "user": lambda c: c.user,
    "command": lambda c: c.command,
    "account": lambda c: c.account,
    "partition": lambda c: c.partition,
    "state": lambda c: c.state,
    "nodes": lambda c: c.n_hosts,
    "ranks": lambda c: c.ranks,
    "interference": lambda c: c.interference_pct,
    "volume": lambda c: c.fs_bytes,
    "idle": lambda c: c.idle_share,
    "pattern": lambda c: c.pattern_score,
}
_TIMES = frozenset({"start", "end", "duration"})  # of a profiled step always there, and found by an index on them
_NEVER_NULL = ORDERS.keys() - _TIMES - {"interference", "volume", "idle", "pattern"}


def _conditions(entries: FromClause, filters: JobFilters) -> list[ColumnElement[bool]]:
    """Raises TypeError for a filter that there is not."""
    if unknown := filters.keys() - _CONDITIONS.keys():
        raise TypeError(f"jobs cannot be filtered by {min(unknown)!r}")
    return [_CONDITIONS[name](entries.c, value) for name, value in filters.items() if value is not None]


def _order(entries: FromClause, order: str, shown: str) -> list[ColumnElement[Any]]:
    name = order.removeprefix("-")
    if name not in ORDERS:
        raise ValueError(
            f"jobs cannot be ordered by {order[:40]!r}; choose one of {', '.join(ORDERS)}, with - for descending"
        )
    column, key = ORDERS[name](entries.c), entries.c.key
    by: list[ColumnElement[Any]] = [column.desc(), key.desc()] if order.startswith("-") else [column.asc(), key.asc()]
    if name not in _NEVER_NULL and not (shown == "profiled" and name in _TIMES):
        by[0] = by[0].nulls_last()
    return by


def _count(conn: Connection, entries: FromClause, conditions: Sequence[ColumnElement[bool]]) -> int:
    return conn.execute(select(func.count()).select_from(entries).where(*conditions)).scalar_one()


# --- whole lines -------------------------------------------------------------------------------------------------


def _lines(conn: Connection, found: Sequence[tuple[str, int]], scope: JobScope) -> list[JobLine]:
    """The lines of (kind, key), in this order."""
    of_kind = {kind: [key for k, key in found if k == kind] for kind in ("step", "batch")}
    steps = _steps(conn, of_kind["step"])
    lines: dict[tuple[str, int], JobLine] = {}
    for kind, entries in (("step", entries_of("profiled", scope)), ("batch", entries_of("unprofiled", scope))):
        if of_kind[kind]:
            for row in conn.execute(select(entries).where(entries.c.key.in_(of_kind[kind]))):
                lines[kind, row.key] = _line(row._asdict(), steps)
    return [lines[at] for at in found]


def _line(row: dict[str, Any], steps: dict[int, JobRow]) -> JobLine:
    rates = {name: row.pop(column) for name, column in RATE_COLUMNS.items()}
    del row["pattern_score"]
    kind, key = row.pop("kind"), row.pop("key")
    known = {name: value for name, value in rates.items() if value is not None}
    is_step = kind == "step"
    return JobLine(key=key if is_step else None, step=steps[key] if is_step else None, rates=known, **row)


def _steps(conn: Connection, keys: Sequence[int]) -> dict[int, JobRow]:
    return {row.key: job_row(row) for row in conn.execute(select(*JOB_COLUMNS).where(job.c.key.in_(keys)))}
