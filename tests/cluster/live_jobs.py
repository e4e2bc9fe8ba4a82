"""The daemon on the nodes of a real Slurm while jobs run: what is in the database, and how soon. `make test-cluster`.

As a site has it: one `crosswind collect` on each node, and one that takes in what Slurm says.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from crosswind.db import JobRow, open_database, queries, reading
from crosswind.db.batch_queries import BatchRow, batch_job_of_step
from crosswind.db.events import Event, events_between
from support.cluster import USERS, Cluster
from support.databases import url
from support.preload import PROGRAMS

__all__ = ["url"]

ALICE = USERS[0]
JOB = PROGRAMS / "cluster_job"
SOON_S = 10.0  # a running job is on the page within ten seconds


class Site:
    """A database with its collectors, what else a test starts, and the log of all."""

    def __init__(self, cluster: Cluster, url: str, log: Path) -> None:
        self.log = log
        self.cluster = cluster
        self.url = url
        self.engine: Engine = open_database(url)
        self.running: list[subprocess.Popen] = []

    def start(self, *options: str | Path, node: str = "") -> None:
        """Start a collector, on a node or beside the controller, and wait until it is at work."""
        started = self.log.read_text().count("event=started") if self.log.exists() else 0
        self.run("collect", "--db", self.url, "--interval", "1", *options, node=node)
        until(lambda: self.log.read_text().count("event=started") > started, 60)

    def run(self, verb: str, *options: str | Path, node: str = "") -> None:
        """Start a verb that runs until the end, on a node or beside the controller."""
        before: list[str] = []
        if node:
            self.cluster.run("srun", "-w", node, "true")  # a step makes the spool directory
            init = (self.cluster.state / "run" / f"init-{node}.pid").read_text().strip()
            before = ["nsenter", "--target", init, "--pid", "--mount", "--uts"]
        words = [*before, sys.executable, "-m", "crosswind.tools", verb, *map(str, options)]
        with self.log.open("a") as log:
            self.running.append(subprocess.Popen(words, stderr=log, env=self.cluster.environment))

    def step(self, job: int, name: str = "0") -> tuple[JobRow, BatchRow | None] | None:
        with reading(self.engine) as conn:
            found = queries.find_jobs(conn, str(job), name)
            return (found[0], batch_job_of_step(conn, found[0].key)) if found else None

    def written(self, job: int) -> int:
        """Bytes in the slices of step 0."""
        found = self.step(job)
        assert found
        with reading(self.engine) as conn:
            frames = queries.get_frames(conn, found[0].key, {"posix_disk_write_bytes"})
        return sum(int(frame.values.sum()) for frame in frames.values())

    def troubles(self, node: str) -> list[Event]:
        """What Slurm said of a node, as events."""
        with reading(self.engine) as conn:
            return [e for e in events_between(conn, 0, 1 << 62, places=[node]) if e.source == "slurm"]

    def end(self) -> None:
        """Stop what runs cleanly; only what was on a node that died may have died."""
        for process in self.running:
            if process.poll() is None:
                os.kill(Cluster.child_of(process.pid), signal.SIGTERM)
        statuses = [process.wait(60) for process in self.running]
        self.engine.dispose()
        print(self.log.read_text())  # pytest shows it when a test fails
        assert set(statuses) <= {0, -signal.SIGKILL, 128 + signal.SIGKILL}, statuses


@contextmanager
def running_site(cluster: Cluster, url: str, log: Path) -> Iterator[Site]:
    site = Site(cluster, url, log)
    try:
        for node in ("n1", "n2"):
            site.start("--spool", cluster.local / "spool", node=node)
        (cluster.state / "nothing").mkdir(exist_ok=True)
        events = cluster.events("sqlite" if url.startswith("sqlite") else "postgresql")
        site.start("--spool", cluster.state / "nothing", "--slurm-events", events, "--slurm-queue", "5")
        yield site
    finally:
        site.end()


def until(condition: Callable[[], object], within_s: float) -> float:
    """How long it took until the condition was true."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + within_s, f"not within {within_s} s"
        time.sleep(0.1)
    return time.monotonic() - begin


