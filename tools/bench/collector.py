#!/usr/bin/env python3
"""What the collector daemon costs: JSON lines. docs/performance.md, "The collector", says what they mean.

Spool files are written as the library writes them, by the helpers of the tests; the database is SQLite, or with
--postgresql a server that is started for it. With --refresh only that is measured: what is new of a job of so many
processes, with so many slices of 4 s behind it (a day: 21600).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from long_job import SAMPLED, measure_refresh  # noqa: E402

from crosswind.collector.daemon import Daemon  # noqa: E402
from crosswind.collector.settings import Settings  # noqa: E402
from crosswind.db import open_database, queries, reading  # noqa: E402
from support.growing import CALLS, GrowingSpool, live_process  # noqa: E402
from support.postgresql import NoServer, private_server  # noqa: E402
from support.spools import SLICE_NS, SpoolBuilder  # noqa: E402

PROCESSES = 100  # of a job
NOW_SLICE = time.time_ns() // SLICE_NS


@click.command(help=__doc__)
@click.option("--processes", default=1000, show_default=True)
@click.option("--history", "histories", multiple=True, type=int, default=(10, 225, 900), show_default=True)
@click.option("--seconds", default=60, show_default=True, help="of the measurement of the lag")
@click.option("--looks", default=3000, show_default=True, help="of the measurement of the memory")
@click.option("--refresh", "long_jobs", multiple=True, metavar="PROCESSESxSLICES", help="only this, such as 1000x21600")
@click.option("--postgresql", is_flag=True, help="of --refresh and of the lag")
def main(
    processes: int, histories: tuple[int, ...], seconds: int, looks: int, long_jobs: tuple[str, ...], postgresql: bool
) -> None:
    """Measure, and print one JSON line a figure."""
    if long_jobs:
        for words in long_jobs:
            _refresh(words, postgresql)
        return
    for history in histories if not postgresql else ():
        _look_costs(processes, history)
    _lag(seconds, postgresql)
    if not postgresql:
        _memory(looks)


class Clock:
    """The time of the daemon: a slice is over when we say so."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        """UTC, ns."""
        return self.ns


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="crosswind-bench-"))
    try:
        (folder / "spool").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _database(folder: Path, postgresql: bool) -> Iterator[str]:
    if not postgresql:
        yield f"sqlite:///{folder}/c.db"
        return
    try:
        with private_server(("shared_buffers=512MB", "max_wal_size=4GB"), Path(tempfile.gettempdir())) as url:
            yield f"{url}/postgres"
    except NoServer as error:
        raise click.ClickException(str(error)) from None


def _refresh(words: str, postgresql: bool) -> None:
    """Of a job that was followed from its begin."""
    n_processes, _, n_slices = words.partition("x")
    if not (n_processes.isdecimal() and n_slices.isdecimal()):
        raise click.UsageError(f"--refresh {words}: write PROCESSESxSLICES, such as 1000x21600")
    with _folder() as folder, _database(folder, postgresql) as url:
        for name, value, unit in measure_refresh(url, folder / "spool", int(n_processes), int(n_slices)):
            _print(f"{url.partition(':')[0]}_{words}_{name}", value, unit)


def _processes(spool: Path, n: int, history: int) -> list[GrowingSpool]:
    """Running processes of another node with so many closed slices."""
    start_ns = (NOW_SLICE - history - 20) * SLICE_NS
    room = 1 << 12 | (history + 40) * 200 & ~4095
    out = []
    for i in range(n):
        builder = SpoolBuilder(
            job_id=f"{i // PROCESSES}", pid=1000 + i, start_ns=start_ns, boot_id="another", host=f"n{i // PROCESSES}"
        )
        out.append(GrowingSpool(spool, builder, room=room))
    for k in range(history):
        _close(out, NOW_SLICE - history - 20 + k)
    return out


def _close(processes: list[GrowingSpool], index: int) -> None:
    """All close a slice with values as programs have them: some stay, some vary."""
    for number, process in enumerate(processes):
        values = {name: 1000 * i + (number * index if i % 3 == 0 else 0) % 977 for i, name in enumerate(SAMPLED)}
        process.grow(index, 17 + index % 5, values)


def _look_costs(n: int, history: int) -> None:
    """CPU time of a look at running processes: without news, and when each has closed a slice."""
    with _folder() as folder:
        clock = Clock()
        clock.ns = (NOW_SLICE - 20) * SLICE_NS + SLICE_NS // 8
        processes = _processes(folder / "spool", n, history)
        engine = open_database(f"sqlite:///{folder}/c.db")
        settings = Settings(live_share=1e9, budget_s=1e9)
        daemon = Daemon([folder / "spool"], engine, settings=settings, clock_ns=clock)
        first = _cpu(daemon)
        idle, news = [], []
        for k in range(5):
            idle.append(_cpu(daemon))
            _close(processes, NOW_SLICE - 20 + k)
            clock.ns += SLICE_NS
            news.append(_cpu(daemon))
        _print(f"look_first_{n}x{history}", first, "s")
        _print(f"look_without_news_{n}x{history}", sorted(idle)[2], "s")
        _print(f"look_with_news_{n}x{history}", sorted(news)[2], "s")
        engine.dispose()


def _cpu(daemon: Daemon) -> float:
    begin = time.process_time()
    daemon.look()
    return time.process_time() - begin


def _lag(seconds: int, postgresql: bool) -> None:
    """From the end of a slice of a real process until a reader finds it in the database."""
    with _folder() as folder, _database(folder, postgresql) as url:
        open_database(url).dispose()
        context = multiprocessing.get_context("fork")
        n = seconds * 10**9 // SLICE_NS
        jobs = [context.Process(target=_be_process, args=(folder, f"{i // 4}", n, i), daemon=True) for i in range(8)]
        collector = context.Process(target=_collect, args=(folder / "spool", url), daemon=True)
        for process in (collector, *jobs):
            process.start()
        lags = _watch(url, seconds)
        collector.terminate()
        for process in (collector, *jobs):
            process.join()
    lags.sort()
    _print("lag_median", lags[len(lags) // 2], "s")
    _print("lag_max", lags[-1], "s")
    _print("lag_slices", len(lags), "slices")


def _be_process(folder: Path, job_id: str, n: int, seed: int) -> None:
    live_process(folder / "spool", folder / f"{os.getpid()}.json", job_id, SLICE_NS, n, seed)


def _collect(spool: Path, url: str) -> None:
    Daemon([spool], open_database(url)).run()


def _watch(url: str, seconds: int) -> list[float]:
    """When each slice of each job was first seen, after its end."""
    engine = open_database(url, create=False)
    seen: dict[tuple[str, int], float] = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)
        with reading(engine) as conn:
            for job in queries.list_jobs(conn)[0]:
                frame = queries.get_frames(conn, job.key, [f"{CALLS}_calls"]).get(f"{CALLS}_calls")
                if frame is None:
                    continue
                closed = [int(i) + job.first_slice for i in np.flatnonzero(np.all(frame.values, axis=0))]
                for index in closed:
                    lag = time.time() - (index + 1) * SLICE_NS / 1e9
                    if lag > 0:
                        seen.setdefault((job.job_id, index), lag)
    engine.dispose()
    return list(seen.values())


def _memory(looks: int) -> None:
    """Resident memory over many looks, while jobs come and go."""
    with _folder() as folder:
        clock = Clock()
        engine = open_database(f"sqlite:///{folder}/c.db")
        daemon = Daemon([folder / "spool"], engine, settings=Settings(delete=True, live_share=1e9), clock_ns=clock)
        clock.ns = time.time_ns()
        at = {}
        for k in range(looks):
            if k % 10 == 0:
                _some_jobs(folder / "spool", k)
            daemon.look()
            clock.ns += SLICE_NS
            if k in (looks // 10, looks // 2, looks - 1):
                at[k + 1] = _resident_mib()
        engine.dispose()
    for k, mib in at.items():
        _print(f"memory_after_{k}_looks", mib, "MiB")
    _print("memory_peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")


def _some_jobs(spool: Path, k: int) -> None:
    """Two jobs of two processes that are over."""
    start_ns = (NOW_SLICE - 100) * SLICE_NS
    for i in range(4):
        process = GrowingSpool(spool, SpoolBuilder(job_id=f"{k}-{i // 2}", pid=10 + i, start_ns=start_ns))
        _close([process], NOW_SLICE - 100)
        process.end(start_ns + SLICE_NS)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def _print(name: str, value: float, unit: str) -> None:
    click.echo(json.dumps({"name": f"collector_{name}", "value": round(value, 4), "unit": unit}))


if __name__ == "__main__":
    main()
