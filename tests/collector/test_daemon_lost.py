"""The daemon: running steps whose files are gone."""

import time

from crosswind.collector.daemon import Daemon
from crosswind.collector.once import collect_once
from crosswind.collector.settings import Settings
from support.looks import NOW_SLICE, calls


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
