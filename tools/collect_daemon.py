"""`crosswind collect` without --once: the daemon with its log, its signals, its limits and its metrics."""

from __future__ import annotations

import functools
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from crosswind.tools.errors import CommandError
from crosswind.tools.evaluation import evaluate, summarize

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from crosswind.collector.counts import Counts

__all__ = ["DaemonOptions", "daemon_options", "run_daemon"]

GIB = 1 << 30
_SHARE = click.FloatRange(min=0, max=1, min_open=True)


class DaemonOptions(TypedDict):
    """The options that say how the daemon works, as click gives them."""

    interval: float
    look_budget: float
    refresh_share: float
    listing_share: float
    user_files: int
    user_new_files: int
    memory: float
    metrics_port: int | None
    metrics_address: str


_OPTIONS = (
    click.option(
        "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds between looks."
    ),
    click.option(
        "--look-budget", type=click.FloatRange(min=0), default=5.0, show_default=True,
        help="Seconds after which a look loads nothing more.",
    ),
    click.option(
        "--refresh-share", type=_SHARE, default=0.25, show_default=True,
        help="Share of a core for refreshing running jobs; each is refreshed every minute at least.",
    ),
    click.option(
        "--listing-share", type=_SHARE, default=0.1, show_default=True, help="Share of a core for listing directories."
    ),
    click.option(
        "--user-files", type=click.IntRange(min=1), default=20_000, show_default=True,
        help="Files of one user that are followed in a directory; the others wait.",
    ),
    click.option(
        "--user-new-files", type=click.IntRange(min=1), default=2_000, show_default=True,
        help="New files of one user that are opened in a look.",
    ),
    click.option(
        "--memory", type=click.FloatRange(min=0), default=4.0, show_default=True,
        help="GiB it may ask for; 0: any amount.",
    ),
    click.option(
        "--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics in Prometheus form on this port."
    ),
    click.option(
        "--metrics-address", default="127.0.0.1", show_default=True, help="Address to serve the metrics on."
    ),
)  # fmt: skip


def daemon_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of DaemonOptions."""
    return functools.reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)


def run_daemon(
    engine: Engine,
    spools: Sequence[Path],
    options: DaemonOptions,
    *,
    cluster: str,
    delete: bool,
    lost_after_s: float,
    slurm_events: Path | None = None,
    slurm_queue_s: float | None = None,
) -> None:
    """Collect until SIGTERM or SIGINT. Raises CommandError."""
    from crosswind.collector.batch_system import SlurmJobs
    from crosswind.collector.daemon import Daemon
    from crosswind.collector.follow import Quota
    from crosswind.collector.log import log_to
    from crosswind.collector.settings import Settings

    log_to(sys.stderr)
    _limit_memory(options["memory"])
    slurm = SlurmJobs(engine, events=slurm_events, queue_s=slurm_queue_s, cluster=cluster)
    settings = Settings(
        interval_s=options["interval"],
        budget_s=options["look_budget"],
        delete=delete,
        cluster=cluster,
        quota=Quota(options["user_files"], options["user_new_files"]),
        live_share=options["refresh_share"],
        scan_share=options["listing_share"],
        lost_after_s=lost_after_s,
    )
    daemon = Daemon(spools, engine, settings=settings, evaluate=evaluate, summarize=summarize, batch=slurm)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.stop.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    port = options["metrics_port"]
    end_metrics = None if port is None else _serve_metrics(daemon.counts, options["metrics_address"], port)
    try:
        daemon.run()
    finally:
        if end_metrics:
            end_metrics()


def _limit_memory(gib: float) -> None:
    """What is asked for beyond it fails, and the file that asked for it is refused: no file can get us killed."""
    if gib:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(gib * GIB)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _serve_metrics(counts: Counts, address: str, port: int) -> Callable[[], None]:
    try:
        from crosswind.collector.metrics import serve_metrics
    except ModuleNotFoundError:
        raise CommandError("--metrics-port needs one more package: pip install 'crosswind[metrics]'") from None
    try:
        return serve_metrics(counts, port, address)
    except OSError as error:
        raise CommandError(
            f"cannot serve metrics on {address}:{port} ({error.strerror}): choose another port"
        ) from None
