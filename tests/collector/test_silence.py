"""A shared spool directory without a batch system: processes of other nodes that say nothing, and those that go on."""

import pytest

from crosswind.collector.daemon import Daemon
from crosswind.collector.follow import KEPT_S, QUIET_S, Quota
from crosswind.collector.settings import Settings
from crosswind.db import queries, reading
from support.looks import METRIC, NOW_SLICE, calls
from support.spools import SLICE_NS

SILENT_S = QUIET_S + 20


@pytest.fixture
def estimated():
    """The jobs that were estimated, in order."""
    return []


@pytest.fixture
def daemon(engine, spool, clock, estimated):
    def evaluate(profile):
        estimated.append((profile.job.id, [p.state for p in profile.processes]))

    return Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6, delete=True), evaluate=evaluate)


@pytest.fixture
def look(daemon, clock):
    """So many seconds later, twice: the first look finds the news."""

    def later(seconds=0.0):
        clock.wait(seconds)
        daemon.look()
        daemon.look()

    return later


@pytest.fixture
def foreign(grow):
    """A process of another node with one slice."""

    def make(pid=77, host="n2", **fields):
        process = grow(boot_id="another", host=host, pid=pid, **fields)
        process.grow(NOW_SLICE - 10, 5)
        return process

    return make


def background(engine):
    """What the resources of the job are said to have seen of its calls."""
    with reading(engine) as conn:
        (job,) = queries.list_jobs(conn)[0]
        names = [name for name in queries.resources_of_job(conn, job.key) if name.startswith("fs:disk")]
        found = queries.get_background(conn, names, [METRIC], NOW_SLICE - 20, 40, SLICE_NS)
    return sum(int(values.sum()) for values in found.values())


def test_a_silent_process_is_lost_and_estimated_and_its_file_stays(foreign, engine, look, estimated, daemon):
    process = foreign()
    look()
    for _ in range(3):
        look(SILENT_S)
        assert calls(engine) == {"1001": ("lost", [5])}
        assert process.path.exists()
    assert estimated == [("1001", ["lost"])], "once"
    assert daemon.counts.steps == {"running": 1, "silent": 1}


def test_what_it_counts_afterwards_is_there_once(foreign, engine, look, clock):
    """It was stopped for an hour, and later for a day, or its library had no news."""
    process = foreign()
    look()
    for n, pause in enumerate((3600, 86400), start=1):
        look(pause)
        assert calls(engine)["1001"][0] == "lost"
        process.grow(NOW_SLICE - 10 + n, 5 + n)
        look(61)
        assert calls(engine) == {"1001": ("running", [5, 6, 7][: n + 1])}
        assert background(engine) == sum([5, 6, 7][: n + 1])
    process.end((NOW_SLICE - 7) * SLICE_NS)
    look(61)
    assert calls(engine) == {"1001": ("finished", [5, 6, 7])}
    assert background(engine) == 18
    assert not process.path.exists()


def test_a_collector_that_starts_again_finds_it(foreign, engine, look, clock, spool):
    process = foreign()
    look()
    look(SILENT_S)
    process.grow(NOW_SLICE - 9, 6)
    clock.wait(61)
    Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6)).look()
    assert calls(engine) == {"1001": ("running", [5, 6])}


def test_a_step_of_which_one_node_is_silent_goes_on(foreign, engine, look, clock, estimated):
    stopped, other = foreign(), foreign(pid=78, host="n3")
    look()
    for n in range(1, 4):
        other.grow(NOW_SLICE - 10 + n, n)
        look(SILENT_S / 2)
    assert calls(engine) == {"1001": ("running", [10, 1, 2, 3])}
    assert states(engine) == {77: "lost", 78: "running"}
    assert estimated == []
    stopped.grow(NOW_SLICE - 6, 4)
    look(61)
    assert states(engine) == {77: "running", 78: "running"}
    assert calls(engine) == {"1001": ("running", [10, 1, 2, 3, 4])}
    assert background(engine) == 20


def states(engine):
    """The states of the job's processes by pid."""
    with reading(engine) as conn:
        (job,) = queries.list_jobs(conn)[0]
        return {p.pid: p.state for p in queries.get_processes(conn, job.key)}


def test_after_a_week_it_is_dead(foreign, engine, look, spool):
    process = foreign()
    look()
    look(SILENT_S)
    look(KEPT_S - 2 * SILENT_S)
    assert process.path.exists()
    look(2 * SILENT_S)
    assert calls(engine) == {"1001": ("killed", [5])}
    assert not process.path.exists()


def test_one_with_long_slices_is_not_silent_between_them(grow, engine, look):
    hour_ns = 3600 * 10**9
    first = NOW_SLICE * SLICE_NS // hour_ns - 2
    process = grow(boot_id="another", host="n2", pid=77, slice_ns=hour_ns, start_ns=first * hour_ns)
    process.grow(first, 5)
    look()
    look(3 * 3590)
    assert calls(engine)["1001"][0] == "running"
    look(100)
    assert calls(engine)["1001"][0] == "lost"


def test_silent_processes_outside_any_job_are_loaded(foreign, engine, look):
    foreign(job_id="")
    look()
    assert calls(engine) == {}
    look(SILENT_S)
    assert [state for state, _ in calls(engine).values()] == ["lost"]


def test_silent_files_do_not_keep_new_ones_waiting(foreign, engine, clock, spool):
    """Who has no room left gets it from those that are silent longest."""
    daemon = Daemon([spool], engine, clock_ns=clock, settings=Settings(live_share=1e6, quota=Quota(tracked=10)))
    old = [foreign(pid=pid, job_id=str(pid)) for pid in range(10)]
    for seconds in (0, SILENT_S, 0):
        clock.wait(seconds)
        daemon.look()
    assert {state for state, _ in calls(engine).values()} == {"lost"}
    new = foreign(pid=99, job_id="99")
    for _ in range(4):
        daemon.look()
    assert calls(engine)["99"] == ("running", [5])
    assert new.path.exists()
    assert sum(process.path.exists() for process in old) == 9, "no more than need be"
