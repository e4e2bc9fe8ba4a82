"""What ranking jobs by whom they may have disturbed needs: who moved how much, and who lost time when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crosswind.db import codec, queries
from crosswind.db.resources import FEEDS
from crosswind.db.schema import job, job_sums, lost_time
from crosswind.db.scope import JobScope

__all__ = ["RESOURCE", "Losses", "Movers", "read_losses", "read_movers", "read_traffic"]

RESOURCE = "fs:net"
_BYTES = tuple(name for name in FEEDS[RESOURCE] if name.endswith("_bytes"))


@dataclass(frozen=True)
class Movers:
    """Job steps that moved bytes on network file systems. Every array is int64 [job]; times in UTC ns."""

    key: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    moved_bytes: NDArray[np.int64]  # over the whole job


@dataclass(frozen=True)
class Losses:
    """Time that jobs lost. per_slice_ns: float64 [slice], of all of them together. key, start_ns, end_ns: int64 [job],
    of those that lost any; of_job_ns: float64 [job], what each lost in these slices.
    """

    per_slice_ns: NDArray[np.float64]
    key: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    of_job_ns: NDArray[np.float64]


def read_movers(conn: Connection, start_ns: int, end_ns: int, scope: JobScope) -> Movers:
    """The job steps in scope that ran between two times and moved anything on network file systems."""
    j, s = job.c, job_sums.c
    query = (
        select(j.key, j.start_ns, j.end_ns, s.net_fs_bytes)
        .join(job_sums, s.job_key == j.key)
        .where(j.end_ns > start_ns, j.start_ns < end_ns, s.net_fs_bytes > 0, scope.condition())
    )
    table = np.array([tuple(row) for row in conn.execute(query)], dtype=np.int64).reshape(-1, 4)
    return Movers(*table.T)


def read_losses(conn: Connection, first_slice: int, n_slices: int, slice_ns: int) -> Losses:
    """The time that all job steps lost in these slices. Those with slices of another length are left out."""
    j, t = job.c, lost_time.c
    begin, end = first_slice * slice_ns, (first_slice + n_slices) * slice_ns
    query = (
        select(j.key, j.start_ns, j.end_ns, t.first_slice, t.n_slices, t.per_slice)
        .join(lost_time, t.job_key == j.key)
        .where(j.end_ns > begin, j.start_ns < end, j.interference_pct > 0, j.slice_ns == slice_ns)
    )
    per_slice = np.zeros(n_slices)
    known: list[tuple[int, int, int]] = []
    lost: list[float] = []
    for row in conn.execute(query):
        values = codec.decode_ints(row.per_slice, (row.n_slices,))
        at = row.first_slice - first_slice
        inside = slice(max(at, 0), min(at + row.n_slices, n_slices))
        part = values[inside.start - at : inside.stop - at] if inside.start < inside.stop else values[:0]
        if part.any():
            per_slice[inside] += part
            known.append((row.key, row.start_ns, row.end_ns))
            lost.append(float(part.sum()))
    table = np.array(known, dtype=np.int64).reshape(-1, 3)
    return Losses(per_slice, table[:, 0], table[:, 1], table[:, 2], np.array(lost))


def read_traffic(conn: Connection, first_slice: int, n_slices: int, slice_ns: int) -> NDArray[np.float64]:
    """Bytes that all jobs together moved on network file systems, [slice]."""
    sums = queries.get_background_sum(conn, [RESOURCE], _BYTES, first_slice, n_slices, slice_ns)
    return np.sum([values.astype(np.float64) for values in sums.values()], axis=0)
