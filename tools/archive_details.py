"""The tables of the Parquet archive that hang on whole jobs, on batch jobs and on nodes. docs/analysis-at-scale.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crosswind.db import bulk, details, queries
from crosswind.db.bulk import TimeSpan
from crosswind.db.queries import JobRow
from crosswind.db.schema import GAP
from crosswind.profile.segments import CSV_COLUMNS, SegmentTable
from crosswind.tools.archive_rows import NAME, ROWS, TIME, batch, part_of_day, started_in

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["DETAIL_SCHEMAS", "DETAIL_TABLES"]

_FUNCTION_COLUMNS = ("calls", "bytes_out", "bytes_in", "time_ns")
_SEGMENT_COLUMNS = tuple(name for name in CSV_COLUMNS if name not in ("seg", "rank", "t_start_us", "sig"))

DETAIL_SCHEMAS: dict[str, list[tuple[str, pa.DataType]]] = {
    "totals": [("job_key", pa.int64()), ("process", pa.int32()), ("metric", NAME), ("value", pa.int64())],
    "functions": [
        ("job_key", pa.int64()), ("process", pa.int32()), ("function", NAME),
        *((name, pa.int64()) for name in _FUNCTION_COLUMNS),
    ],
    "access": [
        ("job_key", pa.int64()), ("process", pa.int32()), ("pattern", NAME), ("number", pa.int32()),
        ("value", pa.int64()),
    ],
    "segments": [
        ("start", TIME), ("job_key", pa.int64()), ("segment", pa.int64()), ("rank", pa.int64()),
        ("stride", pa.int64()), ("closed_by", NAME), ("sig", pa.uint64()),
        *((name, pa.float64()) for name in _SEGMENT_COLUMNS),
    ],
    "batch_jobs": [
        ("cluster", pa.string()), ("job_id", pa.string()), ("run", pa.int32()), ("uid", pa.int64()),
        ("user", pa.string()), ("account", pa.string()), ("partition", pa.string()), ("name", pa.string()),
        ("array_job_id", pa.string()), ("array_task", pa.string()), ("het_job_id", pa.string()),
        ("state", pa.string()), ("submit", TIME), ("start", TIME), ("end", TIME), ("hosts", pa.list_(pa.string())),
        ("cpus", pa.int32()), ("exit_code", pa.int32()), ("signal", pa.int32()),
    ],
    "nodes": [
        ("start", TIME), ("cluster", NAME), ("node", NAME), ("instance", NAME), ("metric", NAME), ("unit", NAME),
        ("slice_ns", pa.int64()), ("value", pa.int64()),
    ],
}  # fmt: skip


def _totals(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        for name, values in details.get_totals(conn, job.key).items():
            at = np.flatnonzero(values)
            columns = {"process": at.astype(np.int32), "metric": [name] * at.size, "value": values[at]}
            yield batch(_of(job, at.size) | columns, schema)


def _functions(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        for name, values in queries.get_functions(conn, job.key).items():
            at = np.flatnonzero(values.any(axis=1))
            columns = {"process": at.astype(np.int32), "function": [name] * at.size}
            counts = dict(zip(_FUNCTION_COLUMNS, values[at].T, strict=True))
            yield batch(_of(job, at.size) | columns | counts, schema)


def _access(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        for name, values in details.get_access(conn, job.key).items():
            process, number = np.nonzero(values)
            columns = {
                "process": process.astype(np.int32),
                "pattern": [name] * process.size,
                "number": number.astype(np.int32),
                "value": values[process, number],
            }
            yield batch(_of(job, process.size) | columns, schema)


def _segments(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        table = queries.get_segments(conn, job.key)
        if table is not None:
            yield from _rows_of_segments(job, table, schema)


def _rows_of_segments(job: JobRow, table: SegmentTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One row a segment and rank that has it, by segment."""
    places = np.array([*table.places, ""], dtype=object)  # -1: not known
    width = max(1, ROWS // max(1, table.n_ranks))
    for begin in range(0, table.n_segments, width):
        segment, rank = np.nonzero(table.valid[:, begin : begin + width].T)
        segment += begin
        columns = {
            "start": np.rint(_column(table, "t_start_us", rank, segment) * 1e3).astype(np.int64),
            "segment": table.index[segment],
            "rank": table.ranks[rank],
            "stride": table.stride[segment],
            "closed_by": places[table.closed_at[segment]],
            "sig": _column(table, "sig", rank, segment).astype(np.uint64),
        }
        values = {name: _known(_column(table, name, rank, segment)) for name in _SEGMENT_COLUMNS}
        yield batch(_of(job, segment.size) | columns | values, schema)


def _column(table: SegmentTable, name: str, rank: NDArray[np.intp], segment: NDArray[np.intp]) -> NDArray:
    """A column of the table; NaN (sig, t_start_us: 0) where it has none."""
    if name in table.columns:
        return table.columns[name][rank, segment]
    return np.full(rank.size, 0.0 if name in ("sig", "t_start_us") else np.nan)


def _known(values: NDArray) -> pa.Array:
    """Numbers that are not known are null, not NaN."""
    return pa.array(values, type=pa.float64(), from_pandas=True)


def _batch_jobs(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for row in bulk.batch_jobs_between(conn, day):
        values = {str(name): value for name, value in row._mapping.items()}
        times = {name: [values[f"{name}_ns"]] for name in ("submit", "start", "end")}
        yield batch({name: [values.get(name)] for name in schema.names} | times, schema)


def _nodes(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for block in bulk.node_blocks_between(conn, day):
        first, last = part_of_day(block.start_ns, block.slice_ns, block.values.shape[1], day)
        instance, at = np.nonzero(block.values[:, first:last] != GAP)
        n, names = at.size, np.array(block.instances, dtype=object)
        yield batch(
            {
                "start": block.start_ns + (first + at) * block.slice_ns,
                "cluster": [block.cluster] * n,
                "node": [block.node] * n,
                "instance": names[instance],
                "metric": [block.metric] * n,
                "unit": [block.unit] * n,
                "slice_ns": np.full(n, block.slice_ns, dtype=np.int64),
                "value": block.values[instance, first + at],
            },
            schema,
        )


def _of(job: JobRow, n: int) -> dict[str, NDArray]:
    """The column that says whose rows these are."""
    return {"job_key": np.full(n, job.key, dtype=np.int64)}


DETAIL_TABLES: dict[str, Callable[..., Iterator[pa.RecordBatch]]] = {
    "totals": _totals,
    "functions": _functions,
    "access": _access,
    "segments": _segments,
    "batch_jobs": _batch_jobs,
    "nodes": _nodes,
}
