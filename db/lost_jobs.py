"""Job steps that nobody hears of any more: their node died with their files, so no collector will see their end."""

from __future__ import annotations

from dataclasses import dataclass

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
        for job in lost:
            _mark(conn, job)
    return lost


def _silent(conn: Connection, silent_ns: int, now_ns: int, cluster: str) -> list[LostJob]:
    j, b = schema.job.c, batch_job.c
    query = (
        select(j.key, j.job_id, j.step, j.user, j.end_ns)
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
        .limit(_MOST)
    )
    return [LostJob(*row) for row in conn.execute(query)]


def _mark(conn: Connection, job: LostJob) -> None:
    """The digest goes: no delivery says that a job is lost, so none is what is stored now."""
    p, j = schema.process.c, schema.job.c
    conn.execute(update(schema.process).where(p.job_key == job.key, p.state == "running").values(state=LOST))
    conn.execute(update(schema.job).where(j.key == job.key).values(state=LOST, digest=""))
