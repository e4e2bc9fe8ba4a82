"""The daemon: what is in the database while jobs run, what is read again, and what it survives."""

import itertools
import logging
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from crosswind.collector import daemon as daemon_module
from crosswind.collector import step_loader
from crosswind.collector.batch import NoBatchSystem
from crosswind.collector.batch_system import watch
from crosswind.collector.claim import lock_file
from crosswind.collector.daemon import Daemon
from crosswind.collector.log import KeyValueFormatter
from crosswind.collector.once import collect_once
from crosswind.collector.plan import Known, Limits
from crosswind.collector.settings import Settings
from crosswind.db import DatabaseError, queries, reading
from support.growing import CALLS, GrowingSpool
from support.spools import SLICE_NS, Short, SpoolBuilder

METRIC = f"{CALLS}_calls"
NOW_SLICE = time.time_ns() // SLICE_NS
OWN_PIDS = Path("/proc/self/ns/pid").stat().st_ino  # the PID namespace of this process


class Clock:
    """Time as the daemon sees it; monotonic time goes on by itself."""

    def __init__(self):
        self.ns = (NOW_SLICE + 1) * SLICE_NS + SLICE_NS // 8

    def __call__(self):
        return self.ns

    def wait(self, seconds):
        self.ns += int(seconds * 1e9)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def daemon(engine, spool, clock):
    return Daemon([spool], engine, clock_ns=clock, settings=Settings(interval_s=0.01, live_share=1e6))


@pytest.fixture
def grow(spool):
    """A process of this machine that runs: this very one. Job 1001, ten slices ago."""

    def make(job_id="1001", **fields):
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        who = {"pid": os.getpid(), "start_ticks": started, "boot_id": boot_id, "job_id": job_id}
        start_ns = (NOW_SLICE - 10) * SLICE_NS
        return GrowingSpool(spool, SpoolBuilder(**{"start_ns": start_ns, **who, **fields}))

    return make


def calls(engine):
    """Per job step its state, and its calls by slice, from NOW_SLICE - 10 on."""
    with reading(engine) as conn:
        found = {}
        for job in queries.list_jobs(conn)[0]:
            frame = queries.get_frames(conn, job.key, [METRIC]).get(METRIC)
            values = frame.values.sum(axis=0).tolist() if frame else []
            found[job.job_id] = job.state, values[: max((i + 1 for i, v in enumerate(values) if v), default=0)]
    return found


class TestRunningJobs:
    """Jobs are in the database while they run."""

    def test_each_closed_slice_is_there_after_the_next_look(self, daemon, engine, grow, clock):
        process = grow()
        for i in range(4):
            process.grow(NOW_SLICE - 10 + i, 5 + i)
            clock.wait(4)
            daemon.look()
            assert calls(engine) == {"1001": ("running", [5, 6, 7, 8][: i + 1])}
        assert daemon.counts.steps == {"running": 4}

    def test_what_has_no_news_is_neither_read_nor_loaded_again(self, daemon, grow, clock, monkeypatch):
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        daemon.look()
        reads = []
        monkeypatch.setattr(daemon_module.Daemon, "_load_running", lambda *args: reads.append(args))
        for _ in range(5):
            clock.wait(4)
            daemon.look()
        assert reads == []
        process.grow(NOW_SLICE - 9, 5)
        clock.wait(4)
        daemon.look()
        assert len(reads) == 1

    def test_the_end_replaces_what_was_seen_and_puts_the_file_away(self, daemon, engine, grow, clock, spool):
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        daemon.look()
        process.grow(NOW_SLICE - 9, 6)
        process.end((NOW_SLICE - 8) * SLICE_NS)
        clock.wait(4)
        daemon.look()
        assert calls(engine) == {"1001": ("finished", [5, 6])}
        assert [p.name for p in (spool / "done").iterdir()] == [process.path.name]
        assert list((spool / "running").iterdir()) == []

    def test_only_one_of_two_daemons_loads_a_running_step(self, daemon, engine, grow, clock, spool):
        other = Daemon([spool], engine, clock_ns=clock, settings=daemon.settings)
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        daemon.look()
        other.look()
        assert (daemon.counts.steps, other.counts.steps) == ({"running": 1}, {})
        process.grow(NOW_SLICE - 9, 5)
        clock.wait(4)
        other.look()
        daemon.look()
        assert (daemon.counts.steps, other.counts.steps) == ({"running": 1}, {"running": 1})

    def test_a_costly_step_is_refreshed_less_often(self, engine, grow, clock, spool):
        daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e-4))
        process = grow()
        for i in range(3):
            process.grow(NOW_SLICE - 10 + i, 5)
            clock.wait(4)
            daemon.look()
        assert daemon.counts.steps == {"running": 1}

    def test_processes_outside_any_job_wait_until_they_are_over(self, daemon, engine, grow, clock):
        process = grow(job_id="")
        process.grow(NOW_SLICE - 10, 5)
        daemon.look()
        assert calls(engine) == {}
        process.end((NOW_SLICE - 9) * SLICE_NS)
        clock.wait(4)
        daemon.look()
        assert [state for state, _ in calls(engine).values()] == ["finished"]

    def test_ended_processes_of_a_running_step_do_not_pile_up(self, engine, grow, write, clock, spool):
        daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6, limits=Limits(early=3)))
        grow().grow(NOW_SLICE - 10, 5)
        for pid in range(3):
            write(pid=pid + 10, first_slice=NOW_SLICE - 10)
        daemon.look()
        assert len(list((spool / "done").iterdir())) == 3
        clock.wait(4)
        daemon.look()
        with reading(engine) as conn:
            (job,) = queries.list_jobs(conn)[0]
            assert (job.n_processes, job.state) == (4, "running")


