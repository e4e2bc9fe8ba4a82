"""Transport by NATS JetStream. Needs the extra `nats`.

    stream crosswind-chunks    crosswind.chunks.BUNDLE.ATTEMPT   the bytes of a bundle, CHUNK at a time
    stream crosswind-bundles   crosswind.bundles                 one announcement per attempt, behind its chunks

Sending: all chunks, then the announcement, each acknowledged by the server; then older attempts at the same bundle are
purged. Receiving: an announcement, its chunks, the check of the hash, delivery onto stable storage, purge,
acknowledgement. The announcements are a work queue: several receivers share the work, and one that dies gives it back.

Why nothing is lost. A sender keeps its bundle until its announcement was acknowledged, and then all chunks are there:
a full stream refuses new messages instead of dropping old ones. So the chunks of an announcement are missing only if
they were delivered, or if a later attempt, complete and announced, took their place: then the announcement may go.
Message ids make a publication that is repeated within an attempt count once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from crosswind.collector.log import log_event
from crosswind.collector.transport.bundle import BUNDLE_SUFFIX, MAX_BUNDLE
from crosswind.collector.transport.errors import OtherCluster, TransportError
from crosswind.collector.transport.inbox import Inbox

__all__ = ["NatsReceiver", "NatsSender"]

CHUNK = 256 << 10  # a message may have 1 MiB by the server's default, and comes back a third larger
CHUNKS, BUNDLES = "crosswind-chunks", "crosswind-bundles"
ANNOUNCEMENTS = "crosswind.bundles"
DURABLE = "collector"
ACK_WAIT_S = 60.0  # after this long an announcement goes to another receiver
RETRY_S = 30.0  # what could not be delivered is tried again after so long
MAX_FAILED = 10  # deliveries that fail in one round: the fault is here, and the rest would fail as well
TIMEOUT_S = 10.0
IDLE_S = 1.0  # when nothing came for so long there is nothing
_ID = re.compile(r"[0-9a-f]{64}")
_ATTEMPT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class _Announcement:
    bundle: str  # the SHA-256 of its bytes
    attempt: str
    size: int

    @property
    def subject(self) -> str:
        return f"crosswind.chunks.{self.bundle}.{self.attempt}"

    @property
    def n_chunks(self) -> int:
        return -(-self.size // CHUNK)

    @classmethod
    def parse(cls, data: bytes) -> _Announcement:
        """Raises ValueError for what is none."""
        record = json.loads(data)
        if not isinstance(record, dict):
            raise ValueError("no document")
        bundle, attempt, size = record.get("bundle"), record.get("attempt"), record.get("size")
        if not isinstance(bundle, str) or not isinstance(attempt, str) or type(size) is not int:
            raise ValueError("no bundle, attempt and size")
        if not _ID.fullmatch(bundle) or not _ATTEMPT.fullmatch(attempt) or not 0 < size <= MAX_BUNDLE:
            raise ValueError("an impossible bundle, attempt or size")
        return cls(bundle, attempt, size)


class NatsSender:
    """Sends bundles to the streams. options: of nats.connect (user_credentials, tls, ...)."""

    def __init__(self, url: str, **options: Any) -> None:  # noqa: ANN401 (nats-py's own)
        self.url = url
        self.options = options

    def send(self, bundle: Path) -> None:
        """Send a bundle; when it returns, the server has it. Raises TransportError."""
        _run(self._send(bundle), self.url)

    def untaken(self, names: Collection[str]) -> set[str]:
        """Which of these bundles the server still has. Raises TransportError."""
        found: set[str] = _run(self._untaken(names), self.url)
        return found

    async def _untaken(self, names: Collection[str]) -> set[str]:
        from nats.js.errors import NotFoundError

        there = set()
        async with _connected(self.url, self.options) as js:
            for name in names:
                with suppress(NotFoundError):
                    await js.get_msg(CHUNKS, seq=1, subject=f"crosswind.chunks.{Path(name).stem}.*", next=True)
                    there.add(name)
        return there

    async def _send(self, path: Path) -> None:
        announcement = _Announcement(path.stem, uuid4().hex, path.stat().st_size)
        async with _connected(self.url, self.options) as js:
            first = 0
            with open(path, "rb") as file:
                for number in range(announcement.n_chunks):
                    headers = {"Nats-Msg-Id": f"{announcement.attempt}.{number}"}
                    sent = await js.publish(announcement.subject, file.read(CHUNK), headers=headers, stream=CHUNKS)
                    first = first or sent.seq
            record = {"bundle": announcement.bundle, "attempt": announcement.attempt, "size": announcement.size}
            headers = {"Nats-Msg-Id": announcement.attempt}
            await js.publish(ANNOUNCEMENTS, json.dumps(record).encode(), headers=headers, stream=BUNDLES)
            if first > 1:  # a purge up to the first message of all means everything to the server
                await js.purge_stream(CHUNKS, subject=f"crosswind.chunks.{announcement.bundle}.*", seq=first)


class NatsReceiver:
    """Takes bundles from the streams. scratch: a directory of our own for bundles that are being put together."""

    def __init__(self, url: str, scratch: Path, **options: Any) -> None:  # noqa: ANN401 (nats-py's own)
        self.url = url
        self.scratch = scratch
        self.options = options

    def receive(self, inbox: Inbox) -> int:
        """Deliver all bundles that are there; how many. Raises TransportError; OSError, after the others, when a
        delivery fails; after MAX_FAILED of them the rest waits for the next time.
        """
        return _run(self._receive(inbox), self.url)

    async def _receive(self, inbox: Inbox) -> int:
        from nats.errors import TimeoutError as NothingThere
        from nats.js.api import ConsumerConfig

        delivered = 0
        failed: list[OSError] = []
        async with _connected(self.url, self.options) as js:
            config = ConsumerConfig(ack_wait=ACK_WAIT_S, max_deliver=-1)
            queue = await js.pull_subscribe(ANNOUNCEMENTS, durable=DURABLE, stream=BUNDLES, config=config)
            while len(failed) < MAX_FAILED:
                try:
                    (message,) = await queue.fetch(1, timeout=IDLE_S)
                except NothingThere:
                    delivered += await self._sweep(js, inbox)
                    break
                try:
                    delivered += await self._take(js, message, inbox)
                except OSError as error:  # the others need not wait for this one
                    failed.append(error)
        if failed:
            raise failed[0]
        return delivered

    async def _take(self, js: Any, message: Any, inbox: Inbox) -> bool:  # noqa: ANN401 (nats-py's own)
        """Deliver what a message of the work queue announces, then let it go; whether anything was delivered. Raises
        OSError; then it comes again after a while.
        """
        try:
            done = await self._deliver(js, message.data, inbox, message.in_progress)
        except OtherCluster:
            await message.nak(delay=RETRY_S)
            return False
        except OSError:
            await message.nak(delay=RETRY_S)
            raise
        await message.ack_sync(timeout=TIMEOUT_S)
        return done

    async def _sweep(self, js: Any, inbox: Inbox) -> int:  # noqa: ANN401 (nats-py's own)
        """Announcements that are in the stream, but that the queue takes for done; how many brought anything.

        A server that was killed can remember that a message was acknowledged, and forget that it was removed.
        """
        from nats.js.errors import NotFoundError

        queue = await js.consumer_info(BUNDLES, DURABLE)
        held = (await js.stream_info(BUNDLES)).state.messages
        delivered, after = 0, 0
        while held and not queue.num_pending and not queue.num_ack_pending:
            try:
                message = await js.get_msg(BUNDLES, seq=after + 1, subject=ANNOUNCEMENTS, next=True)
            except NotFoundError:
                break
            after = message.seq
            with suppress(OtherCluster):
                delivered += await self._deliver(js, message.data or b"", inbox, _nothing)
                await js.delete_msg(BUNDLES, after)
        return delivered

    async def _deliver(self, js: Any, data: bytes, inbox: Inbox, still_there: Callable[[], Awaitable[None]]) -> bool:  # noqa: ANN401
        """Deliver what is announced and purge its chunks; whether it brought anything. Raises OSError, OtherCluster."""
        try:
            announcement = _Announcement.parse(data)
        except ValueError as error:
            log_event(logging.ERROR, "refused", bundle="", reason=f"an announcement says {error}")
            return False
        with tempfile.TemporaryDirectory(dir=self.scratch, prefix="bundle-") as folder:
            path = Path(folder) / f"{announcement.bundle}{BUNDLE_SUFFIX}"
            complete = await _assemble(js, announcement, path, still_there)
            done = complete and await asyncio.to_thread(inbox.deliver, path)
        await js.purge_stream(CHUNKS, subject=announcement.subject)
        return done


async def _assemble(
    js: Any,  # noqa: ANN401 (nats-py's own)
    announcement: _Announcement,
    path: Path,
    still_there: Callable[[], Awaitable[None]],
) -> bool:
    """Put the chunks together in a file; False: they are gone."""
    from nats.js.errors import NotFoundError

    after = 0
    with open(path, "xb") as file:
        os.fchmod(file.fileno(), 0o600)
        for number in range(announcement.n_chunks):
            try:
                chunk = await js.get_msg(CHUNKS, seq=after + 1, subject=announcement.subject, next=True)
            except NotFoundError:
                return False
            after = chunk.seq
            file.write(chunk.data or b"")
            if number % 64 == 63:
                await still_there()
    return True


@asynccontextmanager
async def _connected(url: str, options: dict[str, Any]) -> AsyncIterator[Any]:
    """JetStream with both streams made."""
    import nats
    from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig

    connection = await nats.connect(
        url,
        allow_reconnect=False,
        max_reconnect_attempts=1,
        reconnect_time_wait=1,
        connect_timeout=int(TIMEOUT_S),
        error_cb=_ignore,
        name="crosswind",
        **options,
    )
    try:
        js = connection.jetstream(timeout=TIMEOUT_S)
        full = DiscardPolicy.NEW
        chunks = StreamConfig(name=CHUNKS, subjects=["crosswind.chunks.>"], discard=full)
        queue = RetentionPolicy.WORK_QUEUE
        bundles = StreamConfig(name=BUNDLES, subjects=[ANNOUNCEMENTS], discard=full, retention=queue)
        for stream in (chunks, bundles):
            await _make_stream(js, stream)
        yield js
    finally:
        await connection.close()


async def _make_stream(js: Any, config: Any) -> None:  # noqa: ANN401 (nats-py's own)
    """Make a stream that is missing; one that is there stays as the site made it (limits, replicas)."""
    from nats.js.errors import NotFoundError

    try:
        await js.stream_info(config.name)
    except NotFoundError:
        await js.add_stream(config)


async def _nothing() -> None:
    """There is no message to keep."""


async def _ignore(_error: Exception) -> None:
    """Errors of the connection come back from the calls themselves."""


def _run(work: Any, url: str) -> Any:  # noqa: ANN401 (a coroutine's result)
    """Run a piece of work; what NATS raises becomes a TransportError."""
    try:
        import nats.errors
    except ModuleNotFoundError:
        work.close()
        raise TransportError("NATS needs one more package: pip install 'crosswind[nats]'") from None
    try:
        return asyncio.run(work)
    except (TimeoutError, nats.errors.Error, ConnectionError) as error:
        raise TransportError(f"NATS at {_shown(url)}: {str(error) or type(error).__name__}") from None
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            raise  # of a file, not of the connection
        raise TransportError(f"NATS at {_shown(url)}: {error}") from None


def _shown(url: str) -> str:
    """The address without a password."""
    return re.sub(r"//[^@/]*@", "//", url)
