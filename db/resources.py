"""The one table that says which metric feeds which shared resource, and a job's share of a resource.

A resource is what jobs meet on. Its name is a string: the kind alone where the whole system shares it (`fs:net`,
`net`), the kind and the host where the processes of one node share it (`fs:disk@HOST`, `mem@HOST`, `cpu@HOST`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEEDS", "metrics_of", "resource_names", "rows_of", "share_of", "split"]

_MPI_TRAFFIC = ("mpi_p2p", "mpi_coll_one_to_all", "mpi_coll_all_to_one", "mpi_coll_all_to_all", "mpi_rma")


def _file_traffic(file_class: str) -> tuple[str, ...]:
    """Both layers of I/O on one class of files: no byte is counted in both. MPI-IO is left out: its system calls are
    here.
    """
    moved = [
        f"{layer}_{file_class}_{op}_{unit}"
        for layer in ("posix", "stdio")
        for op in ("read", "write")
        for unit in ("bytes", "calls")
    ]
    return (*moved, f"posix_{file_class}_sync_calls", f"posix_{file_class}_meta_calls")


# Times spent in calls are no load on a resource but its effect, so no time but CPU time is here. A job remembers which
# rows it was added under (job.fed), so that a row can be added or dropped without harm to what is already summed.
FEEDS: dict[str, tuple[str, ...]] = {
    "fs:net": _file_traffic("net"),
    "fs:disk": _file_traffic("disk"),
    "net": (
        *(f"{group}_{unit}" for group in _MPI_TRAFFIC for unit in ("bytes_out", "bytes_in", "calls")),
        *_file_traffic("sock")[:8],
    ),
    "mem": ("rss", "faults_minor", "faults_major", *_file_traffic("mem")[:8]),
    "cpu": ("cpu_time", "run_delay", "ctx_involuntary", "hw_instructions", "hw_flops", "hw_cycles"),
}
_PER_HOST = frozenset({"fs:disk", "mem", "cpu"})


def split(resource: str) -> tuple[str, str]:
    """Kind and host ("" where the whole system shares it) of a resource's name. Raises KeyError for an unknown one."""
    kind, at, host = resource.partition("@")
    if kind not in FEEDS or bool(host) != (kind in _PER_HOST) or bool(at) != bool(host):
        raise KeyError(f"no shared resource is named {resource!r}")
    return kind, host


def metrics_of(resource: str) -> tuple[str, ...]:
    """The metrics whose sums make up the load on a resource. Raises KeyError for an unknown one."""
    return FEEDS[split(resource)[0]]


def resource_names(kind: str, hosts: Sequence[str]) -> list[str]:
    """All resources of a kind on which processes on these hosts (one per process, or distinct) can meet."""
    return [f"{kind}@{host}" for host in dict.fromkeys(hosts)] if kind in _PER_HOST else [kind]


def rows_of(resource: str, hosts: Sequence[str]) -> NDArray[np.intp]:
    """Which processes use a resource: indices into hosts, the host of each process."""
    host = split(resource)[1]
    return np.array([i for i, h in enumerate(hosts) if not host or h == host], dtype=np.intp)


def share_of(resource: str, values: NDArray[np.int64], hosts: Sequence[str]) -> NDArray[np.int64]:
    """A job's own share of a resource's sum: int64 [slice] from values [process, slice] and the host of each process.

    Subtracting it from the background of the same slices leaves what all other jobs did.
    """
    return values[rows_of(resource, hosts)].sum(axis=0, dtype=np.int64)
