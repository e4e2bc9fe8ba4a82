"""What counts as a load on each kind of shared resource, and what a victim without an estimate is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.derived import series_named
from crosswind.analysis.lookup.suspects import Suspect

__all__ = [
    "LOADS", "PROGRESS", "Load", "metrics_of_loads", "progress_loss", "shortfall", "suspects_of",
]  # fmt: skip


K = TypeVar("K")


@dataclass(frozen=True)
class Load:
    """One way to load a resource: a sum of counters. title: for people, after the job's name."""

    title: str
    metrics: tuple[str, ...]
    unit: str = "B/s"


def _files(place: str) -> tuple[Load, ...]:
    """Both layers of I/O: no byte is counted in both."""
    layers = ("posix", "stdio")
    return (
        Load("bytes written", tuple(f"{layer}_{place}_write_bytes" for layer in layers)),
        Load("bytes read", tuple(f"{layer}_{place}_read_bytes" for layer in layers)),
        Load("metadata calls", (f"posix_{place}_meta_calls",), "1/s"),
        Load("flushes to disk", (f"posix_{place}_sync_calls",), "1/s"),
    )


_SENT = ("mpi_p2p", "mpi_coll_one_to_all", "mpi_coll_all_to_one", "mpi_coll_all_to_all", "mpi_rma")
_TRAFFIC = (Load("bytes sent by MPI", tuple(f"{group}_bytes_out" for group in _SENT)),)
LOADS: dict[str, tuple[Load, ...]] = {
    "fs:net": _files("net"),
    "fs:disk": _files("disk"),
    "net": _TRAFFIC,
    "net:switch": _TRAFFIC,
    "mem": (Load("page faults with I/O", ("faults_major",), "1/s"),),
    "cpu": (Load("processors in use", ("cpu_time",), "processors"),),
}
PROGRESS = ("coll_calls", "p2p_calls", "write_net", "write_disk", "read_net", "read_disk")
_PRESENT = 0.5  # of the slices in which a series must move to tell progress


def metrics_of_loads() -> dict[str, tuple[str, ...]]:
    """Kind of resource -> the metrics that `suspects_of` uses there."""
    return {kind: tuple(m for load in loads for m in load.metrics) for kind, loads in LOADS.items()}


def suspects_of(
    key: K, resource: str, kind: str, values: Mapping[str, NDArray[np.int64]], running: tuple[int, int]
) -> Iterable[Suspect[tuple[K, Load]]]:
    """The suspects that one job is on one resource; values: metric -> [slice]. `Suspect.key` is (key, Load).

    running: [begin, end) of the slices in which the job ran. In the others its load is unknown, not 0: that a job and a
    loss begin or end at the same time is one coincidence, and would look like hundreds of slices that agree.
    """
    begin, end = running
    for load in LOADS[kind]:
        parts = [values[metric] for metric in load.metrics if metric in values]
        if parts:
            total: NDArray[np.float64] = np.sum(parts, axis=0, dtype=np.float64)
            total[: max(begin, 0)] = total[max(end, 0) :] = np.nan
            yield Suspect((key, load), resource, total)


def progress_loss(totals: Mapping[str, NDArray[np.float64]]) -> tuple[str, NDArray[np.float64]] | None:
    """How far a job without an estimate fell short: the title of the series that tells its progress, and [slice].

    totals: of the series of PROGRESS those that the job has, [slice]. The first and last slice are left out: they are
    partial. None: no series moves in most of the slices.
    """
    for name in PROGRESS:
        if name not in totals:
            continue
        rate = totals[name].astype(np.float64)
        rate[[0, -1]] = np.nan
        there = rate[~np.isnan(rate)]
        if there.size and np.mean(there > 0) > _PRESENT:
            return series_named(name).title, shortfall(rate)
    return None


def shortfall(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a rate [slice] is below its median, in parts of it: negative above, 1 where nothing moved, NaN in gaps.

    Not about a running level: that would hide what lasts longer than its window.
    """
    there = rate[~np.isnan(rate)]
    level = float(np.median(there)) if there.size else 0.0
    return 1 - rate / level if level > 0 else np.where(np.isnan(rate), np.nan, 0.0)
