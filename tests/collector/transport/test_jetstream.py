"""The same over a real NATS server with JetStream, which dies as well."""

import asyncio
import errno
import os
import random
import signal
import time

import pytest

from crosswind.collector.transport import jetstream
from crosswind.collector.transport.errors import TransportError
from crosswind.collector.transport.inbox import Inbox
from crosswind.collector.transport.jetstream import NatsReceiver, NatsSender
from crosswind.collector.transport.ship import Shipper
from support.transport import dying


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(jetstream, "ACK_WAIT_S", 0.5)
    monkeypatch.setattr(jetstream, "IDLE_S", 0.2)
    monkeypatch.setattr(jetstream, "TIMEOUT_S", 5.0)
    monkeypatch.setattr(jetstream, "RETRY_S", 3.0)


def ship(nodes, server, node="n01"):
    return Shipper(nodes.outbox(node), NatsSender(server.url)).ship()


def receive(nodes, server):
    inbox = Inbox(nodes.arrived)
    NatsReceiver(server.url, nodes.arrived).receive(inbox)
    return inbox


def drain(nodes, server):
    """Receive until nothing is left on the server."""
    until = time.monotonic() + 60
    while True:
        receive(nodes, server)
        held = messages(server)
        if not any(held.values()):
            return
        assert time.monotonic() < until, held
        time.sleep(0.1)


def messages(server):
    """How many messages each stream holds."""

    async def ask():
        async with jetstream._connected(server.url, {}) as js:
            names = (jetstream.CHUNKS, jetstream.BUNDLES)
            return {name: (await js.stream_info(name)).state.messages for name in names}

    return asyncio.run(ask())


def test_all_is_loaded_and_the_server_is_empty(engine, nodes, nats_server):
    for pid in (1, 2):
        nodes.step("1001", pid=pid)
    nodes.step("1001", node="n02")
    assert (ship(nodes, nats_server), ship(nodes, nats_server, "n02")) == (1, 1)
    assert receive(nodes, nats_server).files == 3
    assert nodes.loaded(engine) == nodes.written
    assert messages(nats_server) == {"crosswind-chunks": 0, "crosswind-bundles": 0}


def test_a_large_bundle_goes_in_chunks(nodes, nats_server):
    noise = nodes.spools["n01"] / "noise.xwn"
    noise.write_bytes(os.urandom(3_000_000) + b'{"end":true}\n')
    assert ship(nodes, nats_server) == 1
    assert messages(nats_server)["crosswind-chunks"] == 12
    assert receive(nodes, nats_server).files == 1
    (arrived,) = nodes.arrived.glob("*.xwn")
    assert arrived.stat().st_size == 3_000_013


def test_the_sender_may_die_anywhere(engine, nodes, nats_server):
    for at in range(1, 200):
        nodes.step(f"a{at}")
        if dying(lambda: ship(nodes, nats_server), at):
            break
    assert 20 < at < 199
    ship(nodes, nats_server)
    drain(nodes, nats_server)
    assert nodes.loaded(engine) == nodes.written


def test_the_receiver_may_die_anywhere(engine, nodes, nats_server):
    for at in range(1, 200):
        nodes.step(f"a{at}")
        ship(nodes, nats_server)
        if dying(lambda: receive(nodes, nats_server), at):
            break
    assert 5 < at < 199
    drain(nodes, nats_server)
    assert nodes.loaded(engine) == nodes.written


def test_the_server_dies_again_and_again(engine, nodes, nats_server):
    rng = random.Random(7)
    works = (lambda: ship(nodes, nats_server), lambda: receive(nodes, nats_server))
    children = [in_a_child(work) for work in works]
    try:
        for i in range(12):
            nodes.step(f"a{i}")
            (nodes.spools["n01"] / f"noise{i}.xwn").write_bytes(os.urandom(2_000_000) + b'{"end":true}\n')
            time.sleep(rng.uniform(0.05, 0.4))
            nats_server.kill()
            nats_server.start()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    ship(nodes, nats_server)
    drain(nodes, nats_server)
    assert len({p.name.split(".")[0] for p in nodes.arrived.glob("noise*.xwn")}) == 12
    assert nodes.loaded(engine) == nodes.written


