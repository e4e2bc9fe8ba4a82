"""What the pages and the API need of one job, read once: its frames, the background beside it, what it lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis import SERIES
from crosswind.analysis.series_bands import VERSION, SeriesBands, series_bands, zero_row
from crosswind.analysis.timeline import WHOLE, Cut
from crosswind.db import DatabaseError, details, queries, resources, topology
from crosswind.db.evaluation import LostTime
from crosswind.db.frames import each_frame
from crosswind.db.queries import JobRow
from crosswind.web.identity.privacy import withheld_slices

__all__ = [
    "Background", "JobFrames", "Loss", "SeriesBands", "parts_of", "read_background", "read_frames", "read_loss",
    "read_series",
]  # fmt: skip

_NO_SEGMENTS = (
    "The run has no segments: its ranks meet nowhere in step, neither in a collective of all of them nor at a call "
    "site that they pass again and again, so there is nothing to compare."
)
_NOT_STORED = "When time was lost is not stored with this job: crosswind collect --estimate-again finds it."
_DAMAGED = "What is stored of lost time is damaged: crosswind collect --estimate-again finds it anew."
MOST_VALUES = 8 << 20  # of frames in memory at once: 64 MB
_SERIES_METRICS = tuple(dict.fromkeys(metric for series in SERIES for metric in series.metrics))


@dataclass(frozen=True)
class JobFrames:
    """Slices of a job. frames: metric -> int64 [process, slice]; covered_ns: [process, slice]; ranks: bool [process].
    cut: whether the job goes on before, and behind, these slices.
    """

    frames: dict[str, NDArray[np.int64]]
    covered_ns: NDArray[np.int64]
    hosts: tuple[str, ...]
    ranks: NDArray[np.bool_]
    cut: Cut = WHOLE


@dataclass(frozen=True)
class Background:
    """The load on one kind of shared resource over the hosts of a job.

    kind: as in crosswind.db.resources. names: the resources that were added up. total, own: for each metric of the kind
    that a series shows int64 [slice], of all jobs and of this job alone. withheld: bool [slice], where the others are
    too few for the viewer to see them; total is own there.
    """

    kind: str
    names: tuple[str, ...]
    total: dict[str, NDArray[np.int64]]
    own: dict[str, NDArray[np.int64]]
    withheld: NDArray[np.bool_]


@dataclass(frozen=True)
class Loss:
    """When a job lost time, and the seconds lost in each of its slices, [slice]; or why that is not known."""

    time: LostTime | None
    per_slice_s: NDArray[np.float64] | None
    why_not: str = ""


def read_frames(
    conn: Connection,
    job: JobRow,
    metrics: Collection[str] = _SERIES_METRICS,
    *,
    first: int = 0,
    n: int | None = None,
) -> JobFrames:
    """The job's frames of these metrics, without those that are zero in the whole job. first, n: only these slices,
    counted from the job's first.
    """
    found = queries.get_frames(conn, job.key, metrics=list(metrics), first=first, n=n)
    processes = queries.get_processes(conn, job.key)
    begin, end = queries.slice_range(job.n_slices, first, n)
    covered = queries.get_covered(conn, job.key, first, n)
    return JobFrames(
        frames={name: frame.values for name, frame in found.items()},
        covered_ns=np.zeros((len(processes), end - begin), dtype=np.int64) if covered is None else covered,
        hosts=tuple(process.host for process in processes),
        ranks=np.array([process.rank is not None for process in processes], dtype=np.bool_),
        cut=(begin > 0, end < job.n_slices),
    )


def read_series(
    conn: Connection, job: JobRow, *, first: int = 0, n: int | None = None, names: Collection[str] | None = None
) -> dict[str, SeriesBands]:
    """The series of a job over some of its slices, in page order: those of `names` (default: all) that are not zero in
    the whole job. first, n: slices, counted from the job's first; default: all. Empty for a job whose slices were
    pruned. In single precision where they were stored when the job was loaded.
    """
    wanted = [series for series in SERIES if names is None or series.name in names]
    stored = queries.get_series(conn, job.key, VERSION, {s.name: zero_row(s) for s in wanted}, first, n)
    if stored is not None:
        return {s.name: SeriesBands(*stored.values[s.name]) for s in wanted if s.name in stored.alive}
    metrics = {metric for series in wanted for metric in series.metrics}
    found: dict[str, list[SeriesBands]] = {}
    for at, length in parts_of(job, first, n, len(metrics)):
        data = read_frames(conn, job, metrics, first=at, n=length)
        for series in wanted:
            if not data.frames.keys().isdisjoint(series.metrics):
                bands = series_bands(series, data.frames, data.covered_ns, data.ranks, job.slice_ns, data.cut)
                found.setdefault(series.name, []).append(bands)
    return {name: _joined(bands) for name, bands in found.items()}


def _joined(parts: Sequence[SeriesBands]) -> SeriesBands:
    """Parts of a series, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return SeriesBands(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(SeriesBands)))


