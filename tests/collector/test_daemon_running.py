"""The daemon: jobs are in the database while they run, and nothing is read or loaded twice."""

from crosswind.collector import daemon as daemon_module
from crosswind.collector.daemon import Daemon
from crosswind.collector.plan import Limits
from crosswind.collector.settings import Settings
from crosswind.db import queries, reading
from support.looks import NOW_SLICE, calls
from support.spools import SLICE_NS


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


def test_a_clock_that_is_put_back_stops_nothing(daemon, engine, grow, clock):
    """As NTP does with one that was hours ahead when the machine began."""
    process = grow()
    process.grow(NOW_SLICE - 10, 5)
    daemon.look()
    clock.wait(1)
    daemon.look()
    clock.wait(-7200)
    process.grow(NOW_SLICE - 9, 6)
    daemon.look()
    daemon.look()
    assert calls(engine) == {"1001": ("running", [5, 6])}
