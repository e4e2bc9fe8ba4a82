"""Where to send and to receive from, by its name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Protocol

from crosswind.collector.errors import SpoolError
from crosswind.collector.log import log_event
from crosswind.collector.transport.errors import TransportError
from crosswind.collector.transport.inbox import Inbox
from crosswind.collector.transport.jetstream import NatsReceiver, NatsSender
from crosswind.collector.transport.outbox import Outbox
from crosswind.collector.transport.shared import SharedReceiver, SharedSender

__all__ = ["Receiver", "Sender", "receiver_for", "sender_for", "ship_and_log", "ship_once"]

NATS = ("nats://", "tls://", "ws://", "wss://")


class Sender(Protocol):
    """Takes bundles away from a node."""

    def send(self, bundle: Path) -> None:
        """Send one bundle; when it returns the other side has it for good. Raises TransportError."""


class Receiver(Protocol):
    """Brings bundles to the collector."""

    def receive(self, inbox: Inbox) -> int:
        """Deliver all bundles that are there; how many. Raises TransportError, OSError."""


def sender_for(target: str, credentials: str | None = None) -> Sender:
    """The sender for a directory or a NATS address. credentials: a NATS credentials file."""
    return NatsSender(target, **_options(credentials)) if target.startswith(NATS) else SharedSender(Path(target))


def receiver_for(source: str, spool: Path, credentials: str | None = None) -> Receiver:
    """The receiver for a directory or a NATS address. spool: where bundles may be put together."""
    if source.startswith(NATS):
        return NatsReceiver(source, spool, **_options(credentials))
    return SharedReceiver(Path(source))


def ship_once(outbox: Outbox, sender: Sender) -> int:
    """Bundle what is finished and send all that waits; how many bundles went.

    Raises TransportError, SpoolError, OSError: what was not sent waits in the outbox.
    """
    outbox.fill()
    sent = 0
    for bundle in outbox.waiting():
        try:
            sender.send(bundle)
        except FileNotFoundError:
            continue  # another agent of this node sent it
        bundle.unlink(missing_ok=True)
        sent += 1
    return sent


def ship_and_log(outbox: Outbox, sender: Sender) -> None:
    """Ship once. What fails is logged: it waits in the outbox for the next time."""
    try:
        sent = ship_once(outbox, sender)
    except (TransportError, SpoolError, OSError) as error:
        log_event(logging.WARNING, "not_shipped", reason=str(error))
    else:
        if sent:
            log_event(logging.INFO, "shipped", bundles=sent)


def _options(credentials: str | None) -> dict[str, Any]:
    return {} if credentials is None else {"user_credentials": credentials}