class TestTheEnd:
    """When a process that this machine cannot see counts as gone."""

    class Batch:
        """A batch system that says the same of every job."""

        def __init__(self, over):
            self.over = over

        def refresh(self):
            pass

        def note_loaded(self):
            pass

        def is_over(self, job_id, uid):
            assert (job_id, uid) == ("1001", os.geteuid())
            return self.over

    @pytest.fixture
    def look(self, engine, spool, clock):
        """A daemon with a batch system; one look is enough to know a file, the next ones tell."""

        def make(over):
            return Daemon([spool], engine, clock_ns=clock, batch=self.Batch(over)).look

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


class TestLostJobs:
    """Running steps whose files are gone."""

    def test_is_ended_after_an_hour_of_silence_and_estimated(self, engine, spool, grow, clock, monkeypatch):
        """Also where other daemons go on, and only once."""
        seen = []
        settings = Settings(live_share=1e6, longest_pause_s=0.0)
        daemon = Daemon([spool], engine, clock_ns=clock, settings=settings, evaluate=lambda p: seen.append(p.job.id))
        process = grow()
        for i in range(3):
            process.grow(NOW_SLICE - 10 + i, 5)
        clock.ns = time.time_ns()
        daemon.look()
        process.path.unlink()
        daemon.look()
        clock.wait(3590)
        daemon.look()
        assert calls(engine) == {"1001": ("running", [5, 5, 5])}
        clock.wait(20)
        for _ in range(3):
            daemon.look()
        assert calls(engine) == {"1001": ("lost", [5, 5, 5])}
        assert (daemon.counts.lost, seen) == (1, ["1001"])

    def test_never_where_the_site_does_not_want_it(self, engine, spool, grow, clock):
        settings = Settings(live_share=1e6, longest_pause_s=0.0, lost_after_s=0.0)
        daemon = Daemon([spool], engine, clock_ns=clock, settings=settings)
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        daemon.look()
        process.path.unlink()
        clock.wait(1e6)
        daemon.look()
        assert calls(engine)["1001"][0] == "running"

    def test_a_process_that_is_stopped_is_silent_and_not_lost(self, engine, spool, grow, clock):
        """As by a debugger: /proc has it all the time."""
        settings = Settings(live_share=1e6, longest_pause_s=0.0)
        daemon = Daemon([spool], engine, clock_ns=clock, settings=settings)
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        for seconds in (0, 7200, 1e6):
            clock.wait(seconds)
            daemon.look()
            assert calls(engine) == {"1001": ("running", [5])}
        assert collect_once([spool], engine, lost_after_s=1e-3).notes == []
        assert calls(engine) == {"1001": ("running", [5])}

    def test_a_collector_that_was_away_listens_first(self, engine, spool, grow, clock):
        """What runs elsewhere is delivered again after its pause, one step after the other."""
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        settings = Settings(live_share=1e6, longest_pause_s=0.0)
        Daemon([spool], engine, clock_ns=clock, settings=settings).look()
        process.path.unlink()
        clock.wait(7200)
        daemon = Daemon([spool], engine, clock_ns=clock, settings=settings)
        for seconds, state in ((3500, "running"), (200, "lost")):
            clock.wait(seconds)
            daemon.look()
            assert calls(engine)["1001"][0] == state

    def test_not_before_the_files_that_are_there_were_read(self, engine, spool, grow, clock):
        """Collectors that were away for long come back to jobs that run."""
        process = grow()
        process.grow(NOW_SLICE - 10, 5)
        Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6)).look()
        clock.wait(1e5)
        process.grow(NOW_SLICE - 9, 6)
        daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6))
        daemon.look()
        assert calls(engine) == {"1001": ("running", [5, 6])}
        assert daemon.counts.lost == 0


