"""The daemon: failures of the database, of the directory and of single steps, and how it stops."""

import itertools
import logging
import os
import shutil
import sqlite3
import time

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from crosswind.collector import step_loader
from crosswind.collector.batch import NoBatchSystem
from crosswind.collector.batch_system import watch
from crosswind.collector.claim import lock_file
from crosswind.collector.daemon import Daemon
from crosswind.collector.plan import Known
from crosswind.collector.settings import Settings
from crosswind.db import DatabaseError
from support.looks import NOW_SLICE, calls


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
