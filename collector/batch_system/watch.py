"""Slurm as the daemon sees it (crosswind.collector.batch.BatchSystem): events in each look, its queue now and then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.batch_system.events import EventReport, apply_events, ask_squeue, repair_from_queue
from crosswind.collector.batch_system.slurm import UnreadableReport
from crosswind.collector.errors import SpoolError
from crosswind.collector.log import log_event
from crosswind.db.batch import ENDED, link_steps
from crosswind.db.batch_queries import latest_state
from crosswind.db.connection import reading

__all__ = ["SlurmJobs"]

LINK_S = 60.0  # how long a step that another collector loaded may be without its job


class SlurmJobs:
    """events: the directory of job_event.sh, or None. queue_s: seconds between looks at the queue, or None.

    squeue may take its time while the controller is busy, so it is asked in a thread, and its answer taken in by the
    look after it came.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        events: Path | None = None,
        queue_s: float | None = None,
        cluster: str = "",
        ask: Callable[[], tuple[bytes, int]] = ask_squeue,
    ) -> None:
        self._engine = engine
        self._events = events
        self._queue_s = queue_s
        self._cluster = cluster
        self._ask = ask
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="squeue") if queue_s is not None else None
        self._asked: Future[tuple[bytes, int]] | None = None
        self._ask_from = 0.0
        self._answers: dict[tuple[str, int], bool | None] = {}
        self._link_from = 0.0
        self._complaints: list[str] = []

    def refresh(self) -> None:
        """Take in what is new. Raises DatabaseError; whatever else is wrong is logged, and tried again."""
        self._answers.clear()
        complaints: list[str] = []
        for take_in in (self._take_events, self._look_at_queue, self._link):
            try:
                take_in()
            except (SpoolError, UnreadableReport) as error:
                complaints.append(str(error))
        for complaint in complaints:
            if complaint not in self._complaints:  # once, not in each look
                log_event(logging.WARNING, "batch_system", error=complaint)
        self._complaints = complaints

    def note_loaded(self) -> None:
        """Job steps were loaded: the next look links them."""
        self._link_from = 0.0

    def is_over(self, job_id: str, uid: int) -> bool | None:
        """Whether the job's last run ended; None where the job is not known, or lost: silence decides. Raises
        DatabaseError.
        """
        if (job_id, uid) not in self._answers:
            with reading(self._engine) as conn:
                state = latest_state(conn, job_id, uid, self._cluster)
            self._answers[job_id, uid] = None if state in (None, "LOST") else state in ENDED
        return self._answers[job_id, uid]

    def _take_events(self) -> None:
        if self._events is not None:
            self._log(apply_events(self._engine, self._events, cluster=self._cluster))

    def _look_at_queue(self) -> None:
        if self._asker is None or self._queue_s is None:
            return
        if self._asked is not None and self._asked.done():
            done, self._asked = self._asked, None
            self._ask_from = time.monotonic() + self._queue_s
            self._log(repair_from_queue(self._engine, *done.result(), cluster=self._cluster))
        elif self._asked is None and time.monotonic() >= self._ask_from:
            self._asked = self._asker.submit(self._ask)

    def _link(self) -> None:
        """After steps were loaded, and now and then, since other collectors load some."""
        if time.monotonic() >= self._link_from:
            self._link_from = time.monotonic() + LINK_S
            self._log(EventReport(linked=link_steps(self._engine, self._cluster)))

    def _log(self, report: EventReport) -> None:
        for name, reason in report.refused:
            log_event(logging.WARNING, "refused", file=name, reason=reason)
        if report.changed or report.linked or report.lost:
            log_event(logging.INFO, "batch_jobs", changed=report.changed, steps_linked=report.linked, lost=report.lost)
