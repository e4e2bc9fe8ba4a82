"""What the tables of the Parquet archive share: types, days, batches of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crosswind.db import queries
from crosswind.db.bulk import TimeSpan
from crosswind.db.queries import JobRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["NAME", "ROWS", "TIME", "batch", "part_of_day", "started_in"]

ROWS = 1 << 16  # of a batch
TIME = pa.timestamp("ns")  # UTC; a time zone would have tools cut days and hours by their own
NAME = pa.dictionary(pa.int32(), pa.string())


def started_in(conn: Connection, day: TimeSpan) -> list[JobRow]:
    """A job step belongs to the day in which it began."""
    return [job for job in queries.jobs_overlapping(conn, *day) if job.start_ns >= day.start_ns]


def part_of_day(start_ns: int, slice_ns: int, n: int, day: TimeSpan) -> tuple[int, int]:
    """Which of n slices, the first of which begins at start_ns, begin in a day: from (included), to (excluded)."""
    first, last = (-((start_ns - at) // slice_ns) for at in day)
    return min(max(first, 0), n), min(max(last, 0), n)


def batch(columns: dict[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """Columns in the order and the types of the schema. Absurd numbers of a user's file are no error here."""
    return pa.record_batch([_array(columns[field.name], field.type) for field in schema], schema=schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array:  # noqa: ANN401 (a NumPy array, a list or an Arrow array)
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, type=pa.int64()).cast(kind)
    return pa.array(values, type=kind)
