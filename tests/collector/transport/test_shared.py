"""From the spool of a node over a shared directory into the database: nothing lost, nothing twice, whoever dies."""

import errno
import os
import time

import pytest

from crosswind.collector.agent.load import collect_nodes
from crosswind.collector.agent.nodefile import NodeWriter
from crosswind.collector.agent.sample import Slice
from crosswind.collector.transport import inbox as inboxes
from crosswind.collector.transport import outbox as outboxes
from crosswind.collector.transport import ship as shipping
from crosswind.collector.transport.errors import TransportError
from crosswind.collector.transport.inbox import Inbox
from crosswind.collector.transport.outbox import Bounds
from crosswind.collector.transport.shared import SharedReceiver, SharedSender
from crosswind.collector.transport.ship import Shipper
from crosswind.db import node_queries, reading
from crosswind.profile.lifecycle import Machine
from support.spools import RUNNING, START_NS, Short, SpoolBuilder
from support.transport import dying


def ship(nodes, node="n01"):
    return Shipper(nodes.outbox(node), SharedSender(nodes.shared)).ship()


def receive(nodes):
    inbox = Inbox(nodes.arrived)
    SharedReceiver(nodes.shared).receive(inbox)
    return inbox


def left(directory):
    """Names of plain files anywhere below."""
    return sorted(p.name for p in directory.rglob("*") if p.is_file() and p.name != "owner")


def test_one_bundle_per_step_and_all_is_loaded(engine, nodes):
    for pid in (1, 2, 3):
        nodes.step("1001", pid=pid)
    nodes.step("1002")
    nodes.step("1001", node="n02")
    assert (ship(nodes), ship(nodes, "n02")) == (2, 1)
    assert receive(nodes).files == 5
    assert nodes.loaded(engine) == nodes.written == {"1001": 12, "1002": 3}
    assert [left(d) for d in (*nodes.spools.values(), nodes.shared)] == [[], [], []]
    assert ship(nodes) == 0


def test_a_running_step_stays_on_its_node(nodes):
    machine = Machine.this()
    if not machine.boot_id:
        pytest.skip("this machine has no boot id in /proc: whether a process runs cannot be told")
    nodes.step("1001", pid=1)
    nodes.step("1001", pid=os.getpid(), state=RUNNING, end_ns=0, boot_id=machine.boot_id)
    nodes.step("1002", pid=2**22 + 1, state=RUNNING, end_ns=0, boot_id=machine.boot_id)
    assert ship(nodes) == 1
    assert receive(nodes).files == 1
    assert len(left(nodes.spools["n01"])) == 2


def test_processes_outside_any_job_wait_for_each_other(nodes):
    machine = Machine.this()
    nodes.step("", pid=1)
    nodes.step("", pid=os.getpid(), state=RUNNING, end_ns=0, boot_id=machine.boot_id)
    assert ship(nodes) == 0


def test_a_log_of_short_processes_waits_until_it_is_left_alone(nodes):
    path = nodes.spools["n01"] / "1001.0.u0.1.xwl"
    path.write_bytes(SpoolBuilder(job_id="1001").build_short_log([Short("sh", START_NS, 10**6)]))
    assert ship(nodes) == 0
    os.utime(path, (time.time() - 31, time.time() - 31))
    assert ship(nodes) == 1


def test_node_files_travel_too(engine, nodes):
    writer = NodeWriter(nodes.spools["n01"] / "a.xwn", {"node": "n01", "slice_ns": 4 * 10**9, "serves": ""})
    writer.append(Slice(440_000_000, 0, 1, {("cpu_user", ""): 5}))
    assert ship(nodes) == 0, "it still grows"
    writer.close()
    assert ship(nodes) == 1
    receive(nodes)
    assert collect_nodes([nodes.arrived], engine).slices == 1
    with reading(engine) as conn:
        assert [node.name for node in node_queries.list_nodes(conn)] == ["n01"]


def test_the_sender_may_die_anywhere(engine, nodes):
    for at in range(1, 200):
        nodes.step(f"a{at}")
        nodes.step(f"b{at}", pid=at)
        if dying(lambda: ship(nodes), at):
            break
    else:
        pytest.fail("the sender never came to its end")
    assert at > 20
    ship(nodes)
    receive(nodes)
    assert nodes.loaded(engine) == nodes.written
    for path in (nodes.spools["n01"] / "outbox").iterdir():
        os.utime(path, (0, 0))
    assert nodes.outbox("n01").waiting() == []
    assert left(nodes.spools["n01"]) == [], "what was half made is removed after a while"


def test_the_receiver_may_die_anywhere(engine, nodes):
    for at in range(1, 200):
        nodes.step(f"a{at}")
        ship(nodes)
        if dying(lambda: receive(nodes), at):
            break
    else:
        pytest.fail("the receiver never came to its end")
    assert at > 4
    receive(nodes)
    assert nodes.loaded(engine) == nodes.written
    assert left(nodes.shared) == []


