"""`crosswind collect` without --once: the daemon with its log, its signals, its limits and its metrics."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crosswind.tools.errors import CommandError
from crosswind.tools.evaluation import evaluate, summarize

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from crosswind.collector.counts import Counts

__all__ = ["run_daemon"]

GIB = 1 << 30


def run_daemon(
    engine: Engine,
    spools: Sequence[Path],
    *,
    interval_s: float,
    delete: bool,
    metrics: tuple[str, int] | None,
    memory_gib: float,
    slurm_events: Path | None = None,
    slurm_queue_s: float | None = None,
) -> None:
    """Collect until SIGTERM or SIGINT. metrics: address and port to serve them on. Raises CommandError."""
    from crosswind.collector.batch_system import SlurmJobs
    from crosswind.collector.daemon import Daemon, Settings
    from crosswind.collector.log import log_to

    log_to(sys.stderr)
    _limit_memory(memory_gib)
    slurm = SlurmJobs(engine, events=slurm_events, queue_s=slurm_queue_s)
    settings = Settings(interval_s=interval_s, delete=delete)
    daemon = Daemon(spools, engine, settings=settings, evaluate=evaluate, summarize=summarize, batch=slurm)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.stop.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end_metrics = _serve_metrics(daemon.counts, *metrics) if metrics else None
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
