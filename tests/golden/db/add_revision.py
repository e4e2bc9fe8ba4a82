#!/usr/bin/env python3
"""Add a golden database of today's schema: NNNN.sqlite, and what today's code finds in it, NNNN.expected.json.

    .venv/bin/python tests/golden/db/add_revision.py

To be run once for each new migration, before it is released. A golden database is never made anew: later versions
have to find in it what was found then (tests/db/test_golden.py).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FIRST_VERSION = 1  # of the definition of the series
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from crosswind.analysis import SERIES  # noqa: E402
from crosswind.analysis.series_bands import summarize, zero_row  # noqa: E402
from crosswind.db import load_profile, open_database, queries, reading  # noqa: E402
from support.profiles import make_lammps, make_profile, make_writer  # noqa: E402


def profiles() -> list[Any]:
    """Jobs that meet on a disk, on two hosts; slices of two lengths; a killed rank; a step before 2024."""
    return [
        make_lammps(hosts=("node01", "node02"), n_segments=20),
        make_writer(),
        make_profile(job_id="1003", n_ranks=3, killed_rank=1, jitter=0.2, seed=7),
        make_profile(job_id="1004", slice_ns=2_000_000_000, first_slice=880_000_011, n_slices=9, seed=3),
        make_profile(job_id="7", first_slice=400_000_000, n_slices=3),
    ]


def wide() -> Any:
    """A job of so many processes, over so many slices, that it has several blocks with a summary each."""
    return make_profile(job_id="1005", n_ranks=16, n_slices=20, first_slice=440_004_600, jitter=0.2, seed=5)


def findings(conn: Any) -> dict[str, Any]:
    """Everything that queries find, arrays by their hash and sum."""
    jobs = sorted(queries.list_jobs(conn, limit=1000)[0], key=lambda job: job.key)
    return {
        "jobs": [_job(conn, job) for job in jobs],
        "background": {
            f"{name} {metric}": _array(values)
            for name in sorted({name for job in jobs for name in queries.resources_of_job(conn, job.key)})
            for (_, metric), values in sorted(_background(conn, name).items())
            if values.any()
        },
    }


def _background(conn: Any, name: str) -> dict[tuple[str, str], np.ndarray]:
    return queries.get_background(conn, [name], None, 439_999_990, 60, 4_000_000_000)


def _job(conn: Any, job: Any) -> dict[str, Any]:
    names = (
        "key", "cluster", "job_id", "step", "user", "uid", "ranks", "n_processes", "start_ns", "end_ns", "command",
        "mpi", "state", "slice_ns", "first_slice", "n_slices",
    )  # fmt: skip
    profile = queries.get_profile(conn, job.key)
    tables = {name: getattr(profile, name, {}) for name in ("slices", "totals", "functions", "access")}
    segments = profile.segments
    return {name: getattr(job, name) for name in names} | {
        "hosts": list(job.hosts),
        "resources": queries.resources_of_job(conn, job.key),
        "processes": [[p.host, p.pid, p.rank, p.exe, p.state, p.start_ns, p.end_ns] for p in profile.processes],
        "covered": _array(profile.covered_ns),
        **_series(conn, job),
        "arrays": {f"{t} {name}": _array(v) for t, arrays in tables.items() for name, v in sorted(arrays.items())},
        "segments": None if segments is None else {n: _array(c) for n, c in sorted(segments.columns.items())},
    }


def _series(conn: Any, job: Any) -> dict[str, Any]:
    """The series that are stored with a job, where they are."""
    names = {series.name: zero_row(series) for series in SERIES}
    found = queries.get_series(conn, job.key, FIRST_VERSION, names)
    return {"series": {name: _array(found.values[name]) for name in sorted(found.alive)}} if found else {}


def _array(values: np.ndarray) -> list[Any]:
    return [list(values.shape), float(values.sum()), hashlib.sha256(values.tobytes()).hexdigest()[:16]]


def main() -> int:
    """Command line; see the module's docstring."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.db"
        engine = open_database(f"sqlite:///{path}")
        for profile in (*profiles(), wide()):
            load_profile(engine, profile, summarize=summarize)
        with reading(engine) as conn:
            found = findings(conn)
        engine.dispose()
        database = sqlite3.connect(path, isolation_level=None)
        (revision,) = database.execute("SELECT version_num FROM crosswind_schema").fetchone()
        for command in ("journal_mode = DELETE", "page_size = 512"):
            database.execute(f"PRAGMA {command}").fetchall()
        database.execute("VACUUM")
        database.close()
        target = HERE / f"{revision}.sqlite"
        if target.exists():
            print(f"{target}: exists; golden databases are never made anew", file=sys.stderr)
            return 1
        target.write_bytes(path.read_bytes())
    target.with_suffix(".expected.json").write_text(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
