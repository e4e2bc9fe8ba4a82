"""SELECTs on the slices of a job, block by block (crosswind.db.job_blocks): only what is asked for is unpacked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, false, select

from crosswind.db import codec, schema
from crosswind.db.job_blocks import Span, assembled
from crosswind.db.rows import Frame
from crosswind.db.summaries import BANDS, ZEROS
from crosswind.profile.sections import Rows

__all__ = [
    "Grid", "SeriesRows", "block_digests", "each_frame", "frame_blobs", "get_covered", "get_frames", "get_series",
    "get_sums", "grid_of", "metrics_before", "slice_range", "spans_of",
]  # fmt: skip


class Grid(NamedTuple):
    """The slices of a job."""

    n_processes: int
    first_slice: int
    n_slices: int
    slice_ns: int

    def part(self, first: int, n: int | None) -> Grid:
        """`n` slices (None: all that follow) from `first` on, counted from the job's first, as far as there are."""
        begin, end = slice_range(self.n_slices, first, n)
        return self._replace(first_slice=self.first_slice + begin, n_slices=end - begin)


class SeriesRows(NamedTuple):
    """The series of some slices of a job as its loader summed them up. alive: those that are not zero in the whole job.
    values: of those asked for, float64 [4, slice]: total, low, median, high.
    """

    alive: frozenset[str]
    values: dict[str, NDArray[np.float64]]


def slice_range(n_slices: int, first: int = 0, n: int | None = None) -> tuple[int, int]:
    """[begin, end) of `n` slices from `first` on (None: all that follow), as far as a job of n_slices has them."""
    begin = min(max(first, 0), n_slices)
    return begin, n_slices if n is None else min(begin + max(n, 0), n_slices)


def grid_of(conn: Connection, job_key: int) -> Grid | None:
    """The slices of a job; None: no such job."""
    j = schema.job.c
    query = select(j.n_processes, j.first_slice, j.n_slices, j.slice_ns).where(j.key == job_key)
    row = conn.execute(query).one_or_none()
    return None if row is None else Grid(*row)


def get_frames(
    conn: Connection, job_key: int, metrics: Collection[str] | None = None, first: int = 0, n: int | None = None
) -> dict[str, Frame]:
    """A job's values per slice by metric; all of them, or those named. Metrics that are zero in the whole job are
    absent. first, n: only these slices, counted from the job's first.
    """
    whole = grid_of(conn, job_key)
    if whole is None:
        return {}
    grid = whole.part(first, n)
    spans = spans_of(conn, job_key, whole)
    blobs = frame_blobs(conn, job_key, _within(spans, grid), metrics)
    frames = {}
    for metric in _measured(conn, job_key, spans, metrics):
        values = assembled(blobs.get(metric.name, {}), grid.n_processes, grid.first_slice, grid.n_slices)
        frames[metric.name] = Frame(metric.name, metric.unit, grid.first_slice, grid.slice_ns, values)
    return frames


