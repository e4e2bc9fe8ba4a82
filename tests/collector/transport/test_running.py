"""Running steps on the way: what the collector sees of them before their end, within the rate, nothing double."""

import os
import time

import pytest

from crosswind.collector.daemon import Daemon
from crosswind.collector.settings import Settings
from crosswind.collector.transport import running, ship
from crosswind.collector.transport.errors import TransportError
from crosswind.collector.transport.inbox import Inbox
from crosswind.collector.transport.jetstream import NatsReceiver, NatsSender
from crosswind.collector.transport.running import RunningSteps
from crosswind.collector.transport.shared import SharedReceiver, SharedSender
from crosswind.collector.transport.ship import Shipper
from crosswind.db import queries, reading
from crosswind.profile.lifecycle import Machine
from support.growing import CALLS, GrowingSpool
from support.spools import SLICE_NS, SpoolBuilder
from support.transport import dying

METRIC = f"{CALLS}_calls"
NODE = Machine("boot of n01")  # the machine of the processes; the collector's is this one
NOW_SLICE = time.time_ns() // SLICE_NS


class Clock:
    """Monotonic seconds of the agent."""

    def __init__(self):
        self.s = 0.0

    def __call__(self):
        return self.s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def process(nodes, monkeypatch):
    """A process of n01 that runs for that node, and for nobody else."""
    monkeypatch.setattr(Machine, "runs", lambda machine, file: machine is NODE)
    monkeypatch.setattr(Machine, "knows_pid", lambda machine, file: machine is NODE)
    builder = SpoolBuilder(boot_id=NODE.boot_id, host="n01", start_ns=(NOW_SLICE - 10) * SLICE_NS)
    return GrowingSpool(nodes.spools["n01"], builder)


@pytest.fixture
def shipper(nodes, clock):
    outbox = nodes.outbox("n01")
    running = RunningSteps(outbox.spool, outbox.origin, 1024.0, clock)
    return Shipper(outbox, SharedSender(nodes.shared), running)


@pytest.fixture
def site(nodes, engine):
    """What the collector's side does in a round; then per job its state and its calls by slice."""
    daemon = Daemon([nodes.arrived], engine, settings=Settings(live_share=1e6, delete=True))
    inbox = Inbox(nodes.arrived)

    def look():
        SharedReceiver(nodes.shared).receive(inbox)
        daemon.look()
        with reading(engine) as conn:
            found = {}
            for job in queries.list_jobs(conn)[0]:
                frame = queries.get_frames(conn, job.key, [METRIC]).get(METRIC)
                values = frame.values.sum(axis=0).tolist() if frame else []
                found[job.job_id] = job.state, [v for v in values if v]
        return found

    return look


def test_a_running_step_is_there_before_its_end_and_once(nodes, process, shipper, site, clock):
    for i in range(3):
        process.grow(NOW_SLICE - 10 + i, 5 + i)
        clock.s += 1000
        assert shipper.ship(NODE) == 1
        assert site() == {"1001": ("running", [5, 6, 7][: i + 1])}
    process.end((NOW_SLICE - 7) * SLICE_NS)
    assert shipper.ship(Machine("another")) == 1, "as a whole, by the way of finished steps"
    assert site() == {"1001": ("finished", [5, 6, 7])}
    assert [p.name for p in nodes.arrived.iterdir() if p.is_file()] == []
    assert [p.name for p in nodes.spools["n01"].iterdir() if p.is_file()] == []


def test_without_news_nothing_is_sent_but_a_sign_of_life(process, shipper, clock):
    process.grow(NOW_SLICE - 10, 5)
    assert shipper.ship(NODE) == 1
    clock.s += 300
    assert shipper.ship(NODE) == 0
    clock.s += 301
    assert shipper.ship(NODE) == 1