def in_a_child(work):
    """Work again and again in a process of its own, whatever fails of the transport; its pid."""
    child = os.fork()
    while child == 0:
        try:
            work()
        except (TransportError, OSError):
            time.sleep(0.02)
        except BaseException:
            os._exit(1)
    return child


def test_a_bundle_that_cannot_be_delivered_does_not_hold_up_the_others(engine, nodes, nats_server, monkeypatch):
    for job in ("1001", "1002", "1003"):
        nodes.step(job)
    ship(nodes, nats_server)
    deliver, failed = Inbox.deliver, []

    def fail(inbox, bundle):
        if not failed or bundle.name == failed[0]:
            failed.append(bundle.name)
            raise OSError(errno.ENOSPC, "no space", "a file")
        return deliver(inbox, bundle)

    monkeypatch.setattr(Inbox, "deliver", fail)
    with pytest.raises(OSError, match="no space"):
        receive(nodes, nats_server)
    assert len(failed) == 1, "it is not tried again at once"
    assert len(nodes.loaded(engine)) == 2
    monkeypatch.setattr(Inbox, "deliver", deliver)
    drain(nodes, nats_server)
    assert nodes.loaded(engine) == nodes.written


def test_a_round_ends_where_nothing_can_be_delivered(nodes, nats_server, monkeypatch):
    monkeypatch.setattr(jetstream, "MAX_FAILED", 2)
    tried = []

    def fail(inbox, bundle):
        tried.append(bundle)
        raise OSError(errno.ENOSPC, "no space", "a file")

    monkeypatch.setattr(Inbox, "deliver", fail)
    for n in range(5):
        nodes.step(f"100{n}")
    ship(nodes, nats_server)
    with pytest.raises(OSError, match="no space"):
        receive(nodes, nats_server)
    assert len(tried) == 2


def test_bundles_of_another_cluster_stay_for_their_own_receiver(nodes, nats_server, monkeypatch):
    monkeypatch.setattr(jetstream, "RETRY_S", 0.1)
    nodes.step("1001")
    Shipper(nodes.outbox("n01", cluster="red"), NatsSender(nats_server.url)).ship()
    wrong = Inbox(nodes.arrived)
    monkeypatch.setattr(jetstream, "IDLE_S", 0.05)
    for _ in range(3):
        NatsReceiver(nats_server.url, nodes.arrived).receive(wrong)
        time.sleep(0.2)
    assert (wrong.files, wrong.n_refused) == (0, 1), "it says so once"
    right = Inbox(nodes.arrived, cluster="red")
    NatsReceiver(nats_server.url, nodes.arrived).receive(right)
    assert right.files == 1


def test_two_receivers_share_the_work(engine, nodes, nats_server):
    for i in range(10):
        nodes.step(f"a{i}")
    ship(nodes, nats_server)
    child = os.fork()
    if child == 0:
        receive(nodes, nats_server)
        os._exit(0)
    receive(nodes, nats_server)
    assert os.waitpid(child, 0)[1] == 0
    drain(nodes, nats_server)
    assert nodes.loaded(engine) == nodes.written


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff", b'{"bundle": "../x", "attempt": "y", "size": 1}'])
def test_what_is_no_announcement_is_dropped(nodes, nats_server, data):
    async def announce():
        async with jetstream._connected(nats_server.url, {}) as js:
            await js.publish(jetstream.ANNOUNCEMENTS, data)

    asyncio.run(announce())
    nodes.step("1001")
    ship(nodes, nats_server)
    assert receive(nodes, nats_server).files == 1
    assert messages(nats_server)["crosswind-bundles"] == 0


def test_no_server_is_one_line_without_the_password(nodes, nats_server):
    nodes.step("1001")
    nats_server.kill()
    address = nats_server.url.replace("//", "//agent:secret@")
    with pytest.raises(TransportError, match=r"NATS at nats://127.*") as error:
        Shipper(nodes.outbox("n01"), NatsSender(address)).ship()
    assert "secret" not in str(error.value)
    nats_server.start()
    assert ship(nodes, nats_server) == 1, "it waited in the outbox"
