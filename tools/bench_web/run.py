#!/usr/bin/env python3
"""How fast the dashboard is over a simulated month of a 5000-node system: JSON lines of name, value, unit, target.

`crosswind serve` over a database that is made for it (or --db), read by one browser, then by many users at once.
docs/performance.md has the figures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import paths  # noqa: F401 (finds what follows)
from figure import Figure
from load import measure_load
from month import Month, held_month, new_month
from one_reader import measure_pages

CROSSWIND = Path(sys.executable).with_name("crosswind")


@click.command(help=__doc__)
@click.option(
    "--db",
    help="A database that holds jobs; without it a month is made. Where it holds the month of --scale "
    "(tools/bench_db/run.py --fill), the job of 1000 nodes by 10 000 slices is in it while it is measured.",
)
@click.option("--scale", type=click.FloatRange(0.001, 1), default=0.2, show_default=True, help="Share of its jobs.")
@click.option("--users", default=50, show_default=True, type=click.IntRange(1, 1000), help="Readers at once.")
@click.option("--seconds", default=60, show_default=True, type=click.IntRange(5, 3600), help="How long they read.")
def main(db: str | None, scale: float, users: int, seconds: int) -> None:
    """Serve, read, measure."""
    missed = 0
    with tempfile.TemporaryDirectory(prefix="crosswind-bench-web-") as name:
        folder = Path(name)
        with held_month(db, scale) if db else new_month(folder / "month.db", scale) as month:
            for figure in measure(month, users, seconds, folder):
                print(figure.line(), flush=True)
                missed += figure.is_missed
    print(f"{missed} targets missed", file=sys.stderr)


def measure(month: Month, users: int, seconds: int, folder: Path) -> Iterator[Figure]:
    """All figures, from one server."""
    with _serve(month.url) as address:
        yield from measure_pages(address, month.named)
        yield from measure_load(address, month.some_keys, users, seconds, folder)


@contextmanager
def _serve(url: str) -> Iterator[str]:
    """`crosswind serve` on a free port of loopback."""
    command = [str(CROSSWIND), "serve", "--db", url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None  # noqa: S101 (it was asked for)
            said = server.stdout.readline()
            if "http://" not in said:
                raise click.ClickException("crosswind serve did not start")
            yield said.split(" at ")[1].split("/ ")[0].strip()
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
