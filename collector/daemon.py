"""The daemon: follows spool directories, keeps running jobs up to date in the database, finishes what is over.

Each look: what dead collectors had taken goes back; the directories are listed and files with news looked at; then the
steps that are due are loaded in turn, one user after the other, until all are done or the look has taken long enough.
All state that matters is in the files and the database: a daemon may die at any moment and any other goes on.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.agent.load import LoadedFiles, load_and_log
from crosswind.collector.batch import BatchSystem, NoBatchSystem
from crosswind.collector.claim import Claims, recover
from crosswind.collector.counts import Counts
from crosswind.collector.errors import SpoolError
from crosswind.collector.estimates import Evaluate
from crosswind.collector.fair import FairShare
from crosswind.collector.follow import Follower
from crosswind.collector.live import end_turns, sweep_turns, take_turn
from crosswind.collector.log import log_event
from crosswind.collector.lost import called_lost, end_lost, note_followed
from crosswind.collector.plan import Due, Known, Plan
from crosswind.collector.report import CollectReport
from crosswind.collector.running import RunningSteps
from crosswind.collector.settings import Settings
from crosswind.collector.spool import remove_unfinished
from crosswind.collector.step_loader import StepLoader, name_of
from crosswind.db import DatabaseError
from crosswind.db.summaries import Summarize
from crosswind.profile.lifecycle import Machine
from crosswind.profile.steps import StepKey, group_by_step, read_spools

__all__ = ["Daemon"]


class Daemon:
    """One collector. `run` works until the event is set; `look` is one round of it."""

    def __init__(
        self,
        spools: Sequence[Path],
        engine: Engine,
        *,
        settings: Settings | None = None,
        evaluate: Evaluate | None = None,
        summarize: Summarize | None = None,
        batch: BatchSystem | None = None,
        counts: Counts | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.spools = list(dict.fromkeys(spool.resolve() for spool in spools))
        self.engine = engine
        self.settings = settings or Settings()
        self.evaluate, self.summarize = evaluate, summarize
        self.counts = counts or Counts()
        self.stop = threading.Event()
        self._clock_ns = clock_ns
        self._share: FairShare[Due] = FairShare()
        self._plan = Plan(self.settings.limits)
        self._running_steps = RunningSteps()
        self._failures = 0  # of the database, in a row
        self._logged = 0  # steps of this look's report
        self._scan_s = 0.0  # CPU time that listing the directories took in the last look
        self._swept = dict.fromkeys(self.spools, float("-inf"))
        self._nodes_at = float("-inf")
        self._lost_at, self._began_ns = time.monotonic(), clock_ns()
        self._node_files: dict[Path, LoadedFiles] = {spool: {} for spool in self.spools}
        machine, self._batch = Machine.this(), batch or NoBatchSystem()
        self._followers = {spool: Follower(spool, machine, self._batch, self.settings.quota) for spool in self.spools}

    def run(self) -> None:
        """Look again and again until `stop` is set; what is being loaded then is finished first."""
        log_event(logging.INFO, "started", spools=",".join(map(str, self.spools)))
        while not self.stop.is_set():
            begin = time.monotonic()
            try:
                self.look()
                self._failures = 0
                pause = self.settings.interval_s
            except DatabaseError as error:
                pause = self._database_failed(error)
            except Exception as error:  # the next look finds all that matters in the files again
                self._failed("unforeseen", reason=repr(error))
                pause = self.settings.longest_pause_s
            took = time.monotonic() - begin
            self.stop.wait(max(pause - took, self._scan_s / self.settings.scan_share))
        log_event(logging.INFO, "stopped", looks=self.counts.looks, loaded=self.counts.steps.total())

    def look(self) -> CollectReport:
        """One look. Raises DatabaseError; what was being loaded is back in the spool then."""
        begin, now_ns = time.monotonic(), self._clock_ns()
        self._batch.refresh()
        begin_cpu = time.thread_time()
        recovered = sum(self._scan(follower, now_ns) for follower in self._followers.values())
        self._scan_s = time.thread_time() - begin_cpu
        with Claims(self.spools) as claims:
            loader = StepLoader(
                self.engine,
                claims,
                evaluate=self.evaluate,
                summarize=self.summarize,
                cluster=self.settings.cluster,
                delete=self.settings.delete,
            )
            loader.report.recovered = recovered
            try:
                self._set_aside(loader, now_ns)
                due = self._plan.due(self._followers, now_ns)
                loader.report.running = [name_of(key) for key in self._plan.running]
                self._running_steps.keep(self._plan.running)
                self._load(loader, due)
            finally:
                self._account(loader.report, time.monotonic() - begin)
        self._load_nodes()
        self._end_lost(now_ns)
        return loader.report

    # --- what there is ---

    def _scan(self, follower: Follower, now_ns: int) -> int:
        """Bring a directory up to date; how many files of dead collectors went back into it."""
        try:
            recovered = recover(follower.spool)
            if time.monotonic() - self._swept[follower.spool] > self.settings.longest_pause_s:
                self._swept[follower.spool] = time.monotonic()
                remove_unfinished(follower.spool)
                sweep_turns(follower.spool)
            follower.scan(now_ns)
        except (SpoolError, OSError) as error:
            self._failed("spool", spool=follower.spool, reason=error)
            return 0
        return recovered

    def _set_aside(self, loader: StepLoader, now_ns: int) -> None:
        """Files that cannot be loaded go to refused/, logs of no job to done/."""
        for follower in self._followers.values():
            for entry in list(follower.entries.values()):
                homeless = entry.peek is not None and entry.peek.is_log and not entry.peek.job_id
                if self.stop.is_set() or entry.stuck or not (entry.reason or homeless):
                    continue
                try:
                    if entry.reason:
                        entry.stuck = not loader.refuse(entry.path, entry.reason)
                    elif follower.may_run(entry, now_ns):
                        continue
                    else:
                        loader.put_away(entry.path)
                    if not entry.stuck:
                        follower.forget(entry.path)
                except (SpoolError, OSError) as error:
                    entry.stuck = True
                    self._failed("move", file=entry.path, reason=error)

    # --- now and then ---

    def _load_nodes(self) -> None:
        """What the agents of nodes wrote."""
        if time.monotonic() - self._nodes_at > self.settings.nodes_s:
            for spool in self.spools:
                load_and_log(spool, self.engine, cluster=self.settings.cluster, loaded=self._node_files[spool])
            self._nodes_at = time.monotonic()

    def _end_lost(self, now_ns: int) -> None:
        """What nobody hears of any more. Not before we have listened for so long: after a pause of ours the running
        steps come back one by one.
        """
        if time.monotonic() - self._lost_at <= self.settings.longest_pause_s:
            return
        self._lost_at = time.monotonic()
        engine, after_s, cluster = self.engine, self.settings.lost_after_s, self.settings.cluster
        note_followed(engine, self._plan.running, after_s=after_s, cluster=cluster, now_ns=now_ns)
        for key in called_lost(engine, self._plan.running, cluster=cluster):  # the next look takes it back
            self._plan.known[key].state = ""
            self._running_steps.forget(key)
        if now_ns - self._began_ns >= after_s * 1e9:
            lost = end_lost(engine, after_s=after_s, cluster=cluster, evaluate=self.evaluate, now_ns=now_ns)
            self.counts.lost += len(lost)

    # --- loading ---

    def _load(self, loader: StepLoader, due: Sequence[Due]) -> None:
        """Load steps in turn until the budget is spent: one at least, however long the directories took to list."""
        begin = time.monotonic()
        for n, (uid, step) in enumerate(self._share.in_turn((d.key.uid, d) for d in due)):
            if self.stop.is_set() or (n and time.monotonic() - begin > self.settings.budget_s):
                return
            known = self._plan.known[step.key]
            try:
                with self._share.charged(uid):
                    if step.state is None:
                        self._finish(loader, step)
                    else:
                        self._refresh(loader, step, step.state, known)
                known.failures = 0
            except DatabaseError:
                self._postpone(known)
                raise
            except (SpoolError, OSError) as error:
                self._postpone(known)
                self._failed("step", step=name_of(step.key), reason=error)
            except Exception as error:
                self._postpone(known)
                self._failed("unforeseen", step=name_of(step.key), reason=repr(error))

    def _finish(self, loader: StepLoader, step: Due) -> None:
        """Take the files of a step, or of ended processes of it, load them and put them away."""
        for batch in step.batches:
            loader.load_finished(batch)
            for path in batch:
                self._followers[path.parent].forget(path)
        end_turns(step.spool, step.key)
        self.counts.slices += self._log_loaded(loader.report, "finished")

    def _refresh(self, loader: StepLoader, step: Due, state: str, known: Known) -> None:
        """Load what a running step has so far, unless another collector has done or does it."""
        begin, begin_cpu = time.monotonic(), time.thread_time()
        with take_turn(step.spool, step.key) as turn:
            if turn is None:
                return
            is_new = turn.loaded != state or (not known.state and self._is_lost(step.key))
            for batch in step.batches if is_new else ():
                self._load_running(loader, step, batch)
            turn.note(state)
        known.state = state
        known.add_cost(time.thread_time() - begin_cpu)
        round_s = sum(other.cost_s for other in self._plan.known.values())
        known.refresh_from = begin + min(round_s / self.settings.live_share, self.settings.longest_pause_s)

    def _load_running(self, loader: StepLoader, step: Due, batch: Sequence[Path]) -> None:
        """Load what is new in these files of a step that goes on, or may; or all of it. Where no process runs that is
        known, it is loaded as a finished one is.
        """
        new = self._running_steps.read_on(step.key, batch, step.running) if step.running else None
        ended_ns = self._running_steps.ended_ns(step.key)
        if new is not None and (not new.files or loader.load_on(new, step.running, step.silent, ended_ns)):
            self._running_steps.note(step.key, new.files, step.running)
        else:
            files, _ = read_spools(batch)  # what can't be read now is refused when the step is over
            members = group_by_step(files).get(step.key)
            if members and loader.load_running(members, step.running, step.silent):
                self._running_steps.note(step.key, members, step.running)
        self._log_loaded(loader.report, "running" if step.running else "silent")

    def _is_lost(self, key: StepKey) -> bool:
        """Whether another collector called the step lost, though nothing of it is new."""
        return bool(called_lost(self.engine, [key], cluster=self.settings.cluster))

    def _log_loaded(self, report: CollectReport, kind: str) -> int:
        """Log and count what was loaded since the last time; how many process slices."""
        slices = 0
        while self._logged < len(report.loaded):
            job = report.loaded[self._logged]
            self._logged += 1
            self.counts.steps[kind] += 1
            slices += job.processes * job.slices
            lag = {}
            if job.newest_ns:  # not of processes that have not closed a slice yet
                lag["lag_s"] = max(self._clock_ns() - job.newest_ns, 0) / 1e9
                if kind == "running":
                    self.counts.lag.add(lag["lag_s"])
            level = logging.INFO if kind == "finished" else logging.DEBUG
            log_event(level, "loaded", kind=kind, job=job.job_id, step=job.step, user=job.user, changed=job.changed,
                      processes=job.processes, slices=job.slices, **lag)  # fmt: skip
        return slices

    # --- failures and figures ---

    def _postpone(self, known: Known) -> None:
        """A step that failed waits longer each time, so that it cannot hold up the others."""
        known.failures += 1
        known.not_before = time.monotonic() + min(10 * self.settings.longest_pause_s, _doubled(known.failures))

    def _database_failed(self, error: DatabaseError) -> float:
        """How long to leave the database alone, s."""
        self._failures += 1
        pause = min(self.settings.longest_pause_s, _doubled(self._failures - 1)) * random.uniform(0.8, 1.2)  # noqa: S311
        self._failed("database", reason=error, retry_s=pause)
        self.engine.dispose()
        return pause

    def _failed(self, what: str, **fields: object) -> None:
        self.counts.errors[what] += 1
        log_event(logging.ERROR, "failed", what=what, **fields)

    def _account(self, report: CollectReport, took_s: float) -> None:
        """What the look comes to, in the counts and in the log."""
        counts = self.counts
        counts.add(report)
        if report.loaded:
            self._batch.note_loaded()
        counts.looks += 1
        counts.look.add(took_s)
        counts.files = sum(len(f.entries) for f in self._followers.values())
        counts.waiting = sum(len(f.waiting) for f in self._followers.values())
        counts.running = len(report.running)
        counts.last_look_s = time.time()
        self._logged = 0
        for path, reason in report.refused:
            log_event(logging.WARNING, "refused", file=path, reason=reason)
        for note in report.notes:
            log_event(logging.WARNING, "note", reason=note)
        if report.recovered:
            log_event(logging.INFO, "recovered", files=report.recovered)


def _doubled(failures: int) -> float:
    """Seconds that double with each failure, as far as any pause goes."""
    return 2.0 ** min(failures, 10)
