"""How much of the machine was profiled while a job ran: the background is the sum over profiled jobs only.

Per slice, and over all of them:

    y   node-hours that the batch system had given to jobs, this one among them
    x   those of them in jobs with a profiled step, from the begin of the job's first step to the end of its last

Idle nodes are in neither. A job whose steps were profiled in part counts as profiled in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.db.coverage import read_allocations, runs_outside
from crosswind.db.queries import JobRow
from crosswind.web.figures import Line, Plot
from crosswind.web.identity import viewer
from crosswind.web.identity.privacy import too_few, withheld_words

__all__ = ["Coverage", "coverage_plot", "node_seconds", "read_coverage"]

_UNKNOWN = (
    "The batch system told nothing of the jobs of that time, so how much of the machine was profiled is not known. "
    "What jobs without a profile did is missing from the background."
)
_TOO_MANY = "More jobs ran than are counted here; the share is that of the first of them."
_HOW = (
    ("profiled", "nodes in jobs with a profiled step over all nodes that the batch system had given to jobs"),
    ("idle nodes", "are in neither of the two"),
    ("the rest", "what jobs without a profile did is missing from the background above"),
)


@dataclass(frozen=True)
class Coverage:
    """profiled_h, allocated_h: node-hours in each slice, [slice], NaN where withheld; None where nothing is known.
    note: what to know.
    """

    profiled_h: NDArray[np.float64] | None
    allocated_h: NDArray[np.float64] | None
    note: str = ""

    @property
    def share(self) -> float | None:
        """Of all node-hours those that were profiled, or None."""
        if self.profiled_h is None or self.allocated_h is None or not np.nansum(self.allocated_h):
            return None
        return float(np.nansum(self.profiled_h) / np.nansum(self.allocated_h))

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.profiled_h is None or self.allocated_h is None or self.share is None:
            return self.note
        return (
            f"{_hours(np.nansum(self.profiled_h))} of {_hours(np.nansum(self.allocated_h))} node-hours that the batch "
            f"system gave to jobs while this one ran were profiled ({100 * self.share:.0f} %)."
        )


def read_coverage(conn: Connection, job: JobRow) -> Coverage:
    """The coverage over the slices of a job."""
    start_ns, end_ns = job.first_slice * job.slice_ns, (job.first_slice + job.n_slices) * job.slice_ns
    runs = read_allocations(conn, job.cluster, start_ns, end_ns) if job.n_slices else None
    if runs is None:
        return Coverage(None, None, _UNKNOWN)
    edges = start_ns + np.arange(job.n_slices + 1, dtype=np.int64) * job.slice_ns
    allocated = node_seconds(edges, runs.begin_ns, runs.end_ns, runs.nodes)
    profiled = node_seconds(edges, runs.profiled_begin_ns, runs.profiled_end_ns, runs.profiled_nodes)
    others = runs_outside(conn, job.cluster, start_ns, end_ns, viewer().scope)
    hidden = too_few(others, job.first_slice, job.n_slices, job.slice_ns)
    # A step may outlive its run by the time that it takes to be told; no more can be profiled than was given.
    profiled = np.where(hidden, np.nan, np.minimum(profiled, allocated)) / 3600
    note = " ".join(
        text for text in (withheld_words() if hidden.any() else "", "" if runs.complete else _TOO_MANY) if text
    )
    return Coverage(profiled, np.where(hidden, np.nan, allocated) / 3600, note)


def coverage_plot(coverage: Coverage) -> list[Plot]:
    """The share of each slice as a plot below the background; none where it is not known."""
    if coverage.profiled_h is None or coverage.allocated_h is None or coverage.share is None:
        return []
    share = np.full(coverage.allocated_h.shape, np.nan)
    np.divide(coverage.profiled_h, coverage.allocated_h, out=share, where=coverage.allocated_h > 0)
    line = Line("profiled", "of the nodes in use", share)
    hidden = np.isnan(coverage.allocated_h)
    return [Plot("coverage", "How much of the machine was profiled", "share", (line,), "background", _HOW, 1.0, hidden)]


def node_seconds(
    edges_ns: NDArray[np.int64], begin_ns: NDArray[np.int64], end_ns: NDArray[np.int64], nodes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Seconds times nodes of intervals [begin, end) that lie between neighbouring edges, [edge - 1].

    All times from the same origin, ascending edges; begin, end, nodes: [interval]. What ran up to a moment is the sum
    of the ramps that began before it, less those that ended: no loop over slices times intervals.
    """
    origin = edges_ns[0]

    def ramps(times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        order = np.argsort(times_ns, kind="stable")
        at = (times_ns[order] - origin) / 1e9
        weight = np.concatenate(([0.0], np.cumsum(nodes[order], dtype=np.float64)))
        moment = np.concatenate(([0.0], np.cumsum(nodes[order] * at)))
        before = np.searchsorted(at, (edges_ns - origin) / 1e9, side="right")
        return weight[before] * (edges_ns - origin) / 1e9 - moment[before]

    return np.diff(ramps(begin_ns) - ramps(np.maximum(begin_ns, end_ns)))


def _hours(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
