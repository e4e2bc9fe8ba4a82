"""What lists of jobs filter and sort by: a job step's sums, computed once, when it is loaded.

Pure: arrays in, a row of the table `job_sums` out. The arrays themselves stay where they are; a list of jobs would have
to unpack a dozen of them for each line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from crosswind.db.limits import MAX_INT
from crosswind.db.resources import FEEDS

__all__ = ["MIN_RATE_S", "OPENS", "SMALL_BYTES", "SUMS", "SUSPICIOUS_RATES", "sums_of"]

MIN_RATE_S = 60.0  # rates of a whole job are over at least this long: what a program does at its start is no storm
SMALL_BYTES = 16 * 1024  # requests below this cost a parallel file system as much as large ones
# Per second over the whole job: from here on a job is named for how it uses file systems (analysis.screening).
SUSPICIOUS_RATES = {"small requests": 1000.0, "many opens": 100.0, "metadata storm": 500.0}

OPENS = ("open", "openat", "creat", "fopen", "freopen", "MPI_File_open")

# Bytes to and from file systems that jobs share. Both layers: what stdio counts is moved by internal calls of the C
# library and not counted as system calls. Memory, pipes and sockets are no volume on a file system.
_VOLUMES: tuple[str, ...] = tuple(
    f"{layer}_{place}_{op}_bytes"
    for layer in ("posix", "stdio")
    for place in ("net", "disk")
    for op in ("read", "write")
)

# Column -> the metrics whose totals it adds up over the processes.
SUMS: dict[str, tuple[str, ...]] = {
    "cpu_ns": ("cpu_time",),
    "fs_bytes": _VOLUMES,
    "fs_requests": tuple(name.removesuffix("bytes") + "calls" for name in _VOLUMES),
    "fs_metadata_calls": tuple(f"posix_{place}_meta_calls" for place in ("net", "disk")),
    "net_fs_bytes": tuple(name for name in FEEDS["fs:net"] if name.endswith("_bytes")),
}


def sums_of(
    totals: Mapping[str, NDArray[np.int64]], functions: Mapping[str, NDArray[np.int64]], n_hosts: int
) -> dict[str, int]:
    """The row of `job_sums`, without its key. totals: metric -> [process]; functions: name -> [process, 4]."""
    sums = {column: _sum(totals[name] for name in names if name in totals) for column, names in SUMS.items()}
    opens = _sum(functions[name][:, 0] for name in OPENS if name in functions)
    return {"n_hosts": n_hosts, "opens": opens, **sums}


def _sum(arrays: Iterable[NDArray[np.int64]]) -> int:
    """Their sum, at most what a column holds: absurd counts of many processes may add up to more."""
    return min(sum(int(array.sum(dtype=object)) if array.size else 0 for array in arrays), MAX_INT)
