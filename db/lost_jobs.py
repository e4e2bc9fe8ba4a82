"""Job steps that nobody hears of any more: their node died with their files, so no collector will see their end.

A step gives signs of life in two ways: what is loaded of it (`job.end_ns`), and, where it is stopped and closes no
slices, the word of the collector that sees its process (`job.heard_ns`). Only when both are old is it lost, whichever
collector notices.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, literal, select, update

from crosswind.db import schema
from crosswind.db.batch import ENDED
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.connection import reading, writing
from crosswind.db.names import batches
from crosswind.db.one_of import one_of

__all__ = ["LOST", "LostJob", "lost_among", "mark_lost", "note_heard"]

LOST = "lost"  # of a job step and of its processes: a newer delivery still makes them what it says
_MOST = 100  # in one go: they are estimated then
_LEAST_SLICES = 3  # a step is silent for so many of its own slices at least


@dataclass(frozen=True)
class LostJob:
    """A job step that was marked. end_ns: UTC, the last sign of life."""

    key: int
    job_id: str
    step: str
    user: str
    end_ns: int


def note_heard(
    engine: Engine, steps: Collection[tuple[str, str, int]], before_ns: int, now_ns: int, *, cluster: str = ""
) -> int:
    """Say of these steps (job id, step, uid) that they run, where nothing was heard since a time; how many it was said
    of. Raises DatabaseError.
    """
    j = schema.job.c
    query = select(j.key, j.job_id, j.step, j.uid).where(*_unheard(before_ns, cluster))
    with reading(engine) as conn:
        keys = sorted(row.key for row in conn.execute(query) if (row.job_id, row.step, row.uid) in steps)
    for part in batches(keys):
        with writing(engine) as conn:
            conn.execute(select(j.key).where(j.key.in_(part)).order_by(j.key).with_for_update())  # as mark_lost
            conn.execute(update(schema.job).where(j.key.in_(part), j.heard_ns < now_ns).values(heard_ns=now_ns))
    return len(keys)


def mark_lost(engine: Engine, silent_ns: int, now_ns: int, *, cluster: str = "") -> list[LostJob]:
    """End the running steps of a cluster that gave no sign of life for so long, the oldest first; which. There may be
    more of them: those have their turn the next time.

    What is known of them stays; their state and that of their processes is LOST. A step whose job runs, as far as the
    batch system says, is left alone. One that is delivered again afterwards runs again. Raises DatabaseError.
    """
    with reading(engine) as conn:
        if not _silent(conn, silent_ns, now_ns, cluster):
            return []
    with writing(engine) as conn:
        lost = _silent(conn, silent_ns, now_ns, cluster)
        ordered = sorted(lost, key=lambda job: job.key)  # as pruning locks rows
        marked = {job.key for job in ordered if _mark(conn, job, now_ns - silent_ns)}
    return [job for job in lost if job.key in marked]


def lost_among(
    engine: Engine, steps: Collection[tuple[str, str, int]], *, cluster: str = ""
) -> set[tuple[str, str, int]]:
    """Those of these steps (job id, step, uid) that were ended as lost. Raises DatabaseError."""
    j = schema.job.c
    jobs = {job_id for job_id, _, _ in steps}
    query = select(j.job_id, j.step, j.uid).where(j.cluster == cluster, j.state == LOST, one_of(j.job_id, jobs))
    with reading(engine) as conn:
        return {(row.job_id, row.step, row.uid) for row in conn.execute(query)} & set(steps)


def _unheard(before_ns: int, cluster: str) -> tuple[ColumnElement[bool], ...]:
    """The running steps that gave no sign of life since. The state is written out, for the index on those that run."""
    j = schema.job.c
    runs = j.state == literal("running", literal_execute=True)
    return (j.cluster == cluster, runs, j.end_ns < before_ns, j.heard_ns < before_ns)


def _silent(conn: Connection, silent_ns: int, now_ns: int, cluster: str) -> list[LostJob]:
    j, b = schema.job.c, batch_job.c
    query = (
        select(j.key, j.job_id, j.step, j.user, j.end_ns)
        .outerjoin(batch_step, batch_step.c.job_key == j.key)
        .outerjoin(batch_job, b.key == batch_step.c.batch_key)
        .where(
            *_unheard(now_ns - silent_ns, cluster),
            j.end_ns < now_ns - _LEAST_SLICES * j.slice_ns,
            b.state.is_(None) | b.state.in_(ENDED),
        )
        .order_by(j.end_ns, j.key)
        .limit(_MOST)
    )
    return [LostJob(*row) for row in conn.execute(query)]


def _mark(conn: Connection, job: LostJob, before_ns: int) -> bool:
    """Whether it is as silent as it was when its row is locked: who was loading it meanwhile has heard of it. The job
    comes first, as in loading. Its digest goes: no delivery says that a job is lost, so none is what is stored now.
    """
    p, j = schema.process.c, schema.job.c
    same = (j.key == job.key, j.state == "running", j.end_ns == job.end_ns, j.heard_ns < before_ns)
    if not conn.execute(update(schema.job).where(*same).values(state=LOST, digest="")).rowcount:
        return False
    conn.execute(update(schema.process).where(p.job_key == job.key, p.state == "running").values(state=LOST))
    return True
