"""Two daemons of two nodes and one database: a stopped process is lost only when its node is not heard of either."""

import os
import signal
import subprocess
import time

import pytest

from crosswind.collector.daemon import Daemon
from crosswind.collector.once import collect_once
from crosswind.collector.settings import Settings
from crosswind.db import queries, reading
from crosswind.profile.lifecycle import Machine
from support.looks import NOW_SLICE, calls, own_file
from support.spools import SLICE_NS

FIRST = NOW_SLICE - 10
HOUR = 3600


class Nodes:
    """The daemons of the job's node and of another one. ns: the time that both see."""

    def __init__(self, engine, tmp_path):
        self.engine, self.ns = engine, time.time_ns()
        self.spools = [tmp_path / name for name in ("own", "other")]
        for spool in self.spools:
            spool.mkdir()
        self.own, self.other = (self.daemon(spool) for spool in self.spools)

    def daemon(self, spool):
        settings = Settings(live_share=1e6, longest_pause_s=0.0, lost_after_s=HOUR)
        return Daemon([spool], self.engine, settings=settings, clock_ns=lambda: self.ns)

    def pass_by(self, hours, *daemons):
        """Time, in which these daemons look four times an hour."""
        for _ in range(int(4 * hours)):
            self.ns += HOUR // 4 * 10**9
            for daemon in daemons:
                daemon.look()

    def state(self):
        """The state of the job and its calls."""
        ((state, values),) = calls(self.engine).values()
        return state, sum(values)


@pytest.fixture
def nodes(engine, tmp_path):
    return Nodes(engine, tmp_path)


@pytest.fixture
def stopped():
    """A process that is stopped."""
    process = subprocess.Popen(["sleep", "1000"])
    os.kill(process.pid, signal.SIGSTOP)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def file(nodes, stopped):
    """Its spool file, with one slice."""
    grown = own_file(nodes.spools[0], stopped.pid)
    grown.grow(FIRST, 5)
    return grown


def test_no_daemon_ends_what_another_one_sees(nodes, file):
    nodes.own.look()
    nodes.other.look()
    nodes.pass_by(5, nodes.own, nodes.other)
    assert nodes.state() == ("running", 5)
    assert nodes.other.counts.lost == 0


def test_nor_does_a_look_without_a_daemon(nodes, file):
    nodes.own.look()
    assert collect_once([nodes.spools[0]], nodes.engine, lost_after_s=1e-3).notes == []
    assert collect_once([nodes.spools[1]], nodes.engine, lost_after_s=60).notes == []
    assert nodes.state() == ("running", 5)


def test_when_its_node_is_not_heard_of_any_more_another_one_ends_it(nodes, file):
    nodes.own.look()
    nodes.other.look()
    nodes.pass_by(2, nodes.own, nodes.other)
    nodes.pass_by(1, nodes.other)
    assert nodes.state() == ("running", 5), "an hour since its node spoke last"
    nodes.pass_by(0.25, nodes.other)
    assert nodes.state() == ("lost", 5)
    assert nodes.other.counts.lost == 1


def test_its_own_daemon_comes_back_and_says_that_it_is_only_stopped(nodes, file):
    """Nothing of it is new, and what is in the directory says that all of it was loaded."""
    nodes.own.look()
    nodes.other.look()
    nodes.pass_by(2, nodes.other)
    assert nodes.state() == ("lost", 5)
    again = nodes.daemon(nodes.spools[0])
    again.look()
    assert nodes.state() == ("running", 5)
    nodes.pass_by(2, again, nodes.other)
    assert nodes.state() == ("running", 5)
    assert again.counts.steps == {"running": 1}


def test_what_it_counts_after_it_was_called_lost_is_there(nodes, file, stopped):
    nodes.own.look()
    nodes.other.look()
    nodes.pass_by(2, nodes.other)
    assert nodes.state() == ("lost", 5)
    nodes.own.look()
    os.kill(stopped.pid, signal.SIGCONT)
    file.grow(FIRST + 1, 6)
    nodes.pass_by(0.5, nodes.own, nodes.other)
    assert nodes.state() == ("running", 11)
    file.end((FIRST + 2) * SLICE_NS)
    nodes.pass_by(0.5, nodes.own, nodes.other)
    assert nodes.state() == ("finished", 11)


def test_of_two_daemons_of_one_directory_that_of_its_node_is_right(nodes, stopped, monkeypatch):
    """Without a batch system the other one knows nothing but silence, and that the file was written to until later."""

    def elsewhere(do):
        with monkeypatch.context() as patch:
            patch.setattr(Machine, "this", lambda: Machine("another", host="n9", pid_namespace=1))
            return do()

    other = elsewhere(lambda: nodes.daemon(nodes.spools[0]))
    file, now = own_file(nodes.spools[0], stopped.pid), time.time_ns() // SLICE_NS
    file.grow(now - 1, 5)
    nodes.own.look()
    os.utime(file.path, ns=(time.time_ns() + SLICE_NS,) * 2)
    told = []
    for _ in range(4):
        nodes.ns += 400 * 10**9
        elsewhere(other.look)
        told.append(state(nodes))
        for _ in range(2):
            nodes.own.look()
        assert state(nodes) == "running"
    assert told.count("lost") == 1, "it says so once"
    file.grow(now, 6)
    nodes.ns += 61 * 10**9
    nodes.own.look()
    elsewhere(other.look)
    assert state(nodes) == "running"


def state(nodes):
    """Of the job."""
    with reading(nodes.engine) as conn:
        (job,) = queries.list_jobs(conn)[0]
    return job.state