class TestWhatItSurvives:
    """Failures of the database and of the directory."""

    def test_a_database_that_fails_for_a_while(self, daemon, engine, write, spool):
        write()
        with engine.begin() as conn:
            conn.execute(text("ALTER TABLE frame RENAME TO hidden"))
        with pytest.raises(DatabaseError):
            daemon.look()
        assert len(list(spool.glob("*.xws"))) == 1
        with engine.begin() as conn:
            conn.execute(text("ALTER TABLE hidden RENAME TO frame"))
        time.sleep(2.1)  # what a step waits after its first failure
        daemon.look()
        assert daemon.counts.steps == {"finished": 1}

    def test_a_step_that_the_database_fails_on_does_not_hold_up_the_others(self, daemon, engine, write, monkeypatch):
        load = step_loader.load_profile

        def fail(engine, profile, **options):
            if profile.job.id == "1001":
                raise DatabaseError("no")
            return load(engine, profile, **options)

        monkeypatch.setattr(step_loader, "load_profile", fail)
        write(job_id="1001")
        write(job_id="1002")
        for _ in range(2):
            try:
                daemon.look()
            except DatabaseError:
                continue
        assert set(calls(engine)) == {"1002"}

    def test_run_waits_longer_after_each_failure(self, daemon, write, monkeypatch):
        pauses = []

        def wait(seconds):
            pauses.append(seconds)
            if len(pauses) == 6:
                daemon.stop.set()

        def fail():
            raise DatabaseError("gone")

        monkeypatch.setattr(daemon.stop, "wait", wait)
        monkeypatch.setattr(daemon, "look", fail)
        daemon.run()
        assert all(later > 1.3 * earlier for earlier, later in itertools.pairwise(pauses))
        assert daemon.counts.errors == {"database": 6}

    def test_a_directory_that_disappears_and_comes_back(self, daemon, engine, write, spool):
        shutil.rmtree(spool)
        daemon.look()
        assert daemon.counts.errors == {"spool": 1}
        spool.mkdir()
        write()
        daemon.look()
        assert daemon.counts.steps == {"finished": 1}

    def test_an_unforeseen_error_in_one_step(self, daemon, engine, write, spool):
        def fail(profile):
            if profile.job.id == "1001":
                raise RuntimeError("a bug")

        daemon.evaluate = fail
        write(job_id="1001")
        write(job_id="1002")
        daemon.look()
        assert set(calls(engine)) == {"1002"}
        assert daemon.counts.refused == {"impossible": 1}
        assert len(list((spool / "refused").iterdir())) == 1

    def test_run_goes_on_after_an_unforeseen_error(self, daemon, monkeypatch):
        def fail():
            raise RuntimeError("a bug")

        monkeypatch.setattr(daemon.stop, "wait", lambda seconds: daemon.stop.set())
        monkeypatch.setattr(daemon, "look", fail)
        daemon.run()
        assert daemon.counts.errors == {"unforeseen": 1}

    def test_a_database_that_fails_two_thousand_times(self, daemon):
        known = Known(failures=2000)
        daemon._postpone(known)
        daemon._failures = 2000
        assert daemon._database_failed(DatabaseError("gone")) <= 72

    def test_an_outage_while_the_batch_system_is_asked_is_one_of_the_database(self, daemon, engine, monkeypatch):
        def fail(*_arguments):
            raise OperationalError("SELECT", {}, sqlite3.OperationalError("gone"))

        monkeypatch.setattr(watch, "latest_state", fail)
        with pytest.raises(DatabaseError, match="gone"):
            watch.SlurmJobs(engine).is_over("1001", 0)

    def test_a_look_that_has_used_up_its_budget_still_loads_a_step(self, engine, spool, write, clock):
        daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(budget_s=0.0))
        for job in ("1001", "1002"):
            write(job_id=job)
        for n in (1, 2):
            daemon.look()
            assert daemon.counts.steps == {"finished": n}

    def test_waiting_for_the_batch_system_is_no_time_of_listing(self, engine, spool, write, clock, monkeypatch):
        class Busy(NoBatchSystem):
            def refresh(self):
                end = time.thread_time() + 0.2
                while time.thread_time() < end:
                    pass

        daemon = Daemon([spool], engine, clock_ns=clock, batch=Busy())
        daemon.look()
        assert daemon._scan_s < 0.1

    def test_waiting_for_the_database_makes_no_pause(self, engine, grow, clock, spool, monkeypatch):
        daemon = Daemon([spool], engine, clock_ns=clock)
        load = step_loader.load_profile

        def slow(*arguments, **options):
            time.sleep(0.5)
            return load(*arguments, **options)

        monkeypatch.setattr(step_loader, "load_profile", slow)
        grow().grow(NOW_SLICE - 10, 5)
        daemon.look()
        (known,) = daemon._plan.known.values()
        assert known.refresh_from - time.monotonic() < 1.0

    def test_a_step_without_a_slice_has_no_lag(self, daemon, grow, caplog):
        grow()
        with caplog.at_level(logging.DEBUG):
            daemon.look()
        (loaded,) = (r.fields for r in caplog.records if r.getMessage() == "loaded")
        assert "lag_s" not in loaded

    def test_all_directories_are_swept_of_what_was_never_finished(self, engine, tmp_path):
        spools = [tmp_path / "a", tmp_path / "b"]
        for folder in spools:
            (folder / "running").mkdir(parents=True, mode=0o700)
            for path in (folder / ".making.1.1", folder / "running" / "abandoned"):
                path.touch()
                os.utime(path, (0, 0))
            (folder / "running" / "young").touch()
        held = lock_file(spools[0] / "running" / "abandoned")
        Daemon(spools, engine).look()
        os.close(held)
        assert [sorted(p.name for p in d.iterdir() if p.name[0] == ".") for d in spools] == [[], []]
        left = [sorted(p.name for p in (d / "running").iterdir()) for d in spools]
        assert left == [["abandoned", "young"], ["young"]]

    def test_stop_ends_a_look_between_two_steps(self, daemon, write, spool):
        for i in range(5):
            write(job_id=f"100{i}")
        daemon.evaluate = lambda profile: daemon.stop.set()
        daemon.look()
        assert daemon.counts.steps == {"finished": 1}
        assert len(list(spool.glob("*.xws"))) == 4
        assert list((spool / "claims").iterdir()) == []


def test_log_lines_are_one_line_whatever_is_in_them():
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "refused", None, None)
    record.fields = {"file": '/a b/\x1b[31m\n\udcff="', "n": 3, "lag_s": 0.123456789, "ok": "a/b"}
    line = KeyValueFormatter().format(record)
    assert "\n" not in line
    assert line.isascii()
    assert line.split(" ", 1)[1] == (
        r'level=warning event=refused file="/a b/\u001b[31m\n\udcff=\"" n=3 lag_s=0.123457 ok=a/b'
    )
    assert KeyValueFormatter(for_journal=True).format(record).startswith("<4>level=warning event=refused ")
