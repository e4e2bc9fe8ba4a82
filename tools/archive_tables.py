"""The tables of the Parquet archive: the columns of each, and the rows of one day. docs/analysis-at-scale.md.

Here those over time; crosswind.tools.archive_details has those of whole jobs and of nodes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crosswind.db import bulk, events, queries
from crosswind.db.bulk import TimeSpan
from crosswind.db.queries import JobRow
from crosswind.tools.archive_details import DETAIL_SCHEMAS, DETAIL_TABLES
from crosswind.tools.archive_rows import NAME, ROWS, TIME, batch, part_of_day, started_in

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["TABLES", "schema_of"]

_IN_MEMORY = 256 << 20  # bytes of a job's slices of one day; more lie in a temporary file

_SCHEMAS: dict[str, list[tuple[str, pa.DataType]]] = {
    "jobs": [
        ("job_key", pa.int64()), ("cluster", pa.string()), ("job_id", pa.string()), ("step", pa.string()),
        ("uid", pa.int64()), ("user", pa.string()), ("hosts", pa.list_(pa.string())), ("ranks", pa.int64()),
        ("n_processes", pa.int32()), ("start", TIME), ("end", TIME), ("command", pa.string()), ("mpi", pa.string()),
        ("state", pa.string()), ("slice_ns", pa.int64()), ("first_slice", pa.int64()), ("n_slices", pa.int32()),
        ("interference_pct", pa.float64()), ("interference_s", pa.float64()), ("interference_class", pa.string()),
        ("certain", pa.bool_()), ("detail", pa.bool_()),
    ],
    "processes": [
        ("job_key", pa.int64()), ("process", pa.int32()), ("host", NAME), ("pid", pa.int64()), ("rank", pa.int64()),
        ("exe", NAME), ("start", TIME), ("end", TIME), ("state", NAME), ("count", pa.int64()),
        ("is_mpi", pa.bool_()),
    ],
    "slices": [
        ("start", TIME), ("job_key", pa.int64()), ("process", pa.int32()), ("host", NAME), ("rank", pa.int64()),
        ("slice_ns", pa.int64()), ("covered_ns", pa.int64()),
    ],  # and a column per metric
    "lost_time": [("start", TIME), ("job_key", pa.int64()), ("slice_ns", pa.int64()), ("lost_ns", pa.int64())],
    "background": [
        ("start", TIME), ("resource", NAME), ("metric", NAME), ("unit", NAME), ("slice_ns", pa.int64()),
        ("value", pa.int64()),
    ],
    "events": [
        ("cluster", pa.string()), ("kind", pa.string()), ("place", pa.string()), ("start", TIME), ("end", TIME),
        ("source", pa.string()), ("note", pa.string()),
    ],
}  # fmt: skip


def schema_of(table: str, metrics: Sequence[str]) -> pa.Schema:
    """The columns of a table; `slices` has one for each metric."""
    extra = [(name, pa.int64()) for name in metrics] if table == "slices" else []
    return pa.schema([*(_SCHEMAS | DETAIL_SCHEMAS)[table], *extra])


def _jobs(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        estimate = job.estimate or {}
        row = {name: getattr(job, name, None) for name in schema.names} | {
            "job_key": job.key,
            "hosts": list(job.hosts),
            "start": job.start_ns,
            "end": job.end_ns,
            "interference_pct": estimate.get("interference_pct"),
            "interference_s": estimate.get("interference_s"),
            "interference_class": estimate.get("class"),
            "certain": estimate.get("certain"),
        }
        yield batch({name: [value] for name, value in row.items()}, schema)


def _processes(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in started_in(conn, day):
        processes = queries.get_processes(conn, job.key)
        columns: dict[str, Any] = {
            name: [getattr(p, name) for p in processes]
            for name in ("host", "pid", "rank", "exe", "state", "count", "is_mpi")
        }
        columns |= {"start": [p.start_ns for p in processes], "end": [p.end_ns for p in processes]}
        columns |= {"job_key": [job.key] * len(processes), "process": list(range(len(processes)))}
        yield batch(columns, schema)


def _slices(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for job in queries.jobs_overlapping(conn, day.start_ns, day.end_ns):
        first, last = part_of_day(job.first_slice * job.slice_ns, job.slice_ns, job.n_slices, day)
        covered = queries.get_covered(conn, job.key) if first < last else None
        if covered is not None:
            with tempfile.TemporaryDirectory(prefix="crosswind-export-") as folder:
                kept = _Kept(Path(folder), covered[:, first:last])
                for name, values in bulk.frames_of(conn, job):
                    kept.add(name, values[:, first:last])
                yield from _rows_of_slices(conn, job, first, kept, schema)


class _Kept:
    """One day of a job's metrics, int64 [process, slice] each; in a file where they are large."""

    def __init__(self, folder: Path, covered: NDArray[np.int64]) -> None:
        self.covered = covered
        self.arrays: dict[str, NDArray[np.int64]] = {}
        self._folder = folder
        self._left = _IN_MEMORY

    def add(self, name: str, values: NDArray[np.int64]) -> None:
        """Keep a metric."""
        self._left -= values.nbytes
        if self._left >= 0:
            self.arrays[name] = values.copy()
            return
        path = self._folder / f"{len(self.arrays)}"
        on_disk = np.memmap(path, dtype=np.int64, mode="w+", shape=values.shape)
        on_disk[:] = values
        on_disk.flush()
        self.arrays[name] = np.memmap(path, dtype=np.int64, mode="r", shape=values.shape)


