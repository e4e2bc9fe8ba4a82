"""The daemon: when a process counts as gone, and its job as over."""

import os
import time

import pytest

from crosswind.collector.batch import NoBatchSystem
from crosswind.collector.daemon import Daemon
from crosswind.collector.settings import Settings
from support.looks import METRIC, NOW_SLICE, OWN_PIDS, SaysOfAll, calls
from support.spools import SLICE_NS, Short, SpoolBuilder


class TestTheEnd:
    """When a process that this machine cannot see counts as gone."""

    @pytest.fixture
    def look(self, engine, spool, clock):
        """A daemon with a batch system; one look is enough to know a file, the next ones tell."""

        def make(over):
            settings = Settings(live_share=1e6)
            return Daemon([spool], engine, clock_ns=clock, settings=settings, batch=SaysOfAll(over)).look

        return make

    @pytest.fixture
    def foreign(self, grow):
        """A process of another node, whose last slice is closed."""
        process = grow(boot_id="another", host="n2", pid=77)
        process.grow(NOW_SLICE - 10, 5)
        return process

    def loaded(self, engine):
        return {job: state for job, (state, _) in calls(engine).items()}

    def test_by_silence_without_a_batch_system(self, look, foreign, engine, clock):
        look = look(None)
        look()
        clock.wait(590)
        look()
        foreign.grow(NOW_SLICE - 9, 5)
        look()
        clock.wait(590)
        look()
        assert self.loaded(engine) == {"1001": "running"}
        clock.wait(20)
        look()
        assert self.loaded(engine) == {"1001": "lost"}
        clock.wait(7 * 86400)
        look()
        assert self.loaded(engine) == {"1001": "killed"}

    def test_a_daemon_that_just_started_watches_before_it_believes_in_silence(self, look, foreign, engine, clock):
        os.utime(foreign.path, (0, 0))
        look = look(None)
        look()
        clock.wait(5)
        foreign.grow(NOW_SLICE - 9, 5)
        os.utime(foreign.path, (0, 0))
        look()
        assert self.loaded(engine) == {"1001": "running"}

    def test_never_while_the_batch_system_says_that_the_job_runs(self, look, foreign, engine, clock):
        look = look(False)
        look()
        clock.wait(1e5)
        look()
        assert self.loaded(engine) == {"1001": "running"}

    def test_soon_after_the_batch_system_says_that_the_job_is_over(self, look, foreign, engine, clock):
        look = look(True)
        look()
        clock.wait(12)
        look()
        assert self.loaded(engine) == {"1001": "killed"}

    def test_proc_knows_better_of_our_own_processes(self, look, grow, engine, clock):
        grow().grow(NOW_SLICE - 10, 5)
        look = look(True)
        look()
        clock.wait(1e5)
        look()
        assert self.loaded(engine) == {"1001": "running"}

    def test_at_once_after_a_reboot_of_this_machine(self, grow, engine, daemon):
        grow(boot_id="an earlier one", host=os.uname().nodename).grow(NOW_SLICE - 10, 5)
        daemon.look()
        assert self.loaded(engine) == {"1001": "killed"}

    def test_at_once_when_the_pid_belongs_to_another_process_now(self, grow, engine, daemon):
        grow(start_ticks=1, pid_namespace=OWN_PIDS).grow(NOW_SLICE - 10, 5)
        daemon.look()
        assert self.loaded(engine) == {"1001": "killed"}

    @pytest.mark.parametrize("namespace", [OWN_PIDS + 1, 0], ids=["of another", "of a library that did not say"])
    def test_soon_where_proc_has_other_pids(self, grow, engine, daemon, clock, namespace):
        grow(start_ticks=1, pid_namespace=namespace).grow(NOW_SLICE - 10, 5)
        daemon.look()
        assert self.loaded(engine) == {"1001": "running"}
        clock.wait(3 * SLICE_NS / 1e9 + 1)
        daemon.look()
        assert self.loaded(engine) == {"1001": "killed"}

    def test_not_while_the_batch_system_says_that_its_job_runs(self, grow, engine, spool, clock):
        """It may be suspended: nobody reads what it writes once its file is taken."""

        class Batch(NoBatchSystem):
            def is_over(self, job_id, uid):
                return over

        over = False
        daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6), batch=Batch())
        grow(pid_namespace=OWN_PIDS + 1).grow(NOW_SLICE - 10, 5)
        for _ in range(3):
            daemon.look()
            clock.wait(3600)
            assert self.loaded(engine) == {"1001": "running"}
        over = True
        daemon.look()
        assert self.loaded(engine) == {"1001": "killed"}

    def test_of_another_namespace_whatever_runs_here_under_its_pid(self, grow, engine, daemon, clock):
        grow(pid_namespace=OWN_PIDS + 1).grow(NOW_SLICE - 10, 5)
        daemon.look()
        clock.wait(3 * SLICE_NS / 1e9 + 1)
        daemon.look()
        assert self.loaded(engine) == {"1001": "killed"}

    @pytest.mark.parametrize("namespace", [OWN_PIDS + 1, 0], ids=["of another", "of a library that did not say"])
    def test_not_while_a_process_that_proc_does_not_have_closes_slices(self, grow, engine, daemon, clock, namespace):
        """It lives in a PID namespace: its pid is not that of /proc here."""
        process = grow(pid=2**22 + 1, pid_namespace=namespace)
        for i in range(5):
            process.grow(NOW_SLICE - 10 + i, 5)
            daemon.look()
            assert self.loaded(engine) == {"1001": "running"}
            clock.wait(2 * SLICE_NS / 1e9)

    def test_a_process_with_slices_of_a_day_is_looked_at_all_the_same(self, grow, engine, daemon, clock):
        day_ns = 86400 * 10**9
        start_ns = NOW_SLICE * SLICE_NS // day_ns * day_ns - 3 * day_ns
        process = grow(slice_ns=day_ns, start_ns=start_ns)
        daemon.look()
        process.grow(start_ns // day_ns, 5)
        daemon.look()
        process.end(start_ns + day_ns)
        clock.wait(11)
        daemon.look()
        assert self.loaded(engine) == {"1001": "finished"}

    def test_a_log_of_short_processes_is_followed_until_nobody_adds_to_it(self, engine, daemon, spool, clock):
        clock.ns = time.time_ns()
        path = spool / "1001.0.u0.1.xwl"
        shorts = [Short("sh", (NOW_SLICE - 10) * SLICE_NS + i, 10**6, {METRIC: 1}) for i in range(5)]
        for n in (2, 5):
            path.write_bytes(SpoolBuilder(start_ns=(NOW_SLICE - 10) * SLICE_NS).build_short_log(shorts[:n]))
            clock.wait(4)
            daemon.look()
            assert calls(engine)["1001"][1] == [n]
            assert path.exists()
        clock.wait(60)
        daemon.look()
        assert calls(engine)["1001"][1] == [5]
        assert not path.exists()
