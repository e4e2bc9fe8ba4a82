"""Slurm as the daemon sees it (crosswind.collector.batch.BatchSystem): events in each look, its queue now and then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.batch_system.asking import Answer, Question, ask_sinfo, ask_squeue
from crosswind.collector.batch_system.events import EventReport, apply_events, note_nodes, repair_from_queue
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

    What is asked of Slurm is answered in a thread, and its answer taken in by the look after it came.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        events: Path | None = None,
        queue_s: float | None = None,
        cluster: str = "",
        ask: Callable[[], Answer] = ask_squeue,
        ask_nodes: Callable[[], Answer] = ask_sinfo,
    ) -> None:
        self._engine = engine
        self._events = events
        self._cluster = cluster
        self._questions: list[tuple[Question, Callable[..., EventReport]]] = []
        if queue_s is not None:
            pool = ThreadPoolExecutor(1, thread_name_prefix="slurm")
            self._questions = [
                (Question(ask, queue_s, pool), repair_from_queue),
                (Question(ask_nodes, queue_s, pool), note_nodes),
            ]
        self._answers: dict[tuple[str, int], bool | None] = {}
        self._link_from = 0.0
        self._complaints: list[str] = []

    def refresh(self) -> None:
        """Take in what is new. Raises DatabaseError; whatever else is wrong is logged, and tried again."""
        self._answers.clear()
        complaints: list[str] = []
        asked: list[Callable[[], None]] = [partial(self._take_answer, *question) for question in self._questions]
        for take_in in (self._take_events, *asked, self._link):
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

    def _take_answer(self, question: Question, take_in: Callable[..., EventReport]) -> None:
        answer = question.answer()
        if answer is not None:
            self._log(take_in(self._engine, *answer, cluster=self._cluster))

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
        if report.nodes:
            log_event(logging.INFO, "batch_nodes", changed=report.nodes)
