"""`crosswind agent`: the node's own metrics, slice by slice, and the way of finished files to the collector."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError
from crosswind.tools.names import PLAIN_NAME, cluster_option
from crosswind.tools.output import print_json, print_table
from crosswind.tools.run import SliceLength, slice_length_ms

if TYPE_CHECKING:
    from crosswind.collector.agent.run import Agent
    from crosswind.collector.transport.ship import Sender

__all__ = ["agent_command", "nats_credentials_option", "stop_on_signals"]

FEW_SLICES = 15  # in one node file when files are shipped or loaded as they end


def nats_credentials_option() -> Callable[..., Callable[..., None]]:
    """The option `--nats-credentials FILE`."""
    return click.option(
        "--nats-credentials",
        type=click.Path(exists=True, dir_okay=False),
        help="NATS credentials file, readable by root only.",
    )


@click.command("agent")
@click.option(
    "--spool",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="/dev/shm/crosswind",  # noqa: S108 (the library's own default)
    show_default=True,
    help="Directory of the node's files and of the spool files that are shipped.",
)
@click.option("--slice", "slice_length", type=SliceLength(), default="4s", show_default=True, help="Length of a slice.")
@click.option("--sources", metavar="LIST", help="Only these sources, separated by commas; none: no node metrics.")
@click.option("--server", metavar="RESOURCE", default="", help="This node serves a shared resource, such as fs:net.")
@click.option(
    "--node",
    type=PLAIN_NAME,
    default=lambda: os.uname().nodename,
    show_default="the host's name",
    help="The node's name.",
)
@cluster_option("The cluster that the node belongs to.")
@db_option(required=False)
@click.option("--ship", metavar="TARGET", help="Bundle finished files and send them: a directory, or nats://HOST:PORT.")
@nats_credentials_option()
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Seconds between loading (--db) or shipping (--ship).",
)
@click.option(
    "--running-rate",
    type=click.FloatRange(min=0),
    default=64,
    show_default=True,
    help="KiB a second for copies of steps that run (--ship); 0: none.",
)
@click.option(
    "--outbox-size",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="MiB of bundles that may wait to be sent (--ship); beyond it the oldest are dropped.",
)
@click.option(
    "--outbox-bundles",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="How many of them may wait.",
)
@click.option("--once", is_flag=True, help="Print one slice and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --once: as JSON.")
def agent_command(
    spool: Path,
    slice_length: str,
    sources: str | None,
    server: str,
    node: str,
    cluster: str,
    db: str | None,
    ship: str | None,
    nats_credentials: str | None,
    interval: float,
    running_rate: float,
    outbox_size: int,
    outbox_bundles: int,
    once: bool,
    as_json: bool,
) -> None:
    """Read the node's own metrics in each slice, until SIGTERM or SIGINT.

    They go to files in the spool directory, which `crosswind collect` loads; with --db the agent loads them itself.
    With --ship finished files, its own and those of jobs, are bundled and sent to `crosswind receive`.

    \b
    Example: crosswind agent --server fs:net --ship nats://collector:4222
    """
    from crosswind.collector.agent.run import Agent
    from crosswind.collector.log import log_to
    from crosswind.collector.transport.bundle import Origin
    from crosswind.collector.transport.outbox import Bounds, Outbox
    from crosswind.collector.transport.running import RunningSteps
    from crosswind.collector.transport.ship import Shipper
    from crosswind.db.schema import BLOCK

    if not node:
        raise click.UsageError("this host has no name: say --node NAME")
    if db and ship:
        raise click.UsageError("--db and --ship exclude each other: what is shipped is loaded by the collector")
    agent = Agent(
        spool=spool,
        node=node,
        slice_ns=_slice_ns(slice_length),
        serves=_checked_resource(server),
        sources=_chosen(sources),
        max_slices=FEW_SLICES if db or ship else BLOCK,
    )
    if once:
        _print_one(agent, as_json)
        return
    log_to(sys.stderr)
    stop = stop_on_signals()
    if ship:
        sender = _sender_for(ship, nats_credentials)
        outbox = Outbox(spool, Origin(node, cluster), Bounds(outbox_size << 20, outbox_bundles))
        running = RunningSteps(spool, outbox.origin, running_rate * 1024)
        work: Callable[[], None] | None = Shipper(outbox, sender, running).ship_and_log
    else:
        work = None if db is None else _loading(spool, db, cluster)
    last = threading.Event()  # set when the agent has ended its file: then work once more
    worker = threading.Thread(target=_repeat, args=(work, interval, last)) if work else None
    if worker:
        worker.start()
    try:
        agent.run(stop) if agent.sources else stop.wait()
    finally:
        last.set()
        if worker:
            worker.join()


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _repeat(work: Callable[[], None], interval: float, last: threading.Event) -> None:
    """Work every so many seconds, and once more at the end. Nothing that fails ends it: the next time may go well."""
    from crosswind.collector.log import log_event

    is_last = False
    while not is_last:
        is_last = last.wait(interval)
        try:
            work()
        except Exception as error:
            log_event(logging.ERROR, "failed", what="unforeseen", reason=repr(error))


def _sender_for(target: str, credentials: str | None) -> Sender:
    from crosswind.collector.transport.ship import sender_for

    if "://" not in target and not Path(target).is_dir():
        raise CommandError(f"{target}: there is no such directory to ship to: make it, or name nats://HOST:PORT")
    return sender_for(target, credentials)


def _loading(spool: Path, db: str, cluster: str) -> Callable[[], None]:
    """What loads the node's files once."""
    from crosswind.collector.agent.load import load_and_log
    from crosswind.db.connection import open_database

    engine = open_database(db)
    return lambda: load_and_log(spool, engine, cluster=cluster)


def _slice_ns(text: str) -> int:
    return slice_length_ms(text) * 10**6


def _checked_resource(name: str) -> str:
    from crosswind.db.resources import split

    try:
        return name if not name or split(name) else ""
    except KeyError as error:
        raise click.UsageError(f"--server: {error.args[0]}") from None


def _chosen(sources: str | None) -> tuple[str, ...]:
    from crosswind.collector.agent.sources import READERS

    if sources is None:
        return tuple(READERS)
    names = [] if sources == "none" else [name.strip() for name in sources.split(",")]
    unknown = sorted(set(names) - READERS.keys())
    if unknown:
        raise click.UsageError(f"--sources: there is no source {unknown[0]}; there are {', '.join(READERS)}")
    return tuple(names)


def _print_one(agent: Agent, as_json: bool) -> None:
    """Read two boundaries and print the slice between them."""
    from crosswind.collector.agent.metrics import BY_NAME
    from crosswind.collector.agent.run import next_boundary, wait_until

    piece = None
    stop = stop_on_signals()
    for _ in range(3):  # the first gives no slice, and a busy machine may be late
        boundary = wait_until(next_boundary(agent.slice_ns), agent.slice_ns, stop)
        piece = None if boundary is None else agent.read(boundary)
        if piece is not None or stop.is_set():
            break
    if piece is None:
        raise CommandError("no slice could be read in time: the machine is too busy, or a longer --slice is needed")
    rows = [(m, i, piece.values[m, i], BY_NAME[m].unit, BY_NAME[m].kind) for m, i in sorted(piece.values)]
    if as_json:
        fields = ("metric", "instance", "value", "unit", "kind")
        values = [dict(zip(fields, row, strict=True)) for row in rows]
        print_json({"node": agent.node, "slice": piece.number, "slice_s": agent.slice_ns / 1e9, "values": values})
    else:
        print_table(("metric", "instance", "value", "unit", "kind"), rows)
