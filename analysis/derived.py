"""The series that a page shows, each as one row: which metrics make it, and how.

The POSIX and the stdio layer are never added up: glibc's stdio ends in system calls of which the lower layer sees some
and not others, so a sum would count some bytes twice. Each layer has series of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis import timeline
from crosswind.profile.metrics import METRICS

__all__ = ["SERIES", "Reduction", "Series", "available", "job_series", "process_series", "series_named"]

_METRICS = {metric.name: metric for metric in METRICS}
_CLASSES = {
    "net": "network file systems",
    "disk": "local disk",
    "mem": "memory and pseudo files",
    "pipe": "pipes",
    "sock": "sockets",
}
_FILE_CLASSES = ("net", "disk", "mem", "other")


class Reduction(Enum):
    """How the processes of a job make one series."""

    SHARE = "share"  # of the processes' wall time: the mean over processes, weighed by their presence
    TOTAL = "total"  # summed over processes, per second; times become processors, gauges a level


@dataclass(frozen=True)
class Series:
    """One series of a page: a sum of metrics of one unit and kind.

    panel: series with the same panel share axes. name: stable, for addresses and the API.
    """

    name: str
    title: str
    panel: str
    reduction: Reduction
    metrics: tuple[str, ...]

    @property
    def kind(self) -> str:
        """``counter`` or ``gauge``, that of its metrics."""
        return _METRICS[self.metrics[0]].kind

    @property
    def metric_unit(self) -> str:
        """Unit of its metrics."""
        return _METRICS[self.metrics[0]].unit

    @property
    def unit(self) -> str:
        """Unit of `job_series`: ``B/s``, ``1/s``, ``share``, ``processors``, or that of a gauge."""
        if self.metric_unit == "ns" and self.reduction is Reduction.TOTAL:
            return "processors"
        return timeline.rate_unit(self.metric_unit, self.kind)


def _mpi_times(*groups: str) -> tuple[str, ...]:
    return tuple(f"mpi_{group}_time" for group in groups)


def _collectives(field: str) -> tuple[str, ...]:
    return tuple(f"mpi_coll_{form}_{field}" for form in ("one_to_all", "all_to_one", "all_to_all"))


def _io_times(layer: str) -> tuple[str, ...]:
    ops = ("read", "write", "sync", "meta", "local", "map") if layer == "posix" else ("read", "write")
    return tuple(f"{layer}_{c}_{op}_time" for c in _FILE_CLASSES for op in ops)


def _share(name: str, title: str, metrics: tuple[str, ...]) -> Series:
    return Series(name, title, "time", Reduction.SHARE, metrics)


def _total(name: str, title: str, panel: str, *metrics: str) -> Series:
    return Series(name, title, panel, Reduction.TOTAL, metrics)


def _io_rates() -> Iterable[Series]:
    """Byte rates per class of file, direction and layer."""
    for c, place in _CLASSES.items():
        for op in ("read", "write"):
            yield _total(f"{op}_{c}", f"{op} rate, {place}", f"io_{c}", f"posix_{c}_{op}_bytes")
            yield _total(f"stdio_{op}_{c}", f"{op} rate through stdio, {place}", f"io_{c}", f"stdio_{c}_{op}_bytes")


SERIES: tuple[Series, ...] = (
    _share("mpi_share", "time in MPI", _mpi_times(
        "p2p", "wait", "coll_one_to_all", "coll_all_to_one", "coll_all_to_all", "rma", "other")),
    _share("p2p_share", "time in point-to-point communication", _mpi_times("p2p", "wait")),
    _share("coll_share", "time in collectives", _collectives("time")),
    _share("mpiio_share", "time in MPI-IO", _mpi_times("io")),
    _share("posix_io_share", "time in file I/O, system calls", _io_times("posix")),
    _share("stdio_io_share", "time in file I/O, stdio", _io_times("stdio")),
    _total("cpu", "processors in use", "cpu", "cpu_time"),
    _total("run_delay", "threads waiting for a processor", "cpu", "run_delay"),
    _total("threads_busy", "threads at work", "threads", "threads_busy"),
    _total("p2p_bytes", "point-to-point bytes sent", "mpi_bytes", "mpi_p2p_bytes_out"),
    _total("coll_bytes", "bytes given to collectives", "mpi_bytes", *_collectives("bytes_out")),
    _total("p2p_calls", "point-to-point calls", "mpi_calls", "mpi_p2p_calls"),
    _total("coll_calls", "collective calls", "mpi_calls", *_collectives("calls")),
    *_io_rates(),
    _total("mpiio_read", "MPI-IO read rate", "mpiio", "mpi_io_bytes_in"),
    _total("mpiio_write", "MPI-IO write rate", "mpiio", "mpi_io_bytes_out"),
    _total("metadata", "metadata calls (open, close, stat, ...)", "metadata",
           *(f"posix_{c}_meta_calls" for c in _FILE_CLASSES)),
    _total("instructions", "instructions", "counters", "hw_instructions"),
    _total("flops", "floating-point operations", "counters", "hw_flops"),
    _total("page_faults", "page faults with I/O", "memory_faults", "faults_major"),
    _total("memory", "resident memory", "memory", "rss"),
)  # fmt: skip


def series_named(name: str) -> Series:
    """The series of that name. KeyError: there is none."""
    for series in SERIES:
        if series.name == name:
            return series
    raise KeyError(f"no series named {name!r}")


def available(frames: Mapping[str, NDArray[np.int64]]) -> list[Series]:
    """The series for which the frames (metric name -> [process, slice]) hold anything but zeros, in page order."""
    alive = {name for name, values in frames.items() if np.any(values)}
    return [series for series in SERIES if alive.intersection(series.metrics)]


def process_series(
    series: Series, frames: Mapping[str, NDArray[np.int64]], covered_ns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The series of each process, [process, slice], NaN where it was not there; unit as `timeline.rates` gives it."""
    return timeline.rates(_sum(series, frames, covered_ns), covered_ns, series.metric_unit, series.kind)


def job_series(
    series: Series,
    frames: Mapping[str, NDArray[np.int64]],
    covered_ns: NDArray[np.int64],
    slice_ns: int,
    cut: timeline.Cut = timeline.WHOLE,
) -> NDArray[np.float64]:
    """The series of the whole job, [slice], in ``series.unit``; NaN where the job was not there.

    frames: metric name -> int64 [process, slice]; a metric that is not there counts as zero.
    covered_ns: [process, slice]. cut: whether the job goes on beyond these slices.
    """
    values = _sum(series, frames, covered_ns)
    if series.reduction is Reduction.TOTAL:
        return timeline.job_rates(values, covered_ns, slice_ns, series.metric_unit, series.kind, cut)
    together = np.where(covered_ns > 0, values, 0).sum(axis=0, keepdims=True)
    return timeline.rates(together, covered_ns.sum(axis=0, keepdims=True), series.metric_unit, series.kind)[0]


def _sum(series: Series, frames: Mapping[str, NDArray[np.int64]], covered_ns: NDArray) -> NDArray[np.int64]:
    """Sum of the metrics of a series, [process, slice]."""
    total = np.zeros(covered_ns.shape, dtype=np.int64)
    for name in series.metrics:
        if name in frames:
            total += frames[name]
    return total
