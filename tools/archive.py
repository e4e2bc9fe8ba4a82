"""`crosswind export --what all`: everything in a database as Parquet files by day, for tools that outgrow one machine.

    DIR/TABLE/day=YYYY-MM-DD/data.parquet     one table of crosswind.tools.archive_tables
    DIR/_days/YYYY-MM-DD.json                 what was written of a day: written last, so a day without it is incomplete

A day is UTC's. One that has not changed since it was written is left alone, so an interrupted export goes on where it
stopped, and a nightly one writes what is new.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from crosswind.db import bulk
from crosswind.db.bulk import TimeSpan
from crosswind.db.connection import reading
from crosswind.tools.archive_tables import TABLES, schema_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["DayReport", "export_everything"]

_FORMAT = 1
_ROWS = 1 << 16  # of a row group; small batches are gathered until there are so many


@dataclass(frozen=True)
class DayReport:
    """What was done with a day. written: whether anything was; rows: by table; note: why it was left alone."""

    day: date
    written: bool
    rows: dict[str, int]
    note: str = ""


def export_everything(
    engine: Engine, folder: Path, since: date | None = None, until: date | None = None
) -> Iterator[DayReport]:
    """Write the days from `since` to `until` (included; by default all that there are) in which a job ran or something
    happened; reports each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with reading(engine) as conn:
        days = list(_days(bulk.time_span(conn), since, until))
    for day in days:
        with reading(engine) as conn:  # a transaction a day, so that old rows can be cleaned up meanwhile
            report = _export_day(conn, folder, day)
        if report is not None:
            yield report


def _export_day(conn: Connection, folder: Path, day: date) -> DayReport | None:
    """Write a day unless it is there; None: nothing ran or happened in it."""
    begin = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 10**9
    span = TimeSpan(begin, begin + 86400 * 10**9)
    fingerprint, pruned, nodes = bulk.state_of_span(conn, span)
    if not fingerprint:
        return None
    record = folder / "_days" / f"{day}.json"
    before = _read_record(record)
    if before is not None and before["fingerprint"] == fingerprint and before["rows"].keys() >= TABLES.keys():
        return DayReport(day, False, before["rows"])
    if before is not None and (pruned or nodes < before.get("node_blocks", 0)):
        return DayReport(day, False, before["rows"], "changed, but the database has let go of its detail")
    metrics = bulk.metric_names(conn)
    rows = {}
    for table, batches in TABLES.items():
        schema = schema_of(table, metrics)
        target = folder / table / f"day={day}" / "data.parquet"
        rows[table] = _write(target, schema, batches(conn, span, schema))
    with _whole(record) as part:
        done = {"format": _FORMAT, "fingerprint": fingerprint, "rows": rows, "node_blocks": nodes}
        part.write_text(json.dumps(done) + "\n")
    return DayReport(day, True, rows)


def _read_record(path: Path) -> dict | None:
    try:
        record = json.loads(path.read_text())
        return record if record["format"] == _FORMAT and record["fingerprint"] and record["rows"] is not None else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _days(span: TimeSpan | None, since: date | None, until: date | None) -> Iterator[date]:
    if span is None:
        return
    first, last = (datetime.fromtimestamp(at // 10**9, UTC).date() for at in (span.start_ns, span.end_ns - 1))
    day, last = max(first, since or first), min(last, until or last)
    while day <= last:
        yield day
        day += timedelta(days=1)


def _write(target: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a table, small batches gathered to row groups; how many rows."""
    waiting: list[pa.RecordBatch] = []
    total = n_waiting = 0
    with _whole(target) as part, parquet.ParquetWriter(part, schema, compression="zstd") as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_batches(waiting, schema=schema).unify_dictionaries(), row_group_size=_ROWS)
            waiting.clear()

        for batch in batches:
            if batch.num_rows:
                waiting.append(batch)
                n_waiting += batch.num_rows
                total += batch.num_rows
            if n_waiting >= _ROWS:
                flush()
                n_waiting = 0
        if waiting or not total:
            flush()
    return total


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Where to write, so that a file appears whole or not at all. Names that begin with a point are no data."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