def _rows_of_slices(
    conn: Connection, job: JobRow, first: int, kept: _Kept, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One row a slice and process that was there, by time."""
    processes = queries.get_processes(conn, job.key)
    hosts = np.array([p.host for p in processes], dtype=object)
    ranks = np.array([-1 if p.rank is None else p.rank for p in processes], dtype=np.int64)
    width = max(1, ROWS // max(1, len(processes)))
    for begin in range(0, kept.covered.shape[1], width):
        part = slice(begin, begin + width)
        covered = kept.covered[:, part].T
        slices, rows = np.nonzero(covered)
        rank = ranks[rows]
        columns: dict[str, Any] = {
            "start": (job.first_slice + first + begin + slices) * job.slice_ns,
            "job_key": np.full(rows.size, job.key, dtype=np.int64),
            "process": rows.astype(np.int32),
            "host": hosts[rows],
            "rank": pa.array(rank, mask=rank < 0),
            "slice_ns": np.full(rows.size, job.slice_ns, dtype=np.int64),
            "covered_ns": covered[slices, rows],
        }
        nothing = np.zeros(rows.size, dtype=np.int64)
        for name in schema.names[len(columns) :]:
            values = kept.arrays.get(name)
            columns[name] = nothing if values is None else values[:, part].T[slices, rows]
        yield batch(columns, schema)


def _lost_time(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for lost in bulk.lost_between(conn, day):
        first, last = part_of_day(lost.start_ns, lost.slice_ns, lost.lost_ns.size, day)
        at = first + np.flatnonzero(lost.lost_ns[first:last])
        yield batch(
            {
                "start": lost.start_ns + at * lost.slice_ns,
                "job_key": np.full(at.size, lost.job_key, dtype=np.int64),
                "slice_ns": np.full(at.size, lost.slice_ns, dtype=np.int64),
                "lost_ns": lost.lost_ns[at],
            },
            schema,
        )


def _background(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for block in bulk.blocks_between(conn, day):
        first, last = part_of_day(block.start_ns, block.slice_ns, block.values.size, day)
        at = first + np.flatnonzero(block.values[first:last])
        yield batch(
            {
                "start": block.start_ns + at * block.slice_ns,
                "resource": [block.resource] * at.size,
                "metric": [block.metric] * at.size,
                "unit": [block.unit] * at.size,
                "slice_ns": np.full(at.size, block.slice_ns, dtype=np.int64),
                "value": block.values[at],
            },
            schema,
        )


def _events(conn: Connection, day: TimeSpan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for event in events.events_between(conn, day.start_ns, day.end_ns):
        if event.start_ns >= day.start_ns:
            row = {name: [getattr(event, name, None)] for name in schema.names}
            yield batch(row | {"start": [event.start_ns], "end": [event.end_ns]}, schema)


TABLES: dict[str, Callable[..., Iterator[pa.RecordBatch]]] = {
    "jobs": _jobs,
    "processes": _processes,
    "slices": _slices,
    "lost_time": _lost_time,
    "background": _background,
    "events": _events,
    **DETAIL_TABLES,
}
