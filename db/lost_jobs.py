"""Job steps that nobody hears of any more: their node died with their files, so no collector will see their end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, Engine, select, update

from crosswind.db import schema
from crosswind.db.batch import ENDED
from crosswind.db.batch_schema import batch_job, batch_step
from crosswind.db.connection import reading, writing

__all__ = ["LOST", "LostJob", "mark_lost"]

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


def mark_lost(
    engine: Engine, silent_ns: int, now_ns: int, *, cluster: str = "", followed: Collection[tuple[str, str, int]] = ()
) -> list[LostJob]:
    """End the running steps of a cluster that gave no sign of life for so long, the oldest first; which. There may be
    more of them: those have their turn the next time. followed: steps (job id, step, uid) that are known to run.

    What is known of them stays; their state and that of their processes is LOST. A step whose job runs, as far as the
    batch system says, is left alone. One that is delivered again afterwards runs again. Raises DatabaseError.
    """
    with reading(engine) as conn:
        if not _silent(conn, silent_ns, now_ns, cluster, followed):
            return []
    with writing(engine) as conn:
        lost = _silent(conn, silent_ns, now_ns, cluster, followed)
        marked = {job.key for job in sorted(lost, key=lambda job: job.key) if _mark(conn, job)}  # as pruning locks rows
    return [job for job in lost if job.key in marked]


def _silent(
    conn: Connection, silent_ns: int, now_ns: int, cluster: str, followed: Collection[tuple[str, str, int]]
) -> list[LostJob]:
    j, b = schema.job.c, batch_job.c
    query = (
        select(j.key, j.job_id, j.step, j.user, j.end_ns, j.uid)
        .outerjoin(batch_step, batch_step.c.job_key == j.key)
        .outerjoin(batch_job, b.key == batch_step.c.batch_key)
        .where(
            j.cluster == cluster,
            j.state == "running",
            j.end_ns < now_ns - silent_ns,
            j.end_ns < now_ns - _LEAST_SLICES * j.slice_ns,
            b.state.is_(None) | b.state.in_(ENDED),
        )
        .order_by(j.end_ns, j.key)
        .limit(_MOST + len(followed))
    )
    unheard = (row for row in conn.execute(query) if (row.job_id, row.step, row.uid) not in followed)
    return [LostJob(*row[:-1]) for row in islice(unheard, _MOST)]


def _mark(conn: Connection, job: LostJob) -> bool:
    """Whether it is as silent as it was when its row is locked: who was loading it meanwhile has heard of it. The job
    comes first, as in loading. Its digest goes: no delivery says that a job is lost, so none is what is stored now.
    """
    p, j = schema.process.c, schema.job.c
    same = (j.key == job.key, j.state == "running", j.end_ns == job.end_ns)
    if not conn.execute(update(schema.job).where(*same).values(state=LOST, digest="")).rowcount:
        return False
    conn.execute(update(schema.process).where(p.job_key == job.key, p.state == "running").values(state=LOST))
    return True
