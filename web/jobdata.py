"""What the pages and the API need of one job, read once: its frames, the background beside it, what it lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis import SERIES, Estimate, Reduction, Series, estimate, job_series, lost_per_slice
from crosswind.db import queries, resources
from crosswind.db.queries import JobRow

__all__ = ["Background", "JobFrames", "Loss", "read_background", "read_frames", "read_loss"]

_SERIES_METRICS = tuple(dict.fromkeys(metric for series in SERIES for metric in series.metrics))


@dataclass(frozen=True)
class JobFrames:
    """A job's slices. frames: metric -> int64 [process, slice]; covered_ns: [process, slice]; ranks: bool [process]."""

    frames: dict[str, NDArray[np.int64]]
    covered_ns: NDArray[np.int64]
    hosts: tuple[str, ...]
    ranks: NDArray[np.bool_]

    @property
    def workers(self) -> JobFrames:
        """The ranks alone, without the launcher beside them; everything where there are no ranks."""
        rows = self.ranks if self.ranks.any() else ~self.ranks
        hosts = tuple(host for host, kept in zip(self.hosts, rows, strict=True) if kept)
        frames = {name: values[rows] for name, values in self.frames.items()}
        return JobFrames(frames, self.covered_ns[rows], hosts, self.ranks[rows])

    def series(self, series: Series, slice_ns: int) -> NDArray[np.float64]:
        """A series of the whole job, [slice], in its unit: shares are of the workers, totals of all processes."""
        rows = self.workers if series.reduction is Reduction.SHARE else self
        return job_series(series, rows.frames, rows.covered_ns, slice_ns)


@dataclass(frozen=True)
class Background:
    """The load on one kind of shared resource over the hosts of a job.

    kind: as in crosswind.db.resources. names: the resources that were added up. total, own: for each metric of the kind
    that a series shows int64 [slice], of all jobs and of this job alone.
    """

    kind: str
    names: tuple[str, ...]
    total: dict[str, NDArray[np.int64]]
    own: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Loss:
    """The estimate of a job, and the seconds lost in each slice [slice]; or why there is none."""

    estimate: Estimate | None
    per_slice_s: NDArray[np.float64] | None
    why_not: str = ""


def read_frames(conn: Connection, job: JobRow, metrics: Collection[str] = _SERIES_METRICS) -> JobFrames:
    """The job's frames of these metrics; those that are zero everywhere are left out."""
    frames = {name: frame.values for name, frame in queries.get_frames(conn, job.key, metrics=list(metrics)).items()}
    processes = queries.get_processes(conn, job.key)
    covered = queries.get_covered(conn, job.key)
    return JobFrames(
        frames=frames,
        covered_ns=np.zeros((len(processes), job.n_slices), dtype=np.int64) if covered is None else covered,
        hosts=tuple(process.host for process in processes),
        ranks=np.array([process.rank is not None for process in processes], dtype=np.bool_),
    )


def read_background(conn: Connection, job: JobRow, own: JobFrames) -> list[Background]:
    """The background of every kind of resource that the job used, over the job's slices."""
    used: dict[str, list[str]] = {kind: [] for kind in resources.FEEDS}
    for name in queries.resources_of_job(conn, job.key):
        used[resources.split(name)[0]].append(name)
    return [_of_kind(conn, job, own, kind, names) for kind, names in used.items() if names]


def read_loss(conn: Connection, job: JobRow) -> Loss:
    """When the job lost time. The segments are clustered anew: what is stored with the job has no times."""
    table = queries.get_segments(conn, job.key)
    if table is None or table.n_segments == 0:
        return Loss(None, None, "The run has no segments between global collectives, so there is nothing to compare.")
    try:
        found = estimate(table)
        return Loss(found, lost_per_slice(table, found, job.slice_ns, job.first_slice, job.n_slices))
    except ValueError as error:
        return Loss(None, None, f"The segments of this run cannot be judged: {error}.")


def _of_kind(conn: Connection, job: JobRow, own: JobFrames, kind: str, names: Sequence[str]) -> Background:
    metrics = [metric for metric in resources.metrics_of(names[0]) if metric in _SERIES_METRICS]
    found = queries.get_background(conn, names, metrics, job.first_slice, job.n_slices, job.slice_ns)
    total = {metric: np.sum([found[name, metric] for name in names], axis=0) for metric in metrics}
    none = np.zeros_like(own.covered_ns)
    own_share = {
        metric: np.sum([resources.share_of(name, own.frames.get(metric, none), own.hosts) for name in names], axis=0)
        for metric in metrics
    }
    return Background(kind, tuple(names), total, own_share)