def test_what_comes_twice_is_loaded_once(engine, nodes):
    nodes.step("1001")
    ship(nodes)
    (bundle,) = nodes.shared.iterdir()
    copy = bundle.read_bytes()
    for _ in range(3):
        bundle.write_bytes(copy)
        receive(nodes)
        assert nodes.loaded(engine) == {"1001": 3}


def test_a_bundle_waits_while_the_directory_is_away(engine, nodes):
    nodes.step("1001")
    nodes.shared.rename(nodes.shared.with_name("away"))
    with pytest.raises(TransportError, match="cannot write to"):
        ship(nodes)
    assert len(nodes.outbox("n01").waiting()) == 1
    nodes.shared.with_name("away").rename(nodes.shared)
    assert ship(nodes) == 1
    receive(nodes)
    assert nodes.loaded(engine) == {"1001": 3}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user: run the tests as root")
def test_only_root_speaks_for_a_node(nodes):
    nodes.step("1001")
    ship(nodes)
    (bundle,) = nodes.shared.iterdir()
    os.chown(bundle, 65534, 65534)
    inbox = receive(nodes)
    assert (inbox.files, len(inbox.refused)) == (0, 1)
    assert left(nodes.arrived) == []


def test_a_bad_bundle_is_set_aside_and_does_not_stop_the_rest(engine, nodes):
    nodes.step("1001")
    ship(nodes)
    (nodes.shared / f"{'0' * 64}.xwb").write_bytes(b"what")
    inbox = receive(nodes)
    assert (inbox.files, len(inbox.refused)) == (1, 1)
    assert left(nodes.arrived / "refused") == [f"{'0' * 64}.xwb"]
    assert left(nodes.shared) == []


def test_a_step_too_large_for_one_bundle_takes_several(engine, nodes, monkeypatch):
    monkeypatch.setattr(outboxes, "MAX_FILES", 2)
    for pid in range(1, 6):
        nodes.step("1001", pid=pid)
    assert ship(nodes) == 3
    receive(nodes)
    assert nodes.loaded(engine) == {"1001": 15}


def test_a_bundle_that_cannot_be_delivered_does_not_hold_up_the_others(engine, nodes, monkeypatch):
    for job in ("1001", "1002"):
        nodes.step(job)
    ship(nodes)
    first = min(path.name for path in nodes.shared.iterdir())
    deliver = Inbox.deliver

    def fail(inbox, bundle):
        if bundle.name == first:
            raise OSError("no space")
        return deliver(inbox, bundle)

    monkeypatch.setattr(Inbox, "deliver", fail)
    with pytest.raises(OSError, match="no space"):
        receive(nodes)
    assert [path.name for path in nodes.shared.iterdir()] == [first]
    monkeypatch.undo()
    receive(nodes)
    assert nodes.loaded(engine) == nodes.written


def test_a_bundle_that_never_can_be_delivered_is_refused_in_the_end(engine, nodes, monkeypatch):
    for job in ("1001", "1002"):
        nodes.step(job)
    ship(nodes)
    poison = min(path.name for path in nodes.shared.iterdir())
    unpack = inboxes.unpack

    def fail(bundle, spool, **options):
        if bundle.name == poison:
            raise OSError(errno.ENAMETOOLONG, "File name too long")
        return unpack(bundle, spool, **options)

    monkeypatch.setattr(inboxes, "unpack", fail)
    inbox = Inbox(nodes.arrived)
    for n in range(inboxes.MAX_FAILURES - 1):
        with pytest.raises(OSError, match="too long"):
            SharedReceiver(nodes.shared).receive(inbox)
        assert (inbox.files, inbox.n_refused) == (1, 0), n
    SharedReceiver(nodes.shared).receive(inbox)
    assert (inbox.files, inbox.n_refused) == (1, 1)
    assert left(nodes.arrived / "refused") == [poison]
    assert left(nodes.shared) == []


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_what_is_wrong_here_is_no_fault_of_a_bundle(nodes, monkeypatch, reason):
    def fail(*_, **__):
        raise OSError(reason, "not now")

    nodes.step("1001")
    ship(nodes)
    monkeypatch.setattr(inboxes, "unpack", fail)
    inbox = Inbox(nodes.arrived)
    for _ in range(3 * inboxes.MAX_FAILURES):
        with pytest.raises(OSError, match="not now"):
            SharedReceiver(nodes.shared).receive(inbox)
    assert len(left(nodes.shared)) == 1


def test_a_spool_directory_that_is_away_takes_no_bundle(engine, nodes):
    nodes.step("1001")
    ship(nodes)
    inbox = Inbox(nodes.arrived)
    nodes.arrived.rename(nodes.arrived.with_name("away"))
    with pytest.raises(FileNotFoundError):
        SharedReceiver(nodes.shared).receive(inbox)
    nodes.arrived.with_name("away").rename(nodes.arrived)
    SharedReceiver(nodes.shared).receive(inbox)
    assert nodes.loaded(engine) == {"1001": 3}


