#!/usr/bin/env python3
"""How fast the database is on a simulated month of a 5000-node system: JSON lines of name, value, unit, target.

Rates should be at least their target, times at most. docs/performance.md has the figures and says what is simulated.
With --db the month is there already and only measured; what measuring loads into it is taken out again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import click
from figure import Figure
from fill import fill
from held import check_month, visiting
from measure import measure_loading, measure_long_job, measure_queries, measure_sizes
from site_month import Placed, Site, long_job, make_site

from crosswind.db.connection import open_database
from crosswind.db.upkeep import vacuum

MOST_LOADED = 300  # jobs of the month that go through the loader
LARGE_CELLS = 100_000
TARGET = 400_000
LEAST_FOR_LONG = 400  # jobs; a smaller month is for trying things out


@click.command(help=__doc__)
@click.option("--db", help="A database that was filled with the same scale and seed (--fill), instead of a new one.")
@click.option("--fill", "only_fill", is_flag=True, help="Only fill the empty database of --db, for measuring it later.")
@click.option("--postgresql", is_flag=True, help="On a PostgreSQL server that is started for it, not on SQLite.")
@click.option(
    "--scale", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Share of the jobs; 0: nothing to do."
)
@click.option("--seed", default=1, show_default=True, help="Of all that is random.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: Path(tempfile.gettempdir()),
    help="Where the database lies.",
)
def main(db: str | None, only_fill: bool, postgresql: bool, scale: float, seed: int, folder: Path) -> None:
    """Fill a database, or take one that is filled, and measure."""
    if scale == 0:
        return
    if (db and postgresql) or (only_fill and not db):
        raise click.UsageError("--db is instead of --postgresql, and --fill needs it")
    missed = 0
    with nullcontext(db) if db else _server(folder) if postgresql else _file(folder) as url:
        figures = (
            filled(url, make_site(scale, seed)) if only_fill else measure(url, make_site(scale, seed), held=bool(db))
        )
        for figure in figures:
            print(replace(figure, name=f"{url.partition(':')[0]}: {figure.name}").line(), flush=True)
            missed += figure.is_missed
    print(f"{missed} targets missed", file=sys.stderr)


@contextmanager
def _file(folder: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="crosswind-bench-", dir=folder) as place:
        yield f"sqlite:///{place}/month.db"


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
    from support.postgresql import NoServer, private_server

    try:
        with private_server(("shared_buffers=512MB", "max_wal_size=4GB"), folder) as url:
            yield f"{url}/postgres"
    except NoServer as error:
        raise click.ClickException(str(error)) from error


def filled(url: str, site: Site) -> Iterator[Figure]:
    """Fill an empty database."""
    begin = time.perf_counter()
    engine = open_database(url)
    fill(engine, site)
    yield Figure("filling the month", time.perf_counter() - begin, "s")
    if engine.dialect.name == "postgresql":
        vacuum(engine)  # as the server does by itself after a while
    engine.dispose()


def measure(url: str, site: Site, *, held: bool = False) -> Iterator[Figure]:
    """All figures, on an empty database; held: on one that holds the month, which it leaves as it was."""
    if not held:
        yield from filled(url, site)
    engine = open_database(url, create=False)
    try:
        check_month(engine, site)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    every = max(1, len(site.jobs) // MOST_LOADED)
    large = [job for job in site.jobs if job.cells > LARGE_CELLS] or sorted(site.jobs, key=lambda job: job.cells)
    large, some = renumbered(large[-10:], 1), renumbered(site.jobs[::every], 2)
    longest = [long_job()] if len(site.jobs) >= LEAST_FOR_LONG else []
    with visiting(engine, [*large, *some, *longest]):
        yield from measure_sizes(engine, site)
        yield from measure_queries(engine, site)
        yield from measure_loading(engine, large, "large jobs into the month", TARGET)
        yield from measure_loading(engine, some, "jobs of all sizes into the month", None)
        for job in longest:
            yield from measure_long_job(engine, job)
    engine.dispose()


def renumbered(jobs: Sequence[Placed], times: int) -> list[Placed]:
    """The same jobs once more, under other ids."""
    return [replace(job, number=job.number + times * 10_000_000) for job in jobs]


if __name__ == "__main__":
    main()
