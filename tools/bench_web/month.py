"""What the pages are measured on: a simulated month (tools/bench_db) and one job of 1000 nodes by 10 000 slices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fill import fill
from held import check_month, visiting
from site_month import FIRST_SLICE, NODES, Placed, make_site, make_template

from crosswind.analysis.series_bands import summarize
from crosswind.db import load_profile, queries, reading
from crosswind.db.connection import open_database

__all__ = ["Month", "held_month", "new_month", "read_month"]

LONG_NODES, LONG_SLICES = 1000, 10_000
OPENED = 200  # jobs that readers open


@dataclass(frozen=True)
class Month:
    """A database. named: keys of single jobs, by what they are; some_keys: of jobs of all kinds."""

    url: str
    named: dict[str, int]
    some_keys: tuple[int, ...]


@contextmanager
def new_month(path: Path, scale: float, seed: int = 1) -> Iterator[Month]:
    """Make a database with `scale` of the month's 20 000 jobs, and the long job in its middle."""
    url = f"sqlite:///{path}"
    engine = open_database(url)
    fill(engine, make_site(scale, seed))
    load_profile(engine, _long_job().profile(), summarize=summarize)
    engine.dispose()
    yield read_month(url)


@contextmanager
def held_month(url: str, scale: float, seed: int = 1) -> Iterator[Month]:
    """A database that holds the month, with the long job in it for as long as it is measured, if it has none. Of any
    other database what is there is read, and nothing is written.
    """
    engine = open_database(url, create=False)
    long = _long_job()
    try:
        check_month(engine, make_site(scale, seed))
    except ValueError:
        yield read_month(url)
        return
    finally:
        engine.dispose()
    with reading(engine) as conn:
        has_long = bool(queries.find_jobs(conn, str(long.number)))
    with visiting(engine, [] if has_long else [long]):
        if not has_long:
            load_profile(engine, long.profile(), summarize=summarize)
        engine.dispose()  # the server has connections of its own
        yield read_month(url)
    engine.dispose()


def read_month(url: str) -> Month:
    """What there is to read in a database."""
    engine = open_database(url, create=False)
    with reading(engine) as conn:
        jobs, _ = queries.list_jobs(conn, limit=OPENED)
        widest, _ = queries.list_jobs(conn, order="-ranks", limit=OPENED)
    engine.dispose()
    largest = max(widest, key=lambda job: job.n_processes * job.n_slices)
    wide = max((job for job in widest if job.key != largest.key), key=lambda job: len(job.hosts), default=largest)
    called = {f"a job of {len(job.hosts)} nodes by {job.n_slices} slices": job.key for job in (largest, wide, jobs[0])}
    return Month(url, called, tuple(job.key for job in jobs))


def _long_job() -> Placed:
    """A job of LONG_NODES nodes and LONG_SLICES slices in the middle of the month."""
    template = make_template(np.random.default_rng(2), "cfd", LONG_NODES, 1, LONG_SLICES)
    hosts = tuple(f"n{node:04d}" for node in range(0, NODES, NODES // LONG_NODES))[:LONG_NODES]
    return Placed(9_000_000, template, FIRST_SLICE + 300_000, hosts, 1)