def each_frame(
    conn: Connection,
    job_key: int,
    metrics: Collection[str] | None = None,
    accept: Callable[[Row[Any]], bool] = lambda row: True,
    rows: Rows | None = None,
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """As get_frames, of all slices, one metric at a time in memory. accept: whether to take a metric, by its row. rows:
    only these processes, in ascending order.
    """
    whole = grid_of(conn, job_key)
    if whole is None:
        return
    spans = spans_of(conn, job_key, whole)
    for metric in filter(accept, _measured(conn, job_key, spans, metrics)):
        blobs = frame_blobs(conn, job_key, spans, [metric.name])[metric.name]
        yield metric.name, assembled(blobs, whole.n_processes, whole.first_slice, whole.n_slices, rows)


def get_covered(
    conn: Connection, job_key: int, first: int = 0, n: int | None = None, rows: Rows | None = None
) -> NDArray[np.int64] | None:
    """How much of each slice each process was profiled: int64 [process, slice] in ns; None: no such job, or its slices
    were pruned. first, n: only these slices, counted from the job's first. rows: only these processes, in ascending
    order.
    """
    whole = grid_of(conn, job_key)
    spans = spans_of(conn, job_key, whole) if whole else {}
    if whole is None or (whole.n_slices and not spans):
        return None
    grid = whole.part(first, n)
    c = schema.coverage.c
    here = _within(spans, grid)
    query = select(c.start_ns, c.data).where(c.job_key == job_key, *_starts(c.start_ns, here))
    blobs = {here[start]: data for start, data in conn.execute(query) if start in here}
    return assembled(blobs, grid.n_processes, grid.first_slice, grid.n_slices, rows)


def get_sums(
    conn: Connection, job_key: int, metrics: Collection[str] | None = None, first: int = 0, n: int | None = None
) -> dict[str, NDArray[np.int64]] | None:
    """A job's values per slice, summed over its processes: metric -> int64 [slice]. Metrics that are zero in all of
    these slices are absent. None where the sums are not stored: the frames tell.
    """
    whole = grid_of(conn, job_key)
    if whole is None:
        return None
    grid, s, m = whole.part(first, n), schema.summary.c, schema.metric.c
    here = _within(spans_of(conn, job_key, whole), grid)
    query = select(s.start_ns, s.metrics, s.sums).where(s.job_key == job_key, *_starts(s.start_ns, here))
    rows = [row for row in conn.execute(query) if row.start_ns in here]
    if len(rows) < len(here) or not here:
        return None
    ids = {number for row in rows for number in row.metrics}
    names = {row.id: row.name for row in conn.execute(select(m.id, m.name).where(m.id.in_(ids)))}
    blobs: dict[str, dict[Span, NDArray[np.int64]]] = {}
    for row in rows:
        span = here[row.start_ns]
        values = codec.decode_ints(row.sums, (len(row.metrics), span.n_slices))
        for number, line in zip(row.metrics, values, strict=True):
            if metrics is None or names[number] in metrics:
                blobs.setdefault(names[number], {})[span] = line
    return {name: _joined(parts, grid, np.zeros((), dtype=np.int64)) for name, parts in blobs.items()}


def get_series(
    conn: Connection, job_key: int, version: int, names: Mapping[str, int], first: int = 0, n: int | None = None
) -> SeriesRows | None:
    """The series of a job in that version of their definition; None where they are not stored: the frames tell.

    names: the series, and which of the first rows of a block (summaries.ZEROS) stands for each where it is zero.
    """
    whole = grid_of(conn, job_key)
    if whole is None:
        return None
    grid, s = whole.part(first, n), schema.summary.c
    spans = spans_of(conn, job_key, whole)
    heads = conn.execute(select(s.start_ns, s.version, s.series).where(s.job_key == job_key)).all()
    stored = {row.start_ns: row.series for row in heads if row.version == version}
    if not spans or stored.keys() != spans.keys():
        return None
    here = _within(spans, grid)
    query = select(s.start_ns, s.bands).where(s.job_key == job_key, *_starts(s.start_ns, here))
    parts: dict[str, dict[Span, NDArray[np.float64]]] = {name: {} for name in names}
    for start_ns, blob in conn.execute(query):
        rows = {name: row for row, name in enumerate(stored[start_ns], ZEROS)}
        values = codec.decode_floats(blob, (ZEROS + len(rows), BANDS, here[start_ns].n_slices))
        for name, zero in names.items():
            parts[name][here[start_ns]] = values[rows.get(name, zero)]
    alive = frozenset(name for series in stored.values() for name in series)
    return SeriesRows(alive, {name: _joined(parts[name], grid, np.full(BANDS, np.nan)) for name in names})


def spans_of(conn: Connection, job_key: int, grid: Grid) -> dict[int, Span]:
    """The blocks of a job by the begin of their first slice, UTC ns, in order; none of one whose slices were pruned."""
    c = schema.coverage.c
    query = select(c.start_ns, c.n_slices, c.n_processes).where(c.job_key == job_key).order_by(c.start_ns)
    return {start: Span(start // grid.slice_ns, n, processes) for start, n, processes in conn.execute(query)}


def block_digests(conn: Connection, job_key: int, before_ns: int) -> list[str]:
    """For loading: the digests of a job's blocks that begin before a time, in order."""
    c = schema.coverage.c
    query = select(c.digest).where(c.job_key == job_key, c.start_ns < before_ns).order_by(c.start_ns)
    return list(conn.execute(query).scalars())


def metrics_before(conn: Connection, job_key: int, since_ns: int, before_ns: int) -> set[str]:
    """For loading: the metrics that are not zero in the blocks of a job that begin between two times."""
    f, m = schema.frame.c, schema.metric.c
    here = select(f.metric_id).where(f.job_key == job_key, f.start_ns >= since_ns, f.start_ns < before_ns).distinct()
    return set(conn.execute(select(m.name).where(m.id.in_(here))).scalars())


def frame_blobs(
    conn: Connection, job_key: int, spans: Mapping[int, Span], metrics: Collection[str] | None = None
) -> dict[str, dict[Span, bytes]]:
    """The stored frames of these blocks, by metric and block. Metrics that are zero in all of them are absent."""
    f, m = schema.frame.c, schema.metric.c
    query = (
        select(m.name, f.start_ns, f.data)
        .join(schema.metric, m.id == f.metric_id)
        .where(f.job_key == job_key, *_starts(f.start_ns, spans))
    )
    if metrics is not None:
        query = query.where(m.name.in_(sorted(metrics)))
    blobs: dict[str, dict[Span, bytes]] = {}
    for name, start_ns, data in conn.execute(query):
        if start_ns in spans:  # else of no block that there is
            blobs.setdefault(name, {})[spans[start_ns]] = data
    return blobs


def _measured(
    conn: Connection, job_key: int, spans: Mapping[int, Span], metrics: Collection[str] | None
) -> Sequence[Row[Any]]:
    """The rows of the metrics that are not zero in the whole job, of those named, by name."""
    f, m = schema.frame.c, schema.metric.c
    here = select(f.metric_id).where(f.job_key == job_key, *_starts(f.start_ns, spans)).distinct()
    query = select(schema.metric).where(m.id.in_(here)).order_by(m.name)
    return conn.execute(query if metrics is None else query.where(m.name.in_(sorted(metrics)))).all()


def _within(spans: Mapping[int, Span], grid: Grid) -> dict[int, Span]:
    """Those that overlap some slices."""
    end = grid.first_slice + grid.n_slices
    return {
        start: span
        for start, span in spans.items()
        if span.first_slice < end and span.first_slice + span.n_slices > grid.first_slice
    }


def _starts(column: ColumnElement[int], spans: Mapping[int, Span]) -> tuple[ColumnElement[bool], ...]:
    """Conditions on the begin of a block: a range, so that PostgreSQL looks at the partitions of the job only."""
    return (column.between(min(spans), max(spans)) if spans else false(),)


def _joined(parts: Mapping[Span, NDArray[Any]], grid: Grid, like: NDArray[Any]) -> NDArray[Any]:
    """The slices of a grid from blocks, [..., slice]. like: [...], what stands where there is no block."""
    out = np.empty((*like.shape, grid.n_slices), dtype=like.dtype)
    out[...] = like[..., np.newaxis]
    for span, values in parts.items():
        begin = max(span.first_slice, grid.first_slice)
        end = min(span.first_slice + span.n_slices, grid.first_slice + grid.n_slices)
        target = slice(begin - grid.first_slice, end - grid.first_slice)
        out[..., target] = values[..., begin - span.first_slice : end - span.first_slice]
    return out
