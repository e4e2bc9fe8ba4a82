"""How fast each method is on tables in memory: many ranks, and unkindly many kinds of segments.

python -m accuracy.large_tables [--only NAME]        (part of make accuracy-large)

Each case is a process of its own, so that the memory it takes is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from crosswind.analysis import METHODS, estimate
from crosswind.profile.segments import SegmentTable

MOST_S = 60.0


@dataclass(frozen=True)
class Case:
    """A table: so many segments of so many ranks, of so many kinds that differ in their calls."""

    name: str
    n_segments: int
    n_ranks: int
    n_kinds: int


CASES = (
    Case("many-ranks", 1_000_000, 64, 10),
    Case("few-ranks", 1_000_000, 4, 10),
    Case("many-kinds", 1_000_000, 4, 60_000),
)


def table_of(case: Case) -> SegmentTable:
    """Segments whose time follows their work, which differs by a tenth; every tenth stretch of 700 was hit."""
    rng = np.random.default_rng(0)
    n, shape = case.n_segments, (case.n_ranks, case.n_segments)
    kind = np.arange(n) % case.n_kinds
    work = (1 + kind % 10) * rng.uniform(0.95, 1.05, n)
    hit = np.arange(n) // 700 % 10 == 0
    shared = {
        "dur_us": 1e3 * work * np.where(hit, 1.5, 1.0) * (1 + 0.003 * rng.standard_normal(n)),
        "cpu_us": 900 * work,
        "instructions": 3e6 * work,
        "p2p_calls": 12.0 + kind,
        "p2p_bytes": 4e5 + 8.0 * kind,
        "coll_calls": np.ones(n),
        "coll_bytes": np.full(n, 48.0),
        "io_calls": np.zeros(n),
        "io_bytes": np.zeros(n),
    }
    columns = {name: np.empty(shape) for name in shared}
    for rank in range(case.n_ranks):  # ranks differ by clocks and counters a little, and by nothing else
        for name, values in shared.items():
            off = 1 + 1e-4 * (rank % 3) if name in ("dur_us", "cpu_us", "instructions") else 1.0
            np.multiply(values, off, out=columns[name][rank])
    columns["sig"] = np.broadcast_to((kind + 1).astype(np.uint64), shape)
    numbers = np.arange(n, dtype=np.int64)
    ones = np.ones(n, dtype=np.int64)
    return SegmentTable(numbers, np.arange(case.n_ranks, dtype=np.int64), columns, np.ones(shape, dtype=bool), ones)


def measure(case: Case, method: str) -> dict[str, float]:
    """Seconds, processor seconds, GiB of the table and at most, and the figure."""
    table = table_of(case)
    before, before_cpu, resident = time.monotonic(), time.process_time(), _most_gib()
    found = estimate(table, method)
    return {
        "seconds": time.monotonic() - before,
        "cpu_s": time.process_time() - before_cpu,
        "table_gib": resident,
        "most_gib": _most_gib(),
        "pct": found.interference_pct or 0.0,
        "clusters": found.clusters.n_clusters,
    }


def _most_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _apart(case: Case, method: str) -> dict[str, float]:
    """The measurement by a process of its own."""
    command = [sys.executable, "-m", "accuracy.large_tables", "--measure", case.name, "--method", method]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ).stdout))


def _told(case: Case, method: str, found: dict[str, float]) -> str:
    return (
        f"{case.n_segments:,} segments of {case.n_ranks} ranks in {found['clusters']:,} clusters, {method}: "
        f"{found['seconds']:.1f} s, {found['cpu_s']:.1f} s of them on a processor; "
        f"{found['table_gib']:.1f} GiB of segments, {found['most_gib']:.1f} GiB at most; {found['pct']:.1f} %"
    )


def main(arguments: list[str]) -> int:
    """Command line; see the module's docstring. Exit status 1: `robust` took more than a minute of a processor."""
    cases = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=cases, action="append")
    parser.add_argument("--measure", choices=cases, help=argparse.SUPPRESS)
    parser.add_argument("--method", choices=sorted(METHODS), action="append")
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(cases[options.measure], options.method[0])))
        return 0
    slowest = 0.0
    for name in options.only or cases:
        case = cases[name]
        for method in options.method or sorted(METHODS):
            found = _apart(case, method)
            slowest = max(slowest, found["cpu_s"])
            print(_told(case, method, found), flush=True)
    return int(slowest > MOST_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
