"""`crosswind export`: the numbers of a profile for other tools."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from crosswind.tools.database import db_option, job_from_database
from crosswind.tools.errors import CommandError
from crosswind.tools.output import step
from crosswind.tools.segment_file import segments_of

if TYPE_CHECKING:
    from crosswind.profile.model import Profile
    from crosswind.profile.segments import SegmentTable

    Run = Profile | SegmentTable  # a profile, or what a segment CSV has of one

__all__ = ["export_command"]

Columns = dict[str, np.ndarray]  # column name -> [row]


@click.command("export")
@click.argument("profile", metavar="[PROFILE|CSV|JOB]", required=False)
@click.option("--format", "form", type=click.Choice(["csv", "json", "parquet"]), default="csv", show_default=True)
@click.option(
    "--what",
    type=click.Choice(["segments", "slices", "functions", "untrusted", "all"]),
    default="segments",
    show_default=True,
    help="segments: one row per segment and rank; slices: per process and slice; functions: per process and function; "
    "untrusted: the intervals that interference hit, to drop them from a measurement; all: everything in the database, "
    "by day.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write, or directory with --what all.  [stdout]"
)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="With --what all: first day.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="With --what all: last day.")
@db_option(required=False)
def export_command(
    profile: str | None,
    form: str,
    what: str,
    output: Path | None,
    since: datetime | None,
    until: datetime | None,
    db: str | None,
) -> None:
    """Write the numbers of a profile file, of a CSV of segments, or of a job in the database, for other tools.

    CSV and Parquet are tables; JSON is a list of rows. The CSV of segments is what `estimate` reads; it has what
    --what segments and untrusted need. --what all writes a whole database as Parquet files by day, and only what has
    changed since it last did.

    \b
    Example: crosswind export melt.xwp --format csv -o melt-segments.csv
    """
    if what == "all":
        if profile or form != "parquet" or output is None or db is None:
            raise click.UsageError("--what all needs --db URL --format parquet -o DIR, and no PROFILE")
        _export_all(db, output, since, until)
        return
    if profile is None:
        raise click.UsageError("name a profile file, or a job that is in the database")
    if output is not None and output.is_dir():
        raise click.UsageError(f"{output} is a directory: name a file with -o")
    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs a file: -o FILE")
    with step(f"reading {profile}"):
        run = _load(profile, db)
    export(run, what, form, output)


def _export_all(db: str, folder: Path, since: datetime | None, until: datetime | None) -> None:
    """Everything in a database, a line a day that was written."""
    from crosswind.db.connection import open_database

    try:
        from crosswind.tools.archive import export_everything
    except ImportError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'crosswind[parquet]'") from error
    engine = open_database(db, create=False)
    days = (None if day is None else day.date() for day in (since, until))
    for report in export_everything(engine, folder, *days):
        if report.written:
            rows = ", ".join(f"{n} {table}" for table, n in report.rows.items())
            click.echo(f"{report.day}: {rows}")
        elif report.note:
            click.echo(f"{report.day}: left as it was: {report.note}", err=True)


def export(run: Run, what: str, form: str, output: Path | None) -> None:
    """Write `what` (segments, slices, functions, untrusted) as `form` (csv, json, parquet) to a file, or to stdout.

    CommandError: the run has no segments, or nothing but segments, or there is no pyarrow.
    """
    with _whole(output) as path:
        if (what, form) == ("segments", "csv"):
            _write_segment_csv(run, path)
        else:
            WRITERS[form](TABLES[what](run), path)


def _load(name: str, db: str | None) -> Run:
    """The run in a file of that name, else of the job of that id (the newest) in the database."""
    path = Path(name)
    if path.exists() or db is None:
        from crosswind.tools.segment_file import read_run

        return read_run(path)
    return job_from_database(db, name)


@contextmanager
def _whole(output: Path | None) -> Iterator[Path | None]:
    """Where to write, so that a file appears whole or not at all: half a table reads like a whole one."""
    if output is None or (output.exists() and not output.is_file()):  # stdout, a pipe, a device
        yield output
        return
    target = output.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _segment_table(run: Run) -> SegmentTable:
    segments = segments_of(run)
    if segments is None:
        from crosswind.analysis.result import NO_SEGMENTS

        raise CommandError(f"{NO_SEGMENTS}; there are --what slices, functions")
    return segments


def _whole_profile(run: Run) -> Profile:
    from crosswind.profile.segments import SegmentTable

    if isinstance(run, SegmentTable):
        raise CommandError("a CSV has segments and nothing else: there are --what segments, untrusted")
    return run


def _write_segment_csv(run: Run, output: Path | None) -> None:
    """The CSV that other programs rely on is written where it is read, in crosswind.profile.segment_csv."""
    table = _segment_table(run)
    if output is not None:
        _write_readable(table, output)
        return
    with tempfile.TemporaryDirectory(prefix="crosswind-export-") as directory:
        path = Path(directory) / "segments.csv"
        _write_readable(table, path)
        with path.open() as file:
            shutil.copyfileobj(file, sys.stdout)


def _write_readable(table: SegmentTable, path: Path) -> None:
    from crosswind.profile.segment_csv import write_csv

    left_out = write_csv(table, path)
    if left_out:
        click.echo(f"crosswind export: {left_out} segments that not all ranks recorded are left out", err=True)


def _segments(run: Run) -> Columns:
    from crosswind.profile.segment_csv import AT_SITE, CLOSED_BY, STRIDE
    from crosswind.profile.segments import CSV_COLUMNS

    table = _segment_table(run)
    segments, ranks = np.nonzero(table.valid.T)
    columns = {"seg": table.index[segments], "rank": table.ranks[ranks]}
    columns.update({name: table.columns[name][ranks, segments] for name in CSV_COLUMNS if name in table.columns})
    columns |= {STRIDE: table.stride[segments], AT_SITE: table.from_call_sites[segments].astype(np.int64)}
    places = np.array([*table.places, None], dtype=object)  # -1: not known
    return columns | ({CLOSED_BY: places[table.closed_at[segments]]} if table.places else {})


def _slices(run: Run) -> Columns:
    profile = _whole_profile(run)
    rows, slices = np.nonzero(profile.covered_ns)
    columns = {
        **_process_columns(profile, rows),
        "start_ns": profile.slice_starts_ns[slices],
        "covered_ns": profile.covered_ns[rows, slices],
    }
    columns.update({name: values[rows, slices] for name, values in profile.slices.items()})
    return columns


def _functions(run: Run) -> Columns:
    profile = _whole_profile(run)
    names = sorted(profile.functions)
    counts = np.stack([profile.functions[name] for name in names]) if names else np.zeros((0, 0, 4), dtype=np.int64)
    functions, rows = np.nonzero(counts[..., 0])
    columns = {**_process_columns(profile, rows), "function": np.array(names, dtype=object)[functions]}
    for i, field in enumerate(("calls", "bytes_out", "bytes_in", "time_ns")):
        columns[field] = counts[functions, rows, i]
    return columns


def _untrusted(run: Run) -> Columns:
    from crosswind.analysis import estimate, untrusted_intervals

    table = _segment_table(run)
    found = untrusted_intervals(table, estimate(table))
    return {
        "begin_us": np.rint(found.begin_us),
        "end_us": np.rint(found.end_us),
        "begin_s": found.begin_s,
        "first_segment": found.first,
        "last_segment": found.last,
        "segments": found.segments,
        "hit": found.hit,
        "lost_s": found.lost_s,
    }


def _process_columns(profile: Profile, rows: np.ndarray) -> Columns:
    processes = profile.processes
    ranks = np.array([-1 if p.rank is None else p.rank for p in processes], dtype=np.int64)
    return {
        "host": np.array([p.host for p in processes], dtype=object)[rows],
        "pid": np.array([p.pid for p in processes], dtype=np.int64)[rows],
        "rank": ranks[rows],
        "exe": np.array([p.exe for p in processes], dtype=object)[rows],
    }


def _write_csv(columns: Columns, output: Path | None) -> None:
    import csv

    with _open(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(_plain(values) for values in columns.values()), strict=True))


def _write_json(columns: Columns, output: Path | None) -> None:
    names = list(columns)
    rows = zip(*(_plain(values) for values in columns.values()), strict=True)
    with _open(output) as file:
        json.dump([dict(zip(names, row, strict=True)) for row in rows], file, allow_nan=False)
        file.write("\n")


def _write_parquet(columns: Columns, output: Path | None) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'crosswind[parquet]'") from error
    parquet.write_table(
        pyarrow.table({name: pyarrow.array(_plain(values)) for name, values in columns.items()}), output
    )


def _plain(values: np.ndarray) -> list[Any]:
    """Python values; whole floats as integers, as exact and shorter; NaN as None."""
    if values.dtype.kind != "f":
        return values.tolist()
    if np.all(np.isnan(values) | (values == np.floor(values))):
        return [None if np.isnan(v) else int(v) for v in values]
    return [None if np.isnan(v) else round(float(v), 3) for v in values]


def _open(output: Path | None) -> IO[str]:
    return output.open("w", newline="") if output else click.open_file("-", "w")


TABLES: dict[str, Callable[[Run], Columns]] = {
    "segments": _segments,
    "slices": _slices,
    "functions": _functions,
    "untrusted": _untrusted,
}
WRITERS: dict[str, Callable[[Columns, Path | None], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
