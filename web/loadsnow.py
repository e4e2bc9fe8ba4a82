"""Who loads a shared resource now: the jobs of the last slices, the largest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from crosswind.analysis.units import display_unit
from crosswind.db import queries, resources, timespace
from crosswind.db.timespace import PlacedJob
from crosswind.web.identity import Viewer
from crosswind.web.identity.privacy import withheld_slices
from crosswind.web.timespace import within_budget

__all__ = ["Load", "LoadsNow", "loads_now"]

SLICES = 15  # the last minute, of slices of 4 s
SHOWN = 5
RESOURCES = {"fs:net": "Network file systems", "net": "Network"}


@dataclass(frozen=True)
class Load:
    """What one job, or several (job None), put on a resource. share: of all that was put there, 0 to 1;
    None where that is not told.
    """

    job: PlacedJob | None
    title: str
    rate: str
    share: float | None


@dataclass(frozen=True)
class LoadsNow:
    """A resource's loads. total: of all jobs; "" where it may not be shown. withheld: whether others are too few."""

    title: str
    total: str
    loads: tuple[Load, ...]
    withheld: bool


def loads_now(conn: Connection, newest_ns: int, slice_ns: int, viewer: Viewer) -> list[LoadsNow]:
    """Bytes a second over the last SLICES slices before newest_ns. Jobs out of scope are one line, or nothing where
    they are too few.
    """
    last = newest_ns // slice_ns
    first = max(last - SLICES, 0)
    jobs = timespace.placed_jobs(conn, first * slice_ns, last * slice_ns, viewer.scope)
    return [_of_resource(conn, name, jobs, first, last - first, slice_ns, viewer) for name in RESOURCES]


def _of_resource(
    conn: Connection, name: str, jobs: list[PlacedJob], first: int, n: int, slice_ns: int, viewer: Viewer
) -> LoadsNow:
    metrics = [metric for metric in resources.FEEDS[name] if metric.endswith(("_bytes", "_bytes_out"))]
    sums = queries.get_background_sum(conn, [name], metrics, first, n, slice_ns)
    hidden = bool(withheld_slices(conn, [name], first, n, slice_ns).any())
    total = float(sum(int(values.sum()) for values in sums.values()))
    own = sorted(_sums(conn, jobs, metrics, first, n, slice_ns), key=lambda one: -one[1])
    mine = sum(moved for _, moved in own)
    whole = mine if hidden else max(total, mine)
    per_s = 1e9 / (max(n, 1) * slice_ns)
    loads = [
        Load(job, _name(job), _rate(moved * per_s), None if hidden else moved / max(whole, 1))
        for job, moved in own[:SHOWN]
        if moved
    ]
    rest = whole - sum(moved for _, moved in own[:SHOWN])
    if rest > 0.001 * max(whole, 1):
        who = "all other jobs" if viewer.names_others else "jobs of other users" if len(own) <= SHOWN else "other jobs"
        loads.append(Load(None, who, _rate(rest * per_s), None if hidden else rest / whole))
    return LoadsNow(RESOURCES[name], "" if hidden else _rate(whole * per_s), tuple(loads), hidden)


def _sums(
    conn: Connection, jobs: list[PlacedJob], metrics: list[str], first: int, n: int, slice_ns: int
) -> Iterator[tuple[PlacedJob, float]]:
    """What each job moved in these slices; the largest jobs are left out where reading all would take too long."""
    begin_ns, end_ns = first * slice_ns, (first + n) * slice_ns
    sums: dict[int, float] = {}
    readable = within_budget([job for job in jobs if job.detail], begin_ns, end_ns, len(metrics))
    for block in timespace.per_host(conn, readable, metrics, begin_ns, end_ns):
        length = block.job.slice_ns
        begin, end = (max(at // length - block.first_slice, 0) for at in (begin_ns, end_ns))
        sums[block.job.key] = sums.get(block.job.key, 0.0) + float(block.values[:, begin:end].sum())
    for job in readable:
        if job.key in sums:
            yield job, sums[job.key]


def _name(job: PlacedJob) -> str:
    return f"{job.job_id}.{job.step}" if job.step else job.job_id


def _rate(value: float) -> str:
    unit = display_unit("B/s", value)
    return f"{value * unit.factor:.3g} {unit.label}"