def test_the_rate_is_kept(nodes, process, shipper, clock):
    sent = 0
    for i in range(9):
        process.grow(NOW_SLICE - 10 + i, 5)
        shipper.ship(NODE)
        sent = sum(path.stat().st_size for path in nodes.shared.iterdir())
        clock.s += 1
    largest = max(path.stat().st_size for path in nodes.shared.iterdir())
    assert largest < sent <= 9 * 1024 + largest


def test_none_are_sent_at_rate_zero(nodes, process):
    process.grow(NOW_SLICE - 10, 5)
    outbox = nodes.outbox("n01")
    shipper = Shipper(outbox, SharedSender(nodes.shared), RunningSteps(outbox.spool, outbox.origin, 0))
    assert shipper.ship(NODE) == 0


def test_what_could_not_be_sent_is_sent_again_and_leaves_nothing(nodes, process, shipper, site, clock):
    process.grow(NOW_SLICE - 10, 5)
    nodes.shared.rename(nodes.shared.with_name("away"))
    with pytest.raises(TransportError):
        shipper.ship(NODE)
    nodes.shared.with_name("away").rename(nodes.shared)
    assert list((nodes.spools["n01"] / "outbox" / "copies").iterdir()) == []
    clock.s += 1000
    assert shipper.ship(NODE) == 1
    assert site() == {"1001": ("running", [5])}


def test_what_cannot_be_sent_is_paid_for_too(nodes, process, shipper, clock, monkeypatch):
    """While the other side is away, a node does not pack its large steps again in each round."""
    process.grow(NOW_SLICE - 10, 5)
    packed = []
    pack = running.pack
    monkeypatch.setattr(running, "pack", lambda *args, **options: packed.append(1) or pack(*args, **options))
    monkeypatch.setattr(shipper.running, "_rate", 1.0)
    nodes.shared.rename(nodes.shared.with_name("away"))
    with pytest.raises(TransportError):
        shipper.ship(NODE)
    for _ in range(5):
        clock.s += 1
        assert shipper.ship(NODE) == 0
    assert len(packed) == 1


def over(shared, nats_server, nodes):
    """A sender and a receiver."""
    if shared:
        return SharedSender(nodes.shared), SharedReceiver(nodes.shared)
    return NatsSender(nats_server.url), NatsReceiver(nats_server.url, nodes.arrived)


@pytest.mark.parametrize("shared", [True, False])
def test_no_more_copies_lie_at_the_other_side_than_are_taken(
    nodes, process, clock, nats_server, engine, monkeypatch, shared
):
    monkeypatch.setattr(ship, "MAX_UNTAKEN", 3)
    outbox = nodes.outbox("n01")
    sender, receiver = over(shared, nats_server, nodes)
    shipper = Shipper(outbox, sender, RunningSteps(outbox.spool, outbox.origin, 1024.0, clock))
    inbox = Inbox(nodes.arrived)

    def rounds(n, first):
        sent = []
        for i in range(n):
            process.grow(NOW_SLICE - 10 + first + i, 5)
            clock.s += 1000
            sent.append(shipper.ship(NODE))
        return sent

    assert rounds(5, 0) == [1, 1, 1, 0, 0]
    assert receiver.receive(inbox) == 3
    assert rounds(5, 5) == [1, 1, 1, 0, 0]


def test_an_older_copy_takes_no_newer_ones_place(nodes, process, shipper, site, clock):
    process.grow(NOW_SLICE - 10, 5)
    shipper.ship(NODE)
    (first,) = nodes.shared.iterdir()
    old = first.read_bytes()
    first.unlink()
    process.grow(NOW_SLICE - 9, 6)
    clock.s += 1000
    shipper.ship(NODE)
    assert site() == {"1001": ("running", [5, 6])}
    first.write_bytes(old)
    assert site() == {"1001": ("running", [5, 6])}
    (copy,) = nodes.arrived.glob("*.xws")
    assert copy.stat().st_mtime > time.time() - 60, "its time is that of the copy: a sign of life"


