"""Many readers at once: locust in a process of its own, its figures read from what it writes."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from figure import Figure

__all__ = ["measure_load"]

USERS_FILE = Path(__file__).with_name("users.py")
TARGET_MS = 1000.0


def measure_load(address: str, keys: Sequence[int], users: int, seconds: int, folder: Path) -> Iterator[Figure]:
    """How long pages take while `users` readers open them, and what failed. keys: of the jobs that are opened."""
    name = f"{users} users"
    rows = list(_run(address, keys, users, seconds, folder / "locust"))
    for row in rows:
        page = "all pages" if row["Name"] == "Aggregated" else row["Name"]
        yield Figure(f"{name}, {page}, median", float(row["50%"]), "ms")
        yield Figure(f"{name}, {page}, 95th percentile", float(row["95%"]), "ms", TARGET_MS)
    total = rows[-1]
    yield Figure(f"{name}, answers", float(total["Request Count"]) / seconds, "answers/s")
    yield Figure(f"{name}, errors", float(total["Failure Count"]), "errors", 0)


def _run(address: str, keys: Sequence[int], users: int, seconds: int, prefix: Path) -> Iterator[dict[str, str]]:
    """The rows of locust's table; the last is the sum."""
    command = [
        sys.executable, "-m", "locust", "-f", str(USERS_FILE), "--headless", "--host", address, "--users", str(users),
        "--spawn-rate", str(users / 2), "--run-time", f"{seconds}s", "--csv", str(prefix), "--only-summary",
        "--exit-code-on-error", "0", "--loglevel", "ERROR",
    ]  # fmt: skip
    environment = {**os.environ, "BENCH_JOBS": ",".join(map(str, keys))}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    with Path(f"{prefix}_stats.csv").open(newline="") as file:
        yield from csv.DictReader(file)
