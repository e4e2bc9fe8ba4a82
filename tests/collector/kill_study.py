"""Kill collectors with SIGKILL at random moments while jobs run, and compare the database with what the jobs counted.

    python -m collector.kill_study --kills 300 --db URL [--seed N]      in tests/; `make test-kill`

Processes of several jobs write spool files as the library does, in slices of a fifth of a second, and keep the truth
to themselves. Two collectors share the directory and the database; one of them is killed again and again. After
each kill nothing may be in the database that was not counted; at the end all of it has to be, once.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from crosswind.collector.daemon import Daemon
from crosswind.collector.plan import Limits
from crosswind.collector.settings import Settings
from crosswind.db import open_database, queries, reading
from support.growing import CALLS, live_process

SLICE_NS = 200_000_000
METRIC = f"{CALLS}_calls"
JOBS, PROCESSES, MAX_SLICES = 4, 3, 40
_SETTINGS = Settings(interval_s=0.05, live_share=1e6, limits=Limits(files=8, early=5))  # each look refreshes

Found = dict[tuple[str, int], dict[int, int]]  # (job, pid) -> calls by slice


def main(argv: list[str]) -> int:
    """Run the study; exit code 1 when a slice was lost, doubled or invented."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--db", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="crosswind-kill-") as folder:
        study = Study(Path(folder), options.db, options.seed)
        figures = study.run(options.kills)
    print(json.dumps(figures))
    return 1 if figures["wrong"] else 0


class Study:
    """Jobs, collectors and the comparison."""

    def __init__(self, folder: Path, url: str, seed: int) -> None:
        self.spool, self.truth, self.url = folder / "spool", folder / "truth", url
        self.spool.mkdir()
        self.truth.mkdir()
        self.random = random.Random(seed)
        self.jobs: list[multiprocessing.Process] = []
        self.n_jobs = 0
        open_database(url).dispose()

    def run(self, kills: int) -> dict[str, object]:
        """Kill that often, then let the collectors come to an end."""
        begin, wrong, seen_running, killed = time.monotonic(), [], 0, 0
        survivor, victim = self._collector(), self._collector()
        for number in range(kills):
            self._keep_jobs_running()
            time.sleep(self.random.uniform(0.01, 0.6))
            for process in (victim, *([survivor] if number % 5 == 4 else [])):
                os.kill(process.pid or 0, signal.SIGKILL)
                process.join()
                killed += 1
            victim = self._collector()
            if number % 5 == 4:
                survivor = self._collector()
            if number % 10 == 9:
                running, problems = self._check(complete=False)
                seen_running, wrong = seen_running + running, wrong + problems
        for job in self.jobs:
            job.join()
        self._wait_until_empty(60.0)
        for process in (survivor, victim):
            os.kill(process.pid or 0, signal.SIGTERM)
            process.join(30)
            if process.exitcode != 0:
                wrong.append(f"a collector ended with {process.exitcode} at SIGTERM")
        _, problems = self._check(complete=True)
        truth = self._truth()
        return {
            "kills": killed, "jobs": self.n_jobs, "processes": len(truth),
            "slices": sum(map(len, truth.values())), "seen_running": seen_running,
            "seconds": round(time.monotonic() - begin, 1), "wrong": wrong + problems,
        }  # fmt: skip

    def _collector(self) -> multiprocessing.Process:
        return _fork(_collect, self.spool, self.url)

    def _keep_jobs_running(self) -> None:
        self.jobs = [job for job in self.jobs if job.is_alive()]
        while len(self.jobs) < JOBS * PROCESSES:
            self.n_jobs += 1
            for _ in range(PROCESSES):
                n, seed = self.random.randint(3, MAX_SLICES), self.random.randint(0, 10**6)
                name = f"{self.n_jobs:05}"
                job = _fork(_be_process, self.spool, self.truth, name, n, seed)
                self.jobs.append(job)

    def _wait_until_empty(self, seconds: float) -> None:
        """Until no file is left in the spool or in a claim; the comparison tells if that is never."""
        end = time.monotonic() + seconds
        claims = self.spool / "claims"
        while time.monotonic() < end and any([*self.spool.glob("*.xws"), *claims.rglob("*.xws")]):
            time.sleep(0.1)

    def _truth(self) -> Found:
        ended = [json.loads(path.read_text()) for path in self.truth.glob("*.json")]
        return {(t["job"], t["pid"]): {int(k): v for k, v in t["slices"].items()} for t in ended}

    def _check(self, *, complete: bool) -> tuple[int, list[str]]:
        """How many steps are there as running, and what is wrong."""
        found, running, background = self._found()
        truth, problems = self._truth(), []
        for image, slices in found.items():
            expected = truth.get(image)
            if expected is None:
                continue  # still runs
            more = {k: v for k, v in slices.items() if v > expected.get(k, 0)}
            if more:
                problems.append(f"{image}: too much in slices {more}")
        total = sum(sum(slices.values()) for slices in found.values())
        if background != total:
            problems.append(f"the background has {background} calls, the jobs {total}")
        if complete:
            problems += [f"{i}: {found.get(i)} instead of {s}" for i, s in truth.items() if found.get(i) != s]
            problems += [f"{i}: never ran" for i in found.keys() - truth.keys()]
            problems += [] if not running else [f"{running} steps still count as running"]
        return running, problems

    def _found(self) -> tuple[Found, int, int]:
        """What the database holds of processes and slices, how many steps run, and the calls of the background."""
        engine = open_database(self.url, create=False)
        found: Found = {}
        with reading(engine) as conn:
            jobs, _ = queries.list_jobs(conn, limit=100_000)
            for job in jobs:
                frame = queries.get_frames(conn, job.key, [METRIC]).get(METRIC)
                for row, process in enumerate(queries.get_processes(conn, job.key)):
                    values = frame.values[row] if frame else np.zeros(0, dtype=np.int64)
                    at = np.flatnonzero(values)
                    slices = {int(i) + job.first_slice: int(values[i]) for i in at}
                    if (job.job_id, process.pid) in found:
                        slices = {-1: 1 << 40}  # the same process twice
                    found[job.job_id, process.pid] = slices
            first = min((j.first_slice for j in jobs), default=0)
            n = max((j.first_slice + j.n_slices for j in jobs), default=0) - first
            blocks = queries.get_background(conn, ["fs:disk@node01"], [METRIC], first, n, SLICE_NS)
        engine.dispose()
        running = sum(job.state == "running" for job in jobs)
        return found, running, int(blocks["fs:disk@node01", METRIC].sum())


def _fork(target: Callable[..., None], *arguments: object) -> multiprocessing.Process:
    """A child that has imported all already, so that kills hit work and not imports."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    return process


def _collect(spool: Path, url: str) -> None:
    """Be a collector until SIGTERM."""
    daemon = Daemon([spool], open_database(url), settings=_SETTINGS)
    signal.signal(signal.SIGTERM, lambda *_: daemon.stop.set())
    daemon.run()


def _be_process(spool: Path, truth: Path, job_id: str, n_slices: int, seed: int) -> None:
    live_process(spool, truth / f"{os.getpid()}.json", job_id, SLICE_NS, n_slices, seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