def test_an_error_that_nobody_foresaw_refuses_the_bundle(nodes, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    nodes.step("1001")
    ship(nodes)
    monkeypatch.setattr(inboxes, "unpack", fail)
    inbox = receive(nodes)
    assert [reason for _, reason in inbox.refused] == ["it cannot be unpacked (RuntimeError)"]
    assert len(left(nodes.arrived / "refused")) == 1


def test_what_is_kept_and_remembered_of_refused_bundles_is_bounded(nodes, monkeypatch):
    monkeypatch.setattr(inboxes, "MAX_KEPT", 3)
    monkeypatch.setattr(inboxes, "MAX_NOTED", 4)
    for n in range(6):
        (nodes.shared / f"{n:064}.xwb").write_bytes(b"what")
    inbox = receive(nodes)
    assert (inbox.n_refused, len(inbox.refused)) == (6, 4)
    assert len(left(nodes.arrived / "refused")) == 3
    assert left(nodes.shared) == []


def test_bundles_of_another_cluster_stay_for_their_own_receiver(engine, nodes, monkeypatch):
    """One that was started with a wrong name takes nothing from anybody, and says so once."""
    nodes.step("1001")
    Shipper(nodes.outbox("n01", cluster="red"), SharedSender(nodes.shared)).ship()
    inbox, wrong = Inbox(nodes.arrived), SharedReceiver(nodes.shared)
    for _ in range(3):
        assert wrong.receive(inbox) == 0
        monkeypatch.setattr(inbox, "deliver", lambda path: pytest.fail("it was read again"))
    assert (inbox.files, inbox.n_refused) == (0, 1)
    assert "of the cluster 'red'" in inbox.refused[0][1]
    assert left(nodes.arrived) == []
    inbox = Inbox(nodes.arrived, cluster="red")
    SharedReceiver(nodes.shared).receive(inbox)
    assert (inbox.files, left(nodes.shared)) == (1, [])


class Away:
    """A sender whose other side is away, and comes back."""

    def __init__(self):
        self.is_away = True
        self.sent = []

    def send(self, bundle):
        if self.is_away:
            raise TransportError("away")
        self.sent.append(bundle.name)


@pytest.mark.parametrize("bounds", [Bounds(bundles=2), Bounds(size=1)])
def test_what_waits_is_bounded_and_the_oldest_go(nodes, monkeypatch, bounds):
    lines = []
    monkeypatch.setattr(shipping, "log_event", lambda level, event, **fields: lines.append((event, fields)))
    outbox, sender = nodes.outbox("n01", bounds=bounds), Away()
    shipper = Shipper(outbox, sender)
    names = []
    for n in range(5):
        nodes.step(f"100{n}")
        shipper.ship_and_log()
        names += [path.name for path in outbox.waiting() if path.name not in names]
    kept = bounds.bundles if bounds.bundles == 2 else 0
    assert outbox.dropped == 5 - kept
    assert [path.name for path in outbox.waiting()] == names[len(names) - kept :]
    assert len([event for event, _ in lines if event == "dropping_bundles"]) == 1, "it is said once"
    sender.is_away = False
    shipper.ship_and_log()
    assert len(sender.sent) == kept
    assert ("dropped_bundles", 5 - kept) in [(event, fields.get("bundles")) for event, fields in lines]


def test_a_folder_for_refused_bundles_that_is_not_ours_is_an_error_of_the_delivery(nodes):
    (nodes.arrived / "refused").mkdir()
    (nodes.arrived / "refused").chmod(0o777)
    (nodes.shared / "bad.xwb").write_bytes(b"x")
    with pytest.raises(PermissionError, match="not the collector's own folder"):
        receive(nodes)
    assert (nodes.shared / "bad.xwb").exists()


def test_a_bundle_is_that_of_the_file_that_was_opened(nodes, monkeypatch):
    """A name that became a link, or another's file, after it was looked at."""
    nodes.step("1001")
    ship(nodes)
    (bundle,) = nodes.shared.iterdir()
    bundle.rename(nodes.shared.with_name(bundle.name))
    bundle.symlink_to(nodes.shared.with_name(bundle.name))
    monkeypatch.setattr(SharedReceiver, "_is_trusted", staticmethod(lambda path, inbox: True))
    inbox = receive(nodes)
    assert [reason for _, reason in inbox.refused] == [
        "it is a symbolic link, no regular file: only root speaks for a node"
    ]
    assert left(nodes.arrived) == []


def test_a_process_of_a_pid_namespace_stays_while_it_closes_slices(nodes):
    """Its pid is not that of /proc here."""
    machine = Machine.this()
    now = time.time_ns()
    nodes.step("1001", pid=2**22 + 1, state=RUNNING, start_ns=now, slices=(), end_ns=0, boot_id=machine.boot_id)
    assert ship(nodes) == 0