def parts_of(job: JobRow, first: int, n: int | None, n_metrics: int, multiple: int = 1) -> Iterator[tuple[int, int]]:
    """Slices of a job, counted from its first, in parts of which so many metrics fit into memory: first and number.
    multiple: of which the number is one, but for the last part. No slices are one part.
    """
    begin, end = queries.slice_range(job.n_slices, first, n)
    most = MOST_VALUES // max(job.n_processes * n_metrics, 1)
    width = max(most // multiple, 1) * multiple
    for at in range(begin, max(end, begin + 1), width):
        yield at, min(width, end - at)


def read_background(
    conn: Connection, job: JobRow, *, kinds: Collection[str] = tuple(resources.FEEDS)
) -> list[Background]:
    """The background of every kind of resource that the job used, over the job's slices. None of a job whose slices
    were pruned: its own share, which is in the sums, is not known any more. kinds: of resources, those to read.
    """
    if not job.detail:
        return []
    used: dict[str, list[str]] = {kind: [] for kind in resources.FEEDS}
    for name in queries.resources_of_job(conn, job.key):
        used[resources.split(name)[0]].append(name)
    hosts = tuple(process.host for process in queries.get_processes(conn, job.key))
    wanted = [name for kind in kinds for name in used.get(kind, ())]
    shared = queries.shared_names(conn, job, wanted) if wanted else frozenset()
    beside = _Beside(conn, job, hosts, topology.place_of_job(conn, job.key, hosts), shared)
    return [beside.background(kind, names) for kind, names in used.items() if names and kind in kinds]


def read_loss(conn: Connection, job: JobRow) -> Loss:
    """When the job lost time, as it was found when it was loaded."""
    try:
        time = details.get_lost_time(conn, job.key)
    except DatabaseError:
        return Loss(None, None, _DAMAGED)
    if time is not None:
        return Loss(time, time.in_slices(job.first_slice, job.n_slices) / 1e9)
    if not details.has_segments(conn, job.key):
        return Loss(None, None, _NO_SEGMENTS)
    return Loss(None, None, _NOT_STORED)


@dataclass(frozen=True)
class _Beside:
    """Reads the background beside one job. hosts: of each process. shared: resources that others used, too."""

    conn: Connection
    job: JobRow
    hosts: tuple[str, ...]
    place: resources.Place
    shared: frozenset[str]

    def background(self, kind: str, names: Sequence[str]) -> Background:
        """That of the resources of one kind; where a slice is withheld it is the job's own share."""
        metrics = [metric for metric in resources.metrics_of(names[0]) if metric in _SERIES_METRICS]
        own = self.share(metrics, resources.rows_of_kind(kind, self.hosts, self.place))
        total = self.total(names, own)
        withheld = withheld_slices(self.conn, names, self.job.first_slice, self.job.n_slices, self.job.slice_ns)
        shown = {metric: np.where(withheld, own[metric], values) for metric, values in total.items()}
        return Background(kind, tuple(names), shown, own, withheld)

    def total(self, names: Sequence[str], own: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        """What all jobs did on these resources together, metric -> int64 [slice]. own: what this job did there.

        Where nobody else was, the sum is this job's own: of a wide job only the few nodes that it shared are read.
        """
        shared = sorted(self.shared.intersection(names))
        if not shared:
            return own
        span = (self.job.first_slice, self.job.n_slices, self.job.slice_ns)
        total = queries.get_background_sum(self.conn, shared, own, *span)
        if len(shared) == len(names):
            return total
        there = self.share(own, resources.rows_of_any(shared, self.hosts, self.place))
        return {metric: values - there[metric] + own[metric] for metric, values in total.items()}

    def share(self, metrics: Collection[str], rows: NDArray[np.intp]) -> dict[str, NDArray[np.int64]]:
        """What the processes of these rows did, metric -> int64 [slice]. No process uses two resources of a kind, so
        this is the job's share of all of them together.
        """
        whole = rows.size == len(self.hosts)
        sums = queries.get_sums(self.conn, self.job.key, metrics) if whole else None
        if sums is None:  # one metric at a time in memory
            frames = each_frame(self.conn, self.job.key, metrics, rows=rows)
            sums = {metric: values.sum(axis=0, dtype=np.int64) for metric, values in frames}
        none = np.zeros(self.job.n_slices, dtype=np.int64)
        return {metric: sums.get(metric, none) for metric in metrics}
