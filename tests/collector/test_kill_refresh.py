"""A collector killed with SIGKILL inside the refresh of a running job: at each statement of it, before and behind its
commit. What is in the database then is what was before or what is afterwards; the next collector makes it the truth.

CROSSWIND_KILLS=300 kills at every place; without it at a few of them.
"""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from sqlalchemy import event

from crosswind.collector import step_loader
from crosswind.collector.daemon import Daemon
from crosswind.collector.live import Turn
from crosswind.collector.settings import Settings
from crosswind.db import open_database, queries, reading
from support.growing import CALLS, GrowingSpool
from support.spools import SLICE_NS, SpoolBuilder

METRIC = f"{CALLS}_calls"
FIRST = 107_423 * 4096 - 8  # so that some refreshes begin a new block of slices
FEW = 12


class Study:
    """Processes of another node, which close slices when they are told to, and collectors that die."""

    def __init__(self, spool, url):
        self.spool, self.url, self.engine = spool, url, open_database(url)
        self.now = FIRST
        self.processes = [
            GrowingSpool(spool, SpoolBuilder(pid=10 + i, boot_id="another", host=f"n{i % 2}", job_id="7",
                                             start_ns=FIRST * SLICE_NS), room=1 << 18)
            for i in range(4)
        ]  # fmt: skip

    def close_slice(self):
        for number, process in enumerate(self.processes):
            process.grow(
                self.now, 1 + (number * 7919 + self.now) % 1000, {"cpu_time": self.now % 97, "rss": 5 + number}
            )
        self.now += 1

    def collector(self, engine):
        settings = Settings(live_share=1e9, budget_s=1e9)
        clock_ns = self.now * SLICE_NS + SLICE_NS // 8
        return Daemon([self.spool], engine, settings=settings, clock_ns=lambda: clock_ns)

    def killed_at(self, place):
        """Let a collector follow the job, close a slice, and kill it at that place of its refresh: whether it got there
        or, being through before, ended by itself.
        """
        self.close_slice()
        following, go = (multiprocessing.get_context("fork").Event() for _ in range(2))
        child = multiprocessing.get_context("fork").Process(target=self._be_killed, args=(place, following, go))
        child.start()
        assert following.wait(60)
        self.close_slice()
        go.set()
        child.join(60)
        assert child.exitcode in (0, -signal.SIGKILL)
        return child.exitcode != 0

    def _be_killed(self, place, following, go):
        engine = open_database(self.url)
        daemon = self.collector(engine)
        daemon.look()
        following.set()
        go.wait(60)
        now_ns = (self.now + 1) * SLICE_NS + SLICE_NS // 8
        daemon._clock_ns = lambda: now_ns
        passed = []

        def pass_by(*_):
            passed.append(1)
            if len(passed) == place:
                os.kill(os.getpid(), signal.SIGKILL)

        extend, note = step_loader.extend_profile, Turn.note

        def extend_and_die(*arguments, **options):
            for moment in ("begin", "before_cursor_execute", "commit"):
                event.listen(engine, moment, pass_by)
            result = extend(*arguments, **options)
            assert result is not None, "it was no refresh"
            pass_by()  # behind the commit, before the collectors are told
            return result

        def note_and_die(turn, state):
            note(turn, state)
            pass_by()

        step_loader.extend_profile, Turn.note = extend_and_die, note_and_die
        daemon.look()
        os._exit(0 if passed else 3)

    def check(self, *, complete):
        """Each slice is there once in each place, and nothing else. complete: all that were closed; else the last one
        may be missing, for all processes.
        """
        closed = self.now - FIRST
        with reading(self.engine) as conn:
            (job,) = queries.list_jobs(conn)[0]
            profile = queries.get_profile(conn, job.key)
            names = [f"fs:disk@n{i}" for i in range(2)]
            background = queries.get_background_sum(conn, names, [METRIC], FIRST - 5, closed + 10, SLICE_NS)[METRIC]
        counted = {p.pid: row.tolist() for p, row in zip(profile.processes, profile.slices[METRIC], strict=True)}
        held = int(np.count_nonzero(profile.slices[METRIC].any(axis=0)))  # none counts nothing in a slice
        assert held == closed or (held == closed - 1 and not complete)
        rest = [0] * (job.n_slices - held)
        every = {process.builder.pid: list(process.values.values()) for process in self.processes}
        assert counted == {pid: values[:held] + rest for pid, values in every.items()}
        assert background.tolist()[5 : 5 + held] == np.sum([v[:held] for v in every.values()], axis=0).tolist()
        assert not background[:5].any()
        assert not background[5 + held :].any()
        assert profile.slices["cpu_time"].sum() == 4 * sum((FIRST + i) % 97 for i in range(held))
        assert (job.state, job.first_slice) == ("running", FIRST)


@pytest.fixture
def study(spool, url):
    made = Study(spool, url)
    yield made
    made.engine.dispose()


def test_killed_anywhere_in_a_refresh(study):
    """Places that a refresh passes: its statements, the begins and commits around them, and what comes behind."""
    study.close_slice()
    study.collector(study.engine).look()
    n_places = 0
    while study.killed_at(1 << n_places):
        study.check(complete=False)
        n_places += 1
    most = 1 << n_places  # more than there are
    every = max(most // int(os.environ.get("CROSSWIND_KILLS", FEW)), 1)
    kills = [study.killed_at(place) for place in range(most, 0, -every) if not study.check(complete=False)]
    assert sum(kills) >= min(FEW // 2, most // 4)
    study.close_slice()
    study.collector(study.engine).look()
    study.check(complete=True)
    for process in study.processes:
        process.end(study.now * SLICE_NS)
    begin = time.monotonic()
    while list(study.spool.glob("*.xws")) and time.monotonic() - begin < 30:
        study.collector(study.engine).look()
    with reading(study.engine) as conn:
        assert queries.list_jobs(conn)[0][0].state == "finished"
