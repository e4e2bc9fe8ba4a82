"""What is measured on a database that holds a month: loading, the queries that pages need, sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from figure import Figure
from flask import Flask, g
from site_month import DAYS, SLICE_NS, Placed, Site
from sqlalchemy import Connection, Engine

from crosswind.analysis.series_bands import summarize
from crosswind.db import details, load_profile, queries, reading
from crosswind.db.upkeep import get_info
from crosswind.web.identity import Role, Viewer
from crosswind.web.jobdata import read_background, read_frames, read_loss, read_series

__all__ = ["measure_loading", "measure_long_job", "measure_queries", "measure_sizes"]

DAY_SLICES = 86400 * 10**9 // SLICE_NS
ROUNDS = 25


def measure_loading(engine: Engine, jobs: Sequence[Placed], name: str, target: float | None) -> Iterator[Figure]:
    """Load these jobs, one after the other, into what is there already; then all of them again."""
    profiles = [job.profile() for job in jobs]
    cells = sum(job.cells for job in jobs)
    cpu, begin = time.process_time(), time.perf_counter()
    for profile in profiles:
        load_profile(engine, profile, summarize=summarize)
    cpu, elapsed = time.process_time() - cpu, time.perf_counter() - begin
    yield Figure(f"loading {name}, process-slices by CPU time", cells / cpu, "process-slices/s", target)
    yield Figure(f"loading {name}, process-slices by elapsed time", cells / elapsed, "process-slices/s")
    yield Figure(f"loading {name}, jobs", len(jobs) / elapsed, "jobs/s")
    begin = time.perf_counter()
    for profile in profiles:
        load_profile(engine, profile)
    yield Figure(f"loading {name} again, jobs", len(jobs) / (time.perf_counter() - begin), "jobs/s")


def measure_queries(engine: Engine, site: Site, seed: int = 1) -> Iterator[Figure]:
    """The queries that the pages need, each with random arguments, in transactions of their own."""
    rng = np.random.default_rng(seed)

    def some_slice() -> int:
        return site.first_slice + int(rng.integers(0, (DAYS - 1) * DAY_SLICES))

    def job_key() -> int:
        return int(rng.integers(1, len(site.jobs) + 1))

    def host() -> str:
        job = site.jobs[int(rng.integers(len(site.jobs)))]
        return job.hosts[0]

    def a_day(conn: Connection, resource: str) -> None:
        queries.get_background(conn, [resource], None, some_slice(), DAY_SLICES, SLICE_NS)

    for resource in ("fs:net", "net"):
        times = _times(engine, partial(a_day, resource=resource))
        yield from _figures(f"background of a day, {resource}, all its metrics", times, 50)
    times = _times(engine, lambda conn: a_day(conn, f"cpu@{host()}"))
    yield from _figures("background of a day, CPU of one node", times, 50)
    times = _times(engine, lambda conn: _overlapping(conn, some_slice(), 900))
    yield from _figures("jobs overlapping an hour", times, 50)
    times = _times(engine, lambda conn: _overlapping(conn, some_slice(), 900, f"cpu@{host()}"))
    yield from _figures("jobs overlapping an hour on one node", times, 50)
    yield from _figures("job page data", _times(engine, lambda conn: _job_page(conn, job_key()), 4 * ROUNDS), 200)
    widest = 1 + max(range(len(site.jobs)), key=lambda i: (site.jobs[i].cells, len(site.jobs[i].hosts)))
    job = site.jobs[widest - 1]
    times = _times(engine, lambda conn: _job_page(conn, widest), 5)
    yield Figure("job page data of the largest job, median", float(np.median(times)), "ms", 200)
    yield Figure("the largest job, nodes", len(job.hosts), "nodes")
    yield Figure("the largest job, process-slices", job.cells, "process-slices")
    times = _times(engine, lambda conn: _zoom(conn, widest), 5)
    yield Figure(
        "zoom of the largest job to 128 slices, spread over its processes, median", float(np.median(times)), "ms", 200
    )
    for order in ("-start", "-interference", "-duration", "command"):
        times = _times(engine, partial(_job_list, order=order))
        yield from _figures(f"list of jobs by {order}", times, 50)
    times = _times(engine, lambda conn: queries.find_jobs(conn, str(1_000_000 + job_key())))
    yield from _figures("a job by its id", times, 50)


def measure_long_job(engine: Engine, job: Placed) -> Iterator[Figure]:
    """A job of very many slices: loading it, and its page."""
    begin = time.process_time()
    key = load_profile(engine, job.profile(), summarize=summarize).job_key
    took = time.process_time() - begin
    name = f"job of {len(job.hosts) * job.template.per_node} processes x {job.template.profile.n_slices} slices"
    yield Figure(f"loading a {name}, process-slices by CPU time", job.cells / took, "process-slices/s", 400_000)
    yield from _figures(f"page data of a {name}", _times(engine, lambda conn: _job_page(conn, key), 9), 1000)
    yield from _figures(
        f"zoom of a {name} to 128 slices, every process", _times(engine, lambda conn: _zoom(conn, key), 9), 200
    )


def measure_sizes(engine: Engine, site: Site) -> Iterator[Figure]:
    """What the month takes."""
    info = get_info(engine)
    yield Figure("size", info.n_bytes / 1e6, "MB")
    yield Figure("growth", info.n_bytes / 1e6 / site.days, "MB/day")
    yield Figure("size of a job", info.n_bytes / len(site.jobs) / 1e3, "kB")
    yield Figure("size of a process-slice of about 20 metrics", info.n_bytes / site.cells, "B")
    yield Figure("jobs", info.jobs, "jobs")
    yield Figure("process-slices", site.cells, "process-slices")
    yield Figure("use of the nodes", 100 * site.use, "%")
    with engine.connect() as conn:
        for table, size in _table_sizes(conn, info.table_bytes):
            yield Figure(f"size of {table}", size / 1e6, "MB")


def _table_sizes(conn: Connection, known: dict[str, int]) -> list[tuple[str, int]]:
    """The large tables. SQLite's own view of its pages tells, where it was built with it."""
    if conn.dialect.name != "sqlite":
        sizes = known
    else:
        query = (
            "SELECT s.tbl_name, sum(d.pageno) * (SELECT page_size FROM pragma_page_size) "
            "FROM dbstat d JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY s.tbl_name"
        )
        try:
            sizes = {name: int(size) for name, size in conn.exec_driver_sql(query)}
        except Exception:  # built without it
            return []
    return sorted((item for item in sizes.items() if item[1] > 1 << 20), key=lambda item: -item[1])


