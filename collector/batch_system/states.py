"""What the daemon asks of a batch system (crosswind.collector.batch.BatchSystem), answered from the database."""

from __future__ import annotations

from sqlalchemy import Engine

from crosswind.db.batch import ENDED
from crosswind.db.batch_queries import latest_state
from crosswind.db.connection import reading

__all__ = ["RecordedJobs"]


class RecordedJobs:
    """The jobs as the events have them. `forget` once a look: in between answers come from memory."""

    def __init__(self, engine: Engine, cluster: str = "") -> None:
        self._engine = engine
        self._cluster = cluster
        self._answers: dict[tuple[str, int], bool | None] = {}

    def is_over(self, job_id: str, uid: int) -> bool | None:
        """Whether the job's last run ended; None where the job is not known. Raises DatabaseError."""
        if (job_id, uid) not in self._answers:
            with reading(self._engine) as conn:
                state = latest_state(conn, job_id, uid, self._cluster)
            self._answers[job_id, uid] = None if state is None else state in ENDED
        return self._answers[job_id, uid]

    def forget(self) -> None:
        """Ask anew from now on."""
        self._answers.clear()
