"""What rose on a resource in a range of time: the jobs that loaded it most, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.lookup import LOADS, Load, metrics_of_loads
from crosswind.db import queries, resources, topology
from crosswind.db.background import add_block
from crosswind.db.loads import keys_in_scope, shares_of_job
from crosswind.db.queries import JobRow
from crosswind.web.figures import Axis
from crosswind.web.lookup import Sight
from crosswind.web.lookup_answer import step_name
from crosswind.web.resource_words import on_resource

__all__ = ["MAX_RANGE_NS", "RangeLine", "RangeLookup", "loads_on", "read_range"]

MAX_RANGE_NS = 86400 * 10**9
MAX_JOBS = 300  # whose slices are read: those that ran longest in the range
MAX_CELLS = 8 << 20  # processes times slices of a job that is read
MAX_ALL_CELLS = 64 << 20  # of all jobs that are read
MAX_SLICES = 1 << 16  # of the range
SLICE_NS = 4 * 10**9  # of a range in which no job ran
MAX_LINES = 50


@dataclass(frozen=True)
class RangeLine:
    """A job in the range. amount: what it moved (or called, or used) in it, in `unit` times seconds; share: of all."""

    job: JobRow
    amount: float
    share: float


@dataclass(frozen=True)
class RangeLookup:
    """load: what is shown. total: per second, [slice] of axis, NaN where it is withheld; amount: of all jobs, None
    where any of it is. lines: the jobs whose names may be known, most first. others: how many more jobs ran, None where
    they are too few to say; left_out: how many of those that may be known were not read.
    """

    resource: str
    load: Load
    axis: Axis
    total: NDArray[np.float64]
    amount: float | None
    lines: tuple[RangeLine, ...]
    others: int | None
    left_out: int

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        did = f"had {self.load.title} {on_resource(self.resource)} in this time"
        if not self.lines and self.others is None:
            return f"None of your jobs, and few or no other profiled ones, {did}."
        if not self.lines and not self.others:
            return f"No profiled job {did}."
        if not self.lines:
            return f"{self.others} jobs of other users ran {on_resource(self.resource)} in this time."
        first = self.lines[0]
        share = f" ({100 * first.share:.0f} % of all)" if self.amount else ""
        return f"{self.load.title[0].upper()}{self.load.title[1:]}: most by job {step_name(first.job)}{share}."

    def to_json(self) -> dict[str, Any]:
        """The document of the page."""
        return {
            "sentence": self.sentence,
            "resource": self.resource,
            "load": self.load.title,
            "unit": self.load.unit,
            "amount": self.amount,
            "other_jobs": self.others,
            "jobs_left_out": self.left_out,
            "jobs": [
                {
                    "job_key": line.job.key,
                    "job_id": line.job.job_id,
                    "step": line.job.step,
                    "user": line.job.user,
                    "command": line.job.command,
                    "amount": line.amount,
                    "share": line.share if self.amount is not None else None,
                }
                for line in self.lines
            ],
        }


def read_range(
    conn: Connection, resource: str, load: Load, start_ns: int, end_ns: int, sight: Sight | None = None
) -> RangeLookup:
    """Who loaded a resource between two times, by one kind of load. KeyError: no such resource.

    ValueError: a range that is empty or longer than MAX_RANGE_NS. The sum over all jobs is that of the background.
    """
    if not 0 <= start_ns < end_ns <= start_ns + MAX_RANGE_NS:
        raise ValueError("a range is between nothing and a day long")
    resources.split(resource)
    sight = sight or Sight()
    jobs = queries.jobs_overlapping(conn, start_ns, end_ns, resource)
    slice_ns = _slice_length(jobs, end_ns - start_ns)
    first = start_ns // slice_ns
    axis = Axis(first, -(-end_ns // slice_ns) - first, slice_ns)
    total = _total(conn, resource, load, axis)
    visible = keys_in_scope(conn, sight.scope, {job.key for job in jobs})
    mine = [job for job in jobs if job.key in visible]
    withheld = np.zeros(axis.n_slices, np.bool_)
    if sight.of_sums is not None:
        withheld = sight.of_sums([resource], first, axis.n_slices, slice_ns)
    if sight.least and resources.split(resource)[1] and not mine:  # a node or a switch that is none of one's own
        jobs, withheld = [], np.ones(axis.n_slices, np.bool_)
    amounts = [(job, _amount(conn, job, resource, load, axis)) for job in _readable(mine, start_ns, end_ns)]
    everything = float(total.sum())
    lines = [RangeLine(job, x * _scale(load), x / everything if everything else 0.0) for job, x in amounts if x > 0]
    lines.sort(key=lambda line: -line.amount)
    return RangeLookup(
        resource=resource,
        load=load,
        axis=axis,
        total=np.where(withheld, np.nan, total * _scale(load) / (slice_ns / 1e9)),
        amount=None if withheld.any() else everything * _scale(load),
        lines=tuple(lines[:MAX_LINES]),
        others=len(jobs) - len(mine) if len(jobs) - len(mine) >= sight.least else None,
        left_out=len(mine) - len(amounts),
    )


def _slice_length(jobs: Sequence[JobRow], span_ns: int) -> int:
    """The shortest slices of the jobs, or so many of them together that the range has not too many."""
    shortest = min((job.slice_ns for job in jobs), default=SLICE_NS)
    return shortest * max(1, -(-span_ns // (shortest * MAX_SLICES)))


def _readable(jobs: Sequence[JobRow], start_ns: int, end_ns: int) -> list[JobRow]:
    """Those whose slices may be read, the ones that ran longest in the range first."""
    there = [job for job in jobs if job.detail and job.n_processes * job.n_slices <= MAX_CELLS]
    there.sort(key=lambda job: max(job.start_ns, start_ns) - min(job.end_ns, end_ns))
    cells = np.cumsum([job.n_processes * job.n_slices for job in there])
    return there[: min(int(np.searchsorted(cells, MAX_ALL_CELLS, side="right")), MAX_JOBS)]


def loads_on(resource: str) -> Mapping[str, Load]:
    """The kinds of load of a resource, by title. KeyError: no such resource, or one that nobody is blamed for."""
    return {load.title: load for load in LOADS[resources.split(resource)[0]]}


def _total(conn: Connection, resource: str, load: Load, axis: Axis) -> NDArray[np.float64]:
    sums = queries.get_background_sum(conn, [resource], load.metrics, axis.first_slice, axis.n_slices, axis.slice_ns)
    return np.sum(list(sums.values()), axis=0, dtype=np.float64)


def _amount(conn: Connection, job: JobRow, resource: str, load: Load, axis: Axis) -> float:
    """What a job counted on a resource within the range."""
    hosts = set(job.hosts)
    kind = resources.split(resource)[0]
    metrics = {kind: tuple(m for m in metrics_of_loads()[kind] if m in load.metrics)}
    found = shares_of_job(conn, job, [resource], metrics, topology.place_of_job(conn, job.key, hosts))
    out = np.zeros(axis.n_slices, dtype=np.int64)
    for values in found.get(resource, {}).values():
        add_block(
            out, axis.first_slice, axis.slice_ns, values, job.first_slice * job.slice_ns, job.slice_ns, gauge=False
        )
    return float(out.sum())


def _scale(load: Load) -> float:
    """Times are counted in ns: of processors, in processor-seconds."""
    return 1e-9 if load.unit == "processors" else 1.0
