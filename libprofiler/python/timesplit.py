"""Where the threads' time went: MPI by kind, I/O by class of file, computation, the rest.

The times of the wrapped calls partition each thread's time, and a call that blocks over several slices is charged to
each of them as long as it lies in it. What is left of a process's thread time was spent outside calls: as far as there
is CPU time for it, it is computation, the rest is waiting that no wrapper sees (sleeping, locks, idle worker threads).

CPU time that was spent inside calls cannot be told from that outside. Computation is therefore an upper bound: exact
where calls block, and where threads are never idle outside calls; too large by as much as a thread spins in MPI while
others of its process are idle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.metrics import METRICS
from crosswind.profile.model import Profile

__all__ = ["CATEGORIES", "TIME_COLUMNS", "split_columns", "time_split"]

_CLASSES = ("net", "disk", "mem", "pipe", "sock", "other")
_MPI = ("p2p", "wait", "coll", "rma", "io", "other")
CATEGORIES: dict[str, str] = {
    "mpi_p2p": "MPI, point to point",
    "mpi_wait": "MPI, waiting for nonblocking calls",
    "mpi_coll": "MPI, collectives",
    "mpi_rma": "MPI, one-sided",
    "mpi_io": "MPI-IO",
    "mpi_other": "MPI, other",
    "io_net": "I/O, network file systems",
    "io_disk": "I/O, local disk",
    "io_mem": "I/O, memory and pseudo files",
    "io_pipe": "I/O, pipes",
    "io_sock": "I/O, sockets",
    "io_other": "I/O, terminals and devices",
    "computation": "computation",
    "idle": "outside calls, not on a processor",
}
_MPI_TIME = re.compile(rf"mpi_({'|'.join(_MPI)})(_.*)?_time")
_IO_TIME = re.compile(rf"(?:posix|stdio)_({'|'.join(_CLASSES)})_.*_time")


def time_split(profile: Profile) -> dict[str, NDArray[np.int64]]:
    """Thread time in ns by category, each int64 [process, slice]. Together they are all thread time there was.

    A process has as many threads in a slice as it had at its end, at least one.
    """
    return split_columns(profile.slices, profile.covered_ns)


def split_columns(
    columns: Mapping[str, NDArray[np.int64]], covered_ns: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """`time_split` of columns by name, [process, slice]; those of TIME_COLUMNS that are not there count as zero."""
    none = np.zeros(covered_ns.shape, dtype=np.int64)
    split = {name: none.copy() for name in CATEGORIES}
    for name, values in columns.items():
        category = _category(name)
        if category:
            split[category] += values
    calls = np.sum(list(split.values()), axis=0, dtype=np.int64)
    outside = np.maximum(covered_ns * np.maximum(columns.get("threads", none), 1) - calls, 0)
    split["computation"] = np.minimum(columns.get("cpu_time", none), outside)
    split["idle"] = outside - split["computation"]
    return split


def _category(column: str) -> str:
    """The category that a column of times belongs to; empty: none."""
    if match := _MPI_TIME.fullmatch(column):
        return f"mpi_{match[1]}"
    if match := _IO_TIME.fullmatch(column):
        return f"io_{match[1]}"
    return ""


# What `split_columns` needs.
TIME_COLUMNS = tuple(
    metric.name for metric in METRICS if _category(metric.name) or metric.name in ("threads", "cpu_time")
)
