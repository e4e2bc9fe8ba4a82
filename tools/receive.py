"""`crosswind receive`: bundles of the nodes into the collector's spool directory."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from crosswind.tools.agent import nats_credentials_option, stop_on_signals
from crosswind.tools.names import cluster_option

__all__ = ["receive_command"]


@click.command("receive")
@click.option("--from", "source", metavar="SOURCE", required=True, help="Directory of bundles, or nats://HOST:PORT.")
@click.option(
    "--spool",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The collector's spool directory: files are delivered there.",
)
@cluster_option("Take bundles of this cluster's nodes only.")
@nats_credentials_option()
@click.option("--once", is_flag=True, help="Deliver what is there and end; exit code 1 if a bundle was refused.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds between looks."
)
@click.pass_context
def receive_command(
    ctx: click.Context,
    source: str,
    spool: Path,
    cluster: str,
    nats_credentials: str | None,
    once: bool,
    interval: float,
) -> None:
    """Unpack what `crosswind agent --ship` sent into a spool directory, until SIGTERM or SIGINT.

    The files keep their owners, so it has to be root, and the way from the nodes has to be root's alone.

    \b
    Example: crosswind receive --from nats://localhost:4222 --spool /var/spool/crosswind
    """
    from crosswind.collector.log import log_event, log_to
    from crosswind.collector.transport.errors import TransportError
    from crosswind.collector.transport.inbox import Inbox
    from crosswind.collector.transport.ship import receiver_for

    log_to(sys.stderr)
    inbox = Inbox(spool, cluster=cluster)
    receiver = receiver_for(source, spool, nats_credentials)
    if once:
        receiver.receive(inbox)
        ctx.exit(1 if inbox.refused else 0)
    stop = stop_on_signals()
    while True:
        try:
            receiver.receive(inbox)
        except (TransportError, OSError) as error:
            log_event(logging.WARNING, "not_received", reason=str(error))
        except Exception as error:  # the next time may go well
            log_event(logging.ERROR, "failed", what="unforeseen", reason=repr(error))
        if stop.wait(interval):
            return