def _overlapping(conn: Connection, first_slice: int, n: int, resource: str | None = None) -> None:
    queries.jobs_overlapping(conn, first_slice * SLICE_NS, (first_slice + n) * SLICE_NS, resource)


def _job_list(conn: Connection, order: str) -> None:
    queries.list_jobs(conn, order=order, limit=50)


@contextmanager
def _as_staff() -> Iterator[None]:
    """What a page reads depends on who asks."""
    with Flask("bench").app_context():
        g.viewer = Viewer("bench", Role.SUPPORT)
        yield


def _job_page(conn: Connection, key: int) -> None:
    """What the page and its plots read (web/pages/job)."""
    job = queries.get_job(conn, key)
    assert job is not None  # noqa: S101
    queries.get_processes(conn, key)
    details.get_record(conn, key)
    details.get_totals(conn, key)
    details.get_access(conn, key)
    queries.get_functions(conn, key)
    read_series(conn, job)
    read_loss(conn, job)
    with _as_staff():
        read_background(conn, job)


def _zoom(conn: Connection, key: int) -> None:
    """What the page reads when it is zoomed in, and for the heat map of one series there."""
    job = queries.get_job(conn, key)
    assert job is not None  # noqa: S101
    first = job.n_slices // 2
    read_series(conn, job, first=first, n=128)
    read_frames(conn, job, ["posix_net_write_bytes"], first=first, n=128)


def _times(engine: Engine, ask: Callable[[Connection], object], rounds: int = ROUNDS) -> list[float]:
    """Milliseconds of each round; the first, which warms caches, is left out."""
    out = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        with reading(engine) as conn:
            ask(conn)
        out.append((time.perf_counter() - begin) * 1e3)
    return out[1:]


def _figures(name: str, times: list[float], target: float) -> Iterator[Figure]:
    yield Figure(f"{name}, median", float(np.median(times)), "ms", target)
    yield Figure(f"{name}, 95 of 100", float(np.percentile(times, 95)), "ms", target)
