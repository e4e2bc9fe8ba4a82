"""Running steps that nobody hears of any more are ended: their node died, and their files with it.

Each collector says in the database of which silent steps it sees a process; so one that does not see them, on another
node, ends none that is only stopped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from sqlalchemy import Engine

from crosswind.collector.estimates import NO_ESTIMATE, Evaluate, evaluate_whole
from crosswind.collector.log import log_event
from crosswind.db.lost_jobs import LostJob, lost_among, mark_lost, note_heard
from crosswind.profile.steps import StepKey

__all__ = ["LOST_AFTER_S", "called_lost", "end_lost", "note_followed"]

LOST_AFTER_S = 3600.0
_NOTES = 4  # of a silent step, while it may be silent


def note_followed(
    engine: Engine, followed: Collection[StepKey], *, after_s: float, cluster: str = "", now_ns: int | None = None
) -> int:
    """Say of the steps of which the caller sees a process that they run, where the database has not heard of them
    lately; how many. after_s: as of end_lost. Raises DatabaseError.
    """
    if not after_s or not followed:
        return 0
    now_ns = now_ns or time.time_ns()
    known = set(map(_step, followed))
    return note_heard(engine, known, now_ns - int(after_s * 1e9 / _NOTES), now_ns, cluster=cluster)


def called_lost(engine: Engine, followed: Collection[StepKey], *, cluster: str = "") -> list[StepKey]:
    """Those of the steps of which the caller sees a process that another collector, which does not, has called lost.
    Raises DatabaseError.
    """
    lost = lost_among(engine, set(map(_step, followed)), cluster=cluster) if followed else set()
    return [key for key in followed if _step(key) in lost]


def end_lost(
    engine: Engine,
    *,
    after_s: float,
    cluster: str = "",
    evaluate: Evaluate | None = None,
    now_ns: int | None = None,
) -> list[LostJob]:
    """End the running steps of a cluster that gave no sign of life for so long, estimated by what there is; which.
    after_s: 0: none are.

    It has to be longer than any collector, or the way to it, may be away: what comes later corrects it, but until then
    pages call a running job lost. Raises DatabaseError.
    """
    if not after_s:
        return []
    lost = mark_lost(engine, int(after_s * 1e9), now_ns or time.time_ns(), cluster=cluster)
    for job in lost:
        log_event(logging.WARNING, "lost", job=job.job_id, step=job.step, user=job.user, silent_after_s=after_s)
        if evaluate is not None:
            try:
                evaluate_whole(engine, job.key, evaluate)
            except (MemoryError, *NO_ESTIMATE) as error:
                log_event(logging.WARNING, "note", reason=f"{job.job_id}.{job.step} has no estimate: {error}")
    return lost


def _step(key: StepKey) -> tuple[str, str, int]:
    """As the database knows it."""
    return key.job_id, key.step_id, key.uid