def test_a_copy_that_comes_behind_the_whole_file_changes_nothing(nodes, process, shipper, site, clock):
    process.grow(NOW_SLICE - 10, 5)
    shipper.ship(NODE)
    (late,) = nodes.shared.iterdir()
    late.rename(nodes.shared.with_name(late.name))
    process.grow(NOW_SLICE - 9, 6)
    process.end((NOW_SLICE - 8) * SLICE_NS)
    shipper.ship(Machine("another"))
    assert site() == {"1001": ("finished", [5, 6])}
    nodes.shared.with_name(late.name).rename(late)
    assert site() == {"1001": ("finished", [5, 6])}


def test_the_sender_may_die_anywhere_between_copies_and_the_whole(nodes, process, shipper, site, clock):
    process.grow(NOW_SLICE - 10, 5)
    for at in range(1, 100):
        clock.s += 1000
        if dying(lambda: shipper.ship(NODE), at):
            break
        assert site() in ({}, {"1001": ("running", [5])})
    else:
        pytest.fail("the sender never came to its end")
    assert at > 3
    process.end((NOW_SLICE - 9) * SLICE_NS)
    for at in range(1, 100):
        if dying(lambda: shipper.ship(Machine("another")), at):
            break
        site()
    shipper.ship(Machine("another"))
    assert site() == {"1001": ("finished", [5])}
    assert [p.name for p in nodes.arrived.glob("*.xws")] == []


def test_copies_go_over_nats_too(nodes, process, clock, nats_server, engine):
    process.grow(NOW_SLICE - 10, 5)
    outbox = nodes.outbox("n01")
    running = RunningSteps(outbox.spool, outbox.origin, 1024.0, clock)
    shipper = Shipper(outbox, NatsSender(nats_server.url), running)
    inbox = Inbox(nodes.arrived)
    for _ in range(2):
        clock.s += 1000
        assert shipper.ship(NODE) == 1
        NatsReceiver(nats_server.url, nodes.arrived).receive(inbox)
        assert len(list(nodes.arrived.glob("*.running.xws"))) == 1


def test_a_collector_that_was_away_waits_for_new_copies(nodes, process, shipper, site, engine):
    """Those that it finds are as old as its own absence."""
    process.grow(NOW_SLICE - 10, 5)
    shipper.ship(NODE)
    site()
    now_ns = time.time_ns() + 7200 * 10**9
    daemon = Daemon([nodes.arrived], engine, clock_ns=lambda: now_ns)
    for seconds, state in ((0, "running"), (60, "running"), (3400, "running"), (200, "lost")):
        now_ns += seconds * 10**9
        daemon.look()
        with reading(engine) as conn:
            assert [job.state for job in queries.list_jobs(conn)[0]] == [state]


def test_a_node_that_is_heard_of_again_goes_on_where_it_was(nodes, process, shipper, site, engine, clock):
    """Its copies did not come through for long."""
    process.grow(NOW_SLICE - 10, 5)
    shipper.ship(NODE)
    site()
    now_ns = time.time_ns()
    daemon = Daemon([nodes.arrived], engine, settings=Settings(delete=True), clock_ns=lambda: now_ns)
    daemon.look()
    now_ns += 3700 * 10**9
    daemon.look()
    assert list(nodes.arrived.glob("*.xws")) == []
    assert site() == {"1001": ("lost", [5])}
    clock.s += 1000
    process.grow(NOW_SLICE - 9, 6)
    shipper.ship(NODE)
    assert site() == {"1001": ("running", [5, 6])}
    process.end((NOW_SLICE - 8) * SLICE_NS)
    shipper.ship(Machine("another"))
    assert site() == {"1001": ("finished", [5, 6])}


def test_copies_of_a_node_that_died_end_by_silence(nodes, process, shipper, site):
    process.grow(NOW_SLICE - 10, 5)
    shipper.ship(NODE)
    assert site() == {"1001": ("running", [5])}
    (copy,) = nodes.arrived.glob("*.xws")
    os.utime(copy, (time.time() - 3700,) * 2)
    assert site() == {"1001": ("running", [5])}, "it was watched for a moment only"
