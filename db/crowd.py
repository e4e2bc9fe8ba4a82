"""How many jobs stand behind a sum, so that a sum of too few can be withheld."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, not_, or_, select

from crosswind.db import resources, schema
from crosswind.db.scope import JobScope

__all__ = ["Crowd", "crowd_of", "crowd_outside"]

_Job = tuple[str, str, int]  # cluster, id, uid
_WHOLE = ("fs:net", "net")  # what the whole system shares, of which others are parts
_Span = tuple[int, int]  # slices [first, end) of the range


@dataclass(frozen=True)
class Crowd:
    """Jobs that may not be seen, per slice: int64 [slice]. together: on all the resources. least: on that of the
    resources with the fewest, those without any left aside (0: all are).

    A job counts in the slices that it fills; in those that it only touches it does not. So of a long slice and the
    short ones inside it, each with enough jobs, no difference has fewer.
    """

    together: NDArray[np.int64]
    least: NDArray[np.int64]

    def is_smaller_than(self, k: int) -> NDArray[np.bool_]:
        """Where fewer than k jobs are together, or 1 to k-1 on one of the resources, [slice]: sums over different sets
        of resources tell nothing of those few either.
        """
        return (self.together < k) | ((self.least > 0) & (self.least < k))


def crowd_of(
    conn: Connection,
    scope: JobScope,
    names: Sequence[str],
    first_slice: int,
    n_slices: int,
    slice_ns: int,
    *,
    by_user: bool = False,
) -> Crowd:
    """Count the jobs out of scope that used these resources, in each of the slices. The steps of a job are one; by
    user, all jobs of a user are.
    """
    on: dict[str, dict[_Job, list[_Span]]] = {}
    everywhere: dict[_Job, list[_Span]] = {}
    for name, job, start_ns, end_ns in _others(conn, scope, names, first_slice, n_slices, slice_ns):
        whose = ("", "", job[2]) if by_user else job
        first = max(-(-start_ns // slice_ns) - first_slice, 0)
        end = min(end_ns // slice_ns - first_slice, n_slices)
        if first < end:
            on.setdefault(name, {}).setdefault(whose, []).append((first, end))
            everywhere.setdefault(whose, []).append((first, end))
    least = np.zeros(n_slices, dtype=np.int64)
    for jobs in on.values():
        counts = _count(jobs.values(), n_slices)
        least = np.where((least == 0) | ((counts > 0) & (counts < least)), counts, least)
    return Crowd(_count(everywhere.values(), n_slices), least)


def crowd_outside(
    conn: Connection,
    scope: JobScope,
    names: Sequence[str],
    first_slice: int,
    n_slices: int,
    slice_ns: int,
    *,
    by_user: bool = False,
) -> NDArray[np.int64]:
    """Jobs out of scope that also used parts of the system beside these parts of it (resources.PLACED), int64 [slice]:
    those whose load is the sum over the whole system less that over the parts.
    """
    kinds = {resources.split(name)[0] for name in names} & resources.PLACED
    if not kinds:
        return np.zeros(n_slices, dtype=np.int64)
    here = {job for _, job, *_ in _others(conn, scope, names, first_slice, n_slices, slice_ns)}
    spans: dict[_Job, list[_Span]] = {}
    for name, job, start_ns, end_ns in _others(conn, scope, _WHOLE, first_slice, n_slices, slice_ns, kinds):
        elsewhere = job not in here if name in _WHOLE else name not in names
        first = max(-(-start_ns // slice_ns) - first_slice, 0)
        end = min(end_ns // slice_ns - first_slice, n_slices)
        if elsewhere and first < end:
            spans.setdefault(("", "", job[2]) if by_user else job, []).append((first, end))
    return _count(spans.values(), n_slices)


def _others(
    conn: Connection,
    scope: JobScope,
    names: Sequence[str],
    first_slice: int,
    n_slices: int,
    slice_ns: int,
    kinds: Iterable[str] = (),
) -> Iterable[tuple[str, _Job, int, int]]:
    """The steps out of scope on these resources, and on all of these kinds: resource, job, begin, end."""
    j, r, used = schema.job.c, schema.resource.c, schema.job_resource.c
    begin_ns, end_ns = first_slice * slice_ns, (first_slice + n_slices) * slice_ns
    duration = j.end_ns - j.start_ns
    longest = conn.execute(select(duration).order_by(duration.desc()).limit(1)).scalar_one_or_none() or 0
    query = (
        select(r.name, j.cluster, j.job_id, j.uid, j.start_ns, j.end_ns)
        .join(schema.job_resource, used.resource_id == r.id)
        .join(schema.job, j.key == used.job_key)
        .where(
            or_(r.name.in_(names), *(r.name.startswith(f"{kind}@", autoescape=True) for kind in kinds)),
            j.start_ns < end_ns,
            j.start_ns >= begin_ns - longest,  # so that an index on the begin finds them
            j.end_ns > begin_ns,
            not_(scope.condition()),
        )
    )
    for row in conn.execute(query):
        yield row.name, (row.cluster, row.job_id, row.uid), row.start_ns, row.end_ns


def _count(jobs: Iterable[list[_Span]], n_slices: int) -> NDArray[np.int64]:
    """How many of the jobs fill each slice."""
    change = np.zeros(n_slices + 1, dtype=np.int64)
    spans = [span for of_job in jobs for span in _united(of_job)]
    if spans:
        first, end = np.array(spans, dtype=np.int64).T
        np.add.at(change, first, 1)
        np.add.at(change, end, -1)
    return np.cumsum(change[:-1])


def _united(spans: list[_Span]) -> list[_Span]:
    """The same slices, each in one span."""
    if len(spans) == 1:
        return spans
    out: list[_Span] = []
    for first, end in sorted(spans):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((first, end))
    return out
