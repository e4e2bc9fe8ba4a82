"""A spool directory with files written byte by byte, and an empty database of each kind."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from crosswind.collector.daemon import Daemon
from crosswind.collector.settings import Settings
from crosswind.db import open_database
from support.databases import postgresql_server, url
from support.growing import GrowingSpool
from support.looks import Clock, own_file
from support.spools import CLEAN, FIRST, FIRST_SLICE, LAST, SLICE_NS, Slice, SpoolBuilder

EARLY_NS = 1_000_000  # how long before a boundary the processes end

__all__ = ["engine", "postgresql_server", "url"]


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    opened = open_database(url)
    yield opened
    opened.dispose()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    directory = tmp_path / "spool"
    directory.mkdir()
    return directory


@pytest.fixture
def write(spool: Path) -> Callable[..., Path]:
    """Write the file of a process with 1 s of CPU time in each of n slices (2 s with scale=2, ...)."""

    def make(
        n: int = 3, scale: int = 1, directory: Path = spool, first_slice: int = FIRST_SLICE, **fields: object
    ) -> Path:
        slices = [
            Slice(
                first_slice + i,
                {"cpu_time": scale * 10**9, "rss": 1 << 20},
                (FIRST if i == 0 else 0) | (LAST if i == n - 1 else 0),
                end=-EARLY_NS if i == n - 1 else 0,
            )
            for i in range(n)
        ]
        start_ns = first_slice * SLICE_NS
        defaults = {
            "slices": slices, "state": CLEAN, "start_ns": start_ns, "end_ns": start_ns + n * SLICE_NS - EARLY_NS,
        }  # fmt: skip
        return SpoolBuilder(**defaults | fields).write(directory)

    return make


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def daemon(engine: Engine, spool: Path, clock: Clock) -> Daemon:
    return Daemon([spool], engine, clock_ns=clock, settings=Settings(interval_s=0.01, live_share=1e6))


@pytest.fixture
def grow(spool: Path) -> Callable[..., GrowingSpool]:
    """A process of this machine that runs: this very one. Job 1001, ten slices ago."""
    return lambda job_id="1001", **fields: own_file(spool, os.getpid(), job_id, **fields)
