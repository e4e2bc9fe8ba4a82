"""How many jobs stand behind a sum, so that a sum of too few can be withheld."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, not_, or_, select

from crosswind.db import resources, schema
from crosswind.db.names import batches
from crosswind.db.one_of import one_of
from crosswind.db.scope import JobScope

__all__ = ["Crowd", "Run", "count_filling", "crowd_of", "crowd_outside", "crowds_on_each"]

_WHOLE = ("fs:net", "net")  # what the whole system shares, of which others are parts
_Job = tuple[str, str, int]  # cluster, id, uid
_Span = tuple[int, int]  # slices [first, end) of the range


class Run(NamedTuple):
    """A step of a job, or a job of the batch system. Times are UTC ns."""

    cluster: str
    job_id: str
    uid: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Crowd:
    """Jobs that may not be seen, per slice: int64 [slice]. together: on all the resources. least: on that of the
    resources with the fewest, those that none touches left aside (0: all are).

    A job counts in the slices that it fills; in those that it only touches it does not. So of a long slice and the
    short ones inside it, each with enough jobs, no difference has fewer. A resource that is only touched has one.
    """

    together: NDArray[np.int64]
    least: NDArray[np.int64]

    def is_smaller_than(self, k: int) -> NDArray[np.bool_]:
        """Where fewer than k jobs are together, or 1 to k-1 on one of the resources, [slice]: sums over different sets
        of resources tell nothing of those few either.
        """
        return (self.together < k) | ((self.least > 0) & (self.least < k))


class _Slices(NamedTuple):
    first: int
    n: int
    length_ns: int

    def filled(self, run: Run) -> _Span:
        """The slices that a run fills, counted from the first of these."""
        first = max(-(-run.start_ns // self.length_ns) - self.first, 0)
        return first, min(run.end_ns // self.length_ns - self.first, self.n)

    def touched(self, run: Run) -> _Span:
        """The slices of which it had any part."""
        first = max(run.start_ns // self.length_ns - self.first, 0)
        return first, min(-(-run.end_ns // self.length_ns) - self.first, self.n)

    def at_least_touching(self, runs: Collection[tuple[_Job, Run]]) -> NDArray[np.int64]:
        """How many of the jobs fill each slice; 1 where none does but one had a part, [slice]."""
        filling = _count(((job, self.filled(run)) for job, run in runs), self.n)
        touching = _count(((job, self.touched(run)) for job, run in runs), self.n)
        return np.maximum(filling, touching > 0)


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
    slices = _Slices(first_slice, n_slices, slice_ns)
    on = _by_resource(conn, scope, names, slices, by_user=by_user)
    least = np.zeros(n_slices, dtype=np.int64)
    for runs in on.values():
        counts = slices.at_least_touching(runs)
        least = np.where((least == 0) | ((counts > 0) & (counts < least)), counts, least)
    everywhere = ((job, slices.filled(run)) for runs in on.values() for job, run in runs)
    return Crowd(_count(everywhere, n_slices), least)


def crowds_on_each(
    conn: Connection,
    scope: JobScope,
    names: Sequence[str],
    first_slice: int,
    n_slices: int,
    slice_ns: int,
    *,
    by_user: bool = False,
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Each of these resources that jobs out of scope used, with how many are there in each slice, int64 [slice]: 1
    where none fills it but one had a part.
    """
    slices = _Slices(first_slice, n_slices, slice_ns)
    for name, runs in _by_resource(conn, scope, names, slices, by_user=by_user).items():
        yield name, slices.at_least_touching(runs)


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
    those whose load is the sum over the whole system less that over the parts. 1 where such jobs only touch a slice.
    """
    kinds = {resources.split(name)[0] for name in names} & resources.PLACED
    if not kinds:
        return np.zeros(n_slices, dtype=np.int64)
    slices = _Slices(first_slice, n_slices, slice_ns)
    here = {_whose(run) for _, run in _others(conn, scope, names, slices)}
    elsewhere = [
        (_whose(run, by_user=by_user), run)
        for name, run in _others(conn, scope, _WHOLE, slices, kinds)
        if (_whose(run) not in here if name in _WHOLE else name not in names)
    ]
    return slices.at_least_touching(elsewhere)


def count_filling(
    runs: Iterable[Run], first_slice: int, n_slices: int, slice_ns: int, *, by_user: bool = False
) -> NDArray[np.int64]:
    """How many jobs (users) these runs are in each of the slices that they fill, int64 [slice]."""
    slices = _Slices(first_slice, n_slices, slice_ns)
    return _count(((_whose(run, by_user=by_user), slices.filled(run)) for run in runs), n_slices)


def _whose(run: Run, *, by_user: bool = False) -> _Job:
    return ("", "", run.uid) if by_user else (run.cluster, run.job_id, run.uid)


def _by_resource(
    conn: Connection, scope: JobScope, names: Sequence[str], slices: _Slices, *, by_user: bool
) -> dict[str, list[tuple[_Job, Run]]]:
    """The steps out of scope on each of these resources, with the job (or the user) that each is of."""
    on: dict[str, list[tuple[_Job, Run]]] = {}
    for part in batches(sorted(names)):
        for name, run in _others(conn, scope, part, slices):
            on.setdefault(name, []).append((_whose(run, by_user=by_user), run))
    return on


def _others(
    conn: Connection, scope: JobScope, names: Sequence[str], slices: _Slices, kinds: Iterable[str] = ()
) -> Iterable[tuple[str, Run]]:
    """The steps out of scope on these resources, and on all of these kinds, with the resource."""
    j, r, used = schema.job.c, schema.resource.c, schema.job_resource.c
    begin_ns, end_ns = slices.first * slices.length_ns, (slices.first + slices.n) * slices.length_ns
    duration = j.end_ns - j.start_ns
    longest = conn.execute(select(duration).order_by(duration.desc()).limit(1)).scalar_one_or_none() or 0
    query = (
        select(r.name, j.cluster, j.job_id, j.uid, j.start_ns, j.end_ns)
        .join(schema.job_resource, used.resource_id == r.id)
        .join(schema.job, j.key == used.job_key)
        .where(
            or_(one_of(r.name, names), *(r.name.startswith(f"{kind}@", autoescape=True) for kind in kinds)),
            j.start_ns < end_ns,
            j.start_ns >= begin_ns - longest,  # so that an index on the begin finds them
            j.end_ns > begin_ns,
            not_(scope.condition()),
        )
    )
    for row in conn.execute(query):
        yield row[0], Run(*row[1:])


def _count(spans: Iterable[tuple[_Job, _Span]], n_slices: int) -> NDArray[np.int64]:
    """How many of the jobs are in each slice."""
    of_jobs: dict[_Job, list[_Span]] = {}
    for job, span in spans:
        if span[0] < span[1]:
            of_jobs.setdefault(job, []).append(span)
    change = np.zeros(n_slices + 1, dtype=np.int64)
    together = [span for of_job in of_jobs.values() for span in _united(of_job)]
    if together:
        first, end = np.array(together, dtype=np.int64).T
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
