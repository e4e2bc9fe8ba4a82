"""Writing what a batch system says of jobs, in parts and in any order: a union, so that saying it again changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crosswind.db import schema
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.connection import one_writer, reading, writing

__all__ = ["ENDED", "STATES", "BatchJob", "close_unknown", "link_steps", "run_of_step", "store_batch_jobs", "unite"]

# What may become of a job, each with how much it says: a state replaces those before it. REQUEUED: this run ended and
# the job was queued again. LOST: the batch system no longer knows the job, and nobody saw how it ended.
STATES = {
    "PENDING": 0, "RUNNING": 1, "SUSPENDED": 1, "LOST": 2, "REQUEUED": 3, "COMPLETED": 4, "CANCELLED": 4, "FAILED": 4,
    "TIMEOUT": 4, "NODE_FAIL": 4, "OUT_OF_MEMORY": 4, "PREEMPTED": 4, "BOOT_FAIL": 4, "DEADLINE": 4,
}  # fmt: skip
ENDED = frozenset(state for state, says in STATES.items() if says >= STATES["LOST"])
_BATCH = 1000  # keys in one statement
_LOCK = 0x63776A6F6273  # "cwjobs": PostgreSQL's advisory lock for writers of batch_job
_SAME_START_NS = 10 * 10**9  # what a job's start may differ by between two reports of it
_RUN = re.compile(r"(?:^|-)r([1-9][0-9]{0,8})$")


@dataclass(frozen=True)
class BatchJob:
    """What was said of one run of a job. Times are UTC ns, None where not said; so is run: which one it was is found
    by its start. state: of STATES. exit_code, signal: of the batch script.
    """

    job_id: str
    state: str
    uid: int
    run: int | None = None
    user: str = ""
    account: str = ""
    partition: str = ""
    name: str = ""
    array_job_id: str = ""
    array_task: str = ""
    het_job_id: str = ""
    submit_ns: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    hosts: tuple[str, ...] = ()
    cpus: int | None = None
    exit_code: int | None = None
    signal: int | None = None


def unite(held: BatchJob, said: BatchJob) -> BatchJob:
    """What is known of a run after something more was said of it: the state that says more, and what was not known."""
    more, less = (said, held) if STATES[said.state] > STATES[held.state] else (held, said)
    filled = {
        f.name: getattr(less, f.name)
        for f in fields(BatchJob)
        if getattr(more, f.name) in (None, "", ()) and f.name != "run"
    }
    start_ns = min((t for t in (held.start_ns, said.start_ns) if t is not None), default=None)
    return replace(more, **filled | {"run": held.run, "start_ns": start_ns})


def store_batch_jobs(engine: Engine, jobs: Sequence[BatchJob], cluster: str = "", *, from_queue: bool = False) -> int:
    """Take in what was said, in this order, in one transaction; how many runs are new or changed. from_queue: the batch
    system knows these jobs now, so none of them is lost. Raises DatabaseError.
    """
    with writing(engine) as conn:
        one_writer(conn, _LOCK)
        known = _known_runs(conn, {job.job_id for job in jobs}, cluster)
        for job in jobs:
            _take_in(known[job.job_id], job, from_queue)
        changed = [run for runs in known.values() for run in runs if run.now != run.held]
        _write(conn, changed, cluster)
        return len(changed)


def close_unknown(engine: Engine, known: Collection[str], seen_ns: int, cluster: str = "") -> int:
    """Mark as LOST the runs that have not ended and whose job the batch system no longer knows; how many.

    known: the ids of all jobs that it knew at seen_ns. What began later is left alone.
    """
    t = batch_job.c
    open_runs = select(t.key, t.job_id, t.start_ns, t.submit_ns).where(t.cluster == cluster, t.state.not_in(ENDED))
    with writing(engine) as conn:
        one_writer(conn, _LOCK)
        lost = [
            row.key
            for row in conn.execute(open_runs)
            if row.job_id not in known and max(row.start_ns or 0, row.submit_ns or 0) < seen_ns
        ]
        for key in lost:
            conn.execute(update(batch_job).where(t.key == key).values(state="LOST"))
    return len(lost)


def link_steps(engine: Engine, cluster: str = "") -> int:
    """Bring job steps that were profiled together with the runs they belong to; how many are new."""
    j, b = schema.job.c, batch_job.c
    unlinked = (
        select(j.key, j.step, b.key.label("batch_key"), b.run)
        .join(batch_job, (b.cluster == j.cluster) & (b.job_id == j.job_id) & (b.uid == j.uid))
        .outerjoin(batch_step, batch_step.c.job_key == j.key)
        .where(j.cluster == cluster, batch_step.c.job_key.is_(None))
    )
    with reading(engine) as conn:
        if conn.execute(unlinked.limit(1)).first() is None:
            return 0
    with writing(engine) as conn:
        new = [
            {"job_key": row.key, "batch_key": row.batch_key}
            for row in conn.execute(unlinked)
            if run_of_step(row.step) == row.run
        ]
        if new:
            dialect = sqlite if conn.dialect.name == "sqlite" else postgresql
            conn.execute(dialect.insert(batch_step).on_conflict_do_nothing(), new)
    return len(new)


def run_of_step(step: str) -> int:
    """Which run of its job a step belongs to: 0, or the number in its name (docs/environment.md)."""
    match = _RUN.search(step)
    return int(match[1]) if match else 0


@dataclass
class _Run:
    """A run of a job in the transaction. key, held: of its row, None where it is new. now: what is known of it."""

    key: int | None
    held: BatchJob | None
    now: BatchJob

    @property
    def number(self) -> int:
        return self.now.run or 0


def _known_runs(conn: Connection, job_ids: Collection[str], cluster: str) -> dict[str, list[_Run]]:
    """The runs of these jobs that are there, in order."""
    known: dict[str, list[_Run]] = {job_id: [] for job_id in job_ids}
    ids = sorted(job_ids)
    for at in range(0, len(ids), _BATCH):
        b = batch_job.c
        query = select(batch_job).where(b.cluster == cluster, b.job_id.in_(ids[at : at + _BATCH])).order_by(b.run)
        for row in conn.execute(query):
            held = _of_row(row._asdict())
            known[held.job_id].append(_Run(row.key, held, held))
    return known


def _take_in(runs: list[_Run], job: BatchJob, from_queue: bool) -> None:
    """Bring what was said of a job together with what is known of its runs."""
    meant = _meant(runs, job)
    number = job.run if job.run is not None else meant.number if meant else _new_number(runs, job)
    for earlier in runs:
        if earlier.number < number and earlier.now.state not in ENDED:
            earlier.now = replace(earlier.now, state="REQUEUED")
    if meant is None:
        runs.append(_Run(None, None, replace(job, run=number)))
        runs.sort(key=lambda run: run.number)
    else:
        held = meant.now
        if from_queue and held.state == "LOST":
            held = replace(held, state=job.state)
        meant.now = replace(unite(held, job), run=number)


def _meant(runs: Sequence[_Run], job: BatchJob) -> _Run | None:
    """Which run a report is about: the one of its number, else of its start, else one that it ends. None: a new one."""
    for run in runs:
        if job.run == run.number:
            return run
    if job.start_ns is not None:
        apart = [(abs(run.now.start_ns - job.start_ns), run) for run in runs if run.now.start_ns is not None]
        distance, nearest = min(apart, key=lambda pair: pair[0], default=(_SAME_START_NS + 1, None))
        if distance <= _SAME_START_NS:
            return nearest
    if job.run is not None:
        return None
    for run in reversed(runs):
        if run.now.end_ns is not None and run.now.end_ns == job.end_ns:
            return run
        if run.now.state not in ENDED and (run.now.start_ns or 0) <= (job.start_ns or job.end_ns or 0):
            return run
    return None


def _new_number(runs: Sequence[_Run], job: BatchJob) -> int:
    """The number of a run that nobody numbered: the one before those that are later, else the next."""
    later = [run.number for run in runs if (run.now.start_ns or 0) >= (job.end_ns or 0)]
    taken = {run.number for run in runs}
    before = min(later, default=0) - 1
    return before if before >= 0 and before not in taken else max(taken, default=-1) + 1


def _write(conn: Connection, runs: Sequence[_Run], cluster: str) -> None:
    new = [{**_row(run.now), "cluster": cluster} for run in runs if run.key is None]
    changed = [{"at_key": run.key, **_row(run.now)} for run in runs if run.key is not None]
    if changed:
        names = [f.name for f in fields(BatchJob)]
        values: dict[str, Any] = {name: bindparam(name) for name in names}
        conn.execute(update(batch_job).where(batch_job.c.key == bindparam("at_key")).values(values), changed)
    if new:
        conn.execute(insert(batch_job), new)


def _row(job: BatchJob) -> dict[str, Any]:
    return {**asdict(job), "hosts": list(job.hosts)}


def _of_row(row: dict[str, Any]) -> BatchJob:
    return BatchJob(**{f.name: row[f.name] for f in fields(BatchJob)} | {"hosts": tuple(row["hosts"])})
