"""Where to send and to receive from, by its name."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from crosswind.collector.errors import SpoolError
from crosswind.collector.log import log_event
from crosswind.collector.transport.errors import TransportError
from crosswind.collector.transport.inbox import Inbox
from crosswind.collector.transport.jetstream import NatsReceiver, NatsSender
from crosswind.collector.transport.outbox import Outbox, look_at_steps
from crosswind.collector.transport.running import RunningSteps
from crosswind.collector.transport.shared import SharedReceiver, SharedSender
from crosswind.profile.lifecycle import Machine
from crosswind.profile.peek import Peek

__all__ = ["Receiver", "Sender", "Shipper", "receiver_for", "sender_for"]

MAX_UNTAKEN = 16  # copies of a node that lie at the other side
NATS = ("nats://", "tls://", "ws://", "wss://")


class Sender(Protocol):
    """Takes bundles away from a node."""

    def send(self, bundle: Path) -> None:
        """Send one bundle; when it returns the other side has it for good. Raises TransportError."""

    def untaken(self, names: Collection[str]) -> set[str]:
        """Which of these bundles no receiver has taken so far. Raises TransportError."""


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


class Shipper:
    """The way of a node's files to the collector, round after round. running: None where it waits until steps end."""

    def __init__(self, outbox: Outbox, sender: Sender, running: RunningSteps | None = None) -> None:
        self.outbox = outbox
        self.sender = sender
        self.running = running
        self._untaken: set[str] = set()  # copies that were sent, less those of which it is known that they were taken
        self._dropped = 0  # bundles, when it was logged last
        self._is_dropping = False

    def ship(self, machine: Machine | None = None) -> int:
        """Bundle what is finished, send all that waits, then copies of what runs; how many bundles went.

        Raises TransportError, SpoolError, OSError: what was not sent waits in the outbox.
        """
        steps = look_at_steps(self.outbox.spool, machine or Machine.this())
        self.outbox.fill(steps.finished)
        sent = 0
        for bundle in self.outbox.waiting():
            try:
                self.sender.send(bundle)
            except FileNotFoundError:
                continue  # another agent of this node sent it
            bundle.unlink(missing_ok=True)
            sent += 1
        return sent + (self._send_copies(self.running, steps.running) if self.running else 0)

    def _send_copies(self, running: RunningSteps, steps: Sequence[Sequence[Peek]]) -> int:
        """Send copies of what runs; how many."""
        sent = 0
        with closing(running.bundles(steps)) as copies:
            while self._may_send_copy() and (copy := next(copies, None)) is not None:
                self.sender.send(copy)
                self._untaken.add(copy.name)
                sent += 1
        return sent

    def _may_send_copy(self) -> bool:
        """Whether copies are taken at the other side: one that is away for days finds only so many of them."""
        if len(self._untaken) >= MAX_UNTAKEN:
            self._untaken = self.sender.untaken(self._untaken)
        return len(self._untaken) < MAX_UNTAKEN

    def ship_and_log(self) -> None:
        """Ship once. What fails is logged: it waits in the outbox for the next time."""
        try:
            sent = self.ship()
        except (TransportError, SpoolError, OSError) as error:
            log_event(logging.WARNING, "not_shipped", reason=str(error))
        else:
            if sent:
                log_event(logging.INFO, "shipped", bundles=sent)
        self._log_dropped()

    def _log_dropped(self) -> None:
        """That bundles are dropped is said when it begins, and how many there were when it ends."""
        dropped, self._dropped = self.outbox.dropped - self._dropped, self.outbox.dropped
        if bool(dropped) != self._is_dropping:
            self._is_dropping = bool(dropped)
            event = "dropping_bundles" if dropped else "dropped_bundles"
            log_event(logging.ERROR, event, bundles=self.outbox.dropped, reason="the outbox is full")


def _options(credentials: str | None) -> dict[str, Any]:
    return {} if credentials is None else {"user_credentials": credentials}