@pytest.fixture
def site(cluster: Cluster, url: str, tmp_path: Path) -> Iterator[Site]:
    with running_site(cluster, url, tmp_path / "collect.log") as running:
        yield running


def test_a_running_job_is_there_soon_and_ends_as_slurm_says(cluster, site):
    job = cluster.submit(ALICE, f"srun {JOB} 300 live-$SLURM_JOB_ID", "-w", "n1")
    cluster.wait([job], "RUNNING")

    def is_there() -> bool:
        found = site.step(job)
        return bool(found and found[0].state == "running" and found[0].n_slices >= 2 and found[1])

    seconds = until(is_there, SOON_S)
    print(f"{site.url.split(':')[0]}: in the database {seconds:.1f} s after its start was seen")
    assert seconds < SOON_S
    assert site.step(job)[1].state == "RUNNING"
    before = site.written(job)
    # And it grows. A collector takes a quarter of its time for it at most, and its first time may be long: it imports.
    until(lambda: site.written(job) > before, 60)
    cluster.run("scancel", str(job))
    until(lambda: site.step(job)[1].state == "CANCELLED" and site.step(job)[0].state != "running", 30)
    (path,) = cluster.work.glob(f"live-{job}.*")
    until(lambda: path.stat().st_size - 4096 <= site.written(job) <= path.stat().st_size, 10)


def test_a_job_whose_node_is_lost_is_complete_when_the_node_is_back(cluster, site):
    """The collector on the node dies with it."""
    job = cluster.submit(ALICE, f"srun {JOB} 300 lost-$SLURM_JOB_ID", "-w", "n2", "--no-requeue")
    cluster.wait([job], "RUNNING")
    until(lambda: site.step(job), SOON_S)
    cluster.kill_node("n2")
    until(lambda: site.step(job)[1] is not None and site.step(job)[1].state == "NODE_FAIL", 60)
    until(lambda: site.troubles("n2"), 30)
    (down,) = site.troubles("n2")
    assert (down.kind, down.end_ns) == ("node_down", None)
    cluster.revive()
    until(lambda: site.troubles("n2")[0].end_ns, 60)
    site.start("--spool", cluster.local / "spool", node="n2")
    (path,) = cluster.work.glob(f"lost-{job}.*")
    until(lambda: site.step(job)[0].state != "running", 60)
    until(lambda: path.stat().st_size - 4096 <= site.written(job) <= path.stat().st_size, 10)
    with reading(site.engine) as conn:
        covered = queries.get_covered(conn, site.step(job)[0].key)
    assert np.all(covered[:, 1:-1] > 0)


def test_a_job_of_a_node_that_ships_its_files_is_there_while_it_runs(cluster, url, tmp_path):
    """No collector on the node, and no directory of spool files that both see: bundles alone."""
    site = Site(cluster, url, tmp_path / "collect.log")
    shared, arrived = tmp_path / "shared", tmp_path / "arrived"
    for folder in (shared, arrived):
        folder.mkdir()
    ship = ("--ship", shared, "--interval", "1", "--running-rate", "1024", "--sources", "none")
    try:
        site.run("agent", "--spool", cluster.local / "spool", *ship, node="n1")
        site.run("receive", "--from", shared, "--spool", arrived, "--interval", "1")
        site.start("--spool", arrived)
        job = cluster.submit(ALICE, f"srun {JOB} 300 shipped-$SLURM_JOB_ID", "-w", "n1")
        cluster.wait([job], "RUNNING")
        seconds = until(lambda: site.step(job) and site.step(job)[0].n_slices >= 2, 2 * SOON_S)
        print(f"{url.split(':')[0]}: shipped and in the database {seconds:.1f} s after its start was seen")
        assert site.step(job)[0].state == "running"
        before = site.written(job)
        until(lambda: site.written(job) > before, 60)
        assert site.step(job)[0].state == "running"
        cluster.run("scancel", str(job))
        until(lambda: site.step(job)[0].state == "killed", 60)
        (path,) = cluster.work.glob(f"shipped-{job}.*")
        until(lambda: path.stat().st_size - 4096 <= site.written(job) <= path.stat().st_size, 10)
        # The step of the script waits half a minute for more short processes.
        until(lambda: not list(arrived.glob("*.xw?")), 90)
    finally:
        site.end()
