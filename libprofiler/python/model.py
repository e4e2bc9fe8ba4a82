"""What a profile holds, as arrays. Everything above this package works on these types only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segments import SegmentTable

__all__ = ["Clock", "Column", "Job", "Process", "Profile"]


@dataclass(frozen=True)
class Column:
    """One column of the slices: stable id, name, unit, kind (``counter`` or ``gauge``)."""

    id: int
    name: str
    unit: str
    kind: str


@dataclass(frozen=True)
class Clock:
    """What the nodes' clocks looked like over the profile.

    synchronised: share of slices in which adjtimex called the clock synchronised; max_error_us: largest error it
    admitted, microseconds; late_ms: median and largest distance of a true slice end from its boundary, ms.
    """

    synchronised: float = 0.0
    max_error_us: float = 0.0
    late_median_ms: float = 0.0
    late_max_ms: float = 0.0


@dataclass(frozen=True)
class Job:
    """Who ran what, where and when. Times are UTC nanoseconds."""

    id: str
    step: str
    user: str
    uid: int
    hosts: tuple[str, ...]
    ranks: int
    start_ns: int
    end_ns: int
    command: str
    mpi: str = ""


@dataclass(frozen=True)
class Process:
    """One process image (an exec makes a new one).

    state: ``clean`` (destructors ran), ``exited`` (_exit), ``killed`` (gone without a word: SIGKILL, crash, time
    limit), ``lost`` (in databases: it ran when its node was last heard of), ``replaced`` (by exec), ``running``, or
    ``short``: a row that stands for `count` processes of one executable that each ended before they were worth a spool
    file (pid 0). rank is None outside MPI and launchers. lost: what its library had to drop, by name. counters: what
    the processor counters gave, in words. omp_num_threads: the variable as the process found it, such as ``4`` or
    ``4,2``; empty: not set.
    """

    host: str
    pid: int
    rank: int | None
    exe: str
    uid: int
    start_ns: int
    end_ns: int
    state: str
    is_mpi: bool = False
    lost: dict[str, int] = field(default_factory=dict)
    counters: str = ""
    count: int = 1
    omp_num_threads: str = ""


@dataclass(frozen=True)
class Profile:
    """One job step.

    slices: per metric name an int64 array [process, slice]; a metric that is zero everywhere may be absent.
    covered_ns: int64 [process, slice], how much of each slice the process was profiled; 0: not there.
    Slice j is the UTC interval [(first_slice + j) * slice_ns, (first_slice + j + 1) * slice_ns).
    functions: per function name an int64 array [process, 4] of calls, bytes out, bytes in, time in ns.
    totals: per metric name an int64 array [process]: the counters at the very end, which is the sum over slices.
    segments: the bulk-synchronous view over the MPI ranks, or None. lost: what the libraries of all processes had to
    drop, by name. dropped_files: spool files or parts of them that could not be read, with the reason. partial: bool
    [process], true where the last slice was never closed by the process itself (it was killed or still runs): its
    counts are exact, its end is a guess. mpi_functions: which names of `functions` are MPI's. access: per name
    (`steps_CLASS_WAY`, `sizes_CLASS_WAY`, `files_CLASS`: crosswind.profile.access) an int64 array [process, number];
    absent if zero everywhere.
    """

    job: Job
    processes: tuple[Process, ...]
    columns: tuple[Column, ...]
    slice_ns: int
    first_slice: int
    n_slices: int
    slices: dict[str, NDArray[np.int64]]
    covered_ns: NDArray[np.int64]
    totals: dict[str, NDArray[np.int64]]
    functions: dict[str, NDArray[np.int64]]
    segments: SegmentTable | None
    clock: Clock = Clock()
    lost: dict[str, int] = field(default_factory=dict)
    dropped_files: tuple[tuple[str, str], ...] = ()
    partial: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    mpi_functions: frozenset[str] = frozenset()
    access: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.partial.size != len(self.processes):
            object.__setattr__(self, "partial", np.zeros(len(self.processes), dtype=np.bool_))

    def metric(self, name: str) -> NDArray[np.int64]:
        """The [process, slice] array of a metric; zeros where the profile has none of it. KeyError: unknown metric."""
        if name in self.slices:
            return self.slices[name]
        if name not in {c.name for c in self.columns}:
            raise KeyError(f"no metric named {name!r} in this profile")
        return np.zeros((len(self.processes), self.n_slices), dtype=np.int64)

    @property
    def mpi_rows(self) -> NDArray[np.intp]:
        """Indices of the processes that called MPI_Init, ordered by rank."""
        rows = [i for i, p in enumerate(self.processes) if p.is_mpi]
        return np.array(sorted(rows, key=lambda i: self.processes[i].rank or 0), dtype=np.intp)

    @property
    def slice_starts_ns(self) -> NDArray[np.int64]:
        """UTC ns of the begin of each slice, [slice]."""
        return (np.arange(self.n_slices, dtype=np.int64) + self.first_slice) * self.slice_ns
