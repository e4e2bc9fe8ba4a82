"""Plausible profiles with known numbers, made without any file.

Every number follows from the arguments and the seed, so a test knows what it must find: the count of a metric in a
slice is `rates[name]` per second times the slice, segments last `segment_ms` but for the planted slow ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.access import FILE_COUNTS
from crosswind.profile.metrics import ACCESS_SIZES, ACCESS_STEPS, METRICS
from crosswind.profile.model import Clock, Column, Job, Process, Profile
from crosswind.profile.segments import SegmentTable

COLUMNS = tuple(Column(m.id, m.name, m.unit, m.kind) for m in METRICS)
SLICE_NS = 4_000_000_000
FIRST_SLICE = 440_000_000  # 2025-10-09T08:53:20 UTC at 4 s slices
RSS = 300 << 20

# per process and second
LAMMPS_RATES = {
    "mpi_p2p_calls": 12_000,
    "mpi_p2p_bytes_out": 90_000_000,
    "mpi_p2p_bytes_in": 90_000_000,
    "mpi_p2p_time": 30_000_000,
    "mpi_wait_calls": 6_000,
    "mpi_wait_time": 60_000_000,
    "mpi_coll_all_to_all_calls": 50,
    "mpi_coll_all_to_all_bytes_out": 2_400,
    "mpi_coll_all_to_all_bytes_in": 2_400,
    "mpi_coll_all_to_all_time": 40_000_000,
    "posix_disk_write_calls": 40,
    "posix_disk_write_bytes": 4_000_000,
    "posix_disk_write_time": 20_000_000,
    "stdio_other_write_calls": 50,
    "stdio_other_write_bytes": 4_500,
    "stdio_other_write_time": 100_000,
    "cpu_time": 990_000_000,
    "cpu_system_time": 20_000_000,
    "run_delay": 2_000_000,
    "hw_instructions": 3_000_000_000,
    "rss": RSS,
    "threads": 1,
    "threads_busy": 1_000,
}
WRITER_RATES = {
    "posix_disk_write_calls": 48,
    "posix_disk_write_bytes": 50_000_000,
    "posix_disk_write_time": 800_000_000,
    "posix_disk_sync_calls": 2,
    "posix_disk_sync_time": 150_000_000,
    "posix_disk_meta_calls": 4,
    "posix_disk_meta_time": 1_000_000,
    "storage_write_bytes": 50_000_000,
    "cpu_time": 60_000_000,
    "rss": 20 << 20,
    "threads": 1,
    "threads_busy": 1_000,
}
# name: calls, bytes out, bytes in, ns; per process and second
LAMMPS_FUNCTIONS = {
    "MPI_Send": (12_000, 90_000_000, 90_000_000, 30_000_000),
    "MPI_Wait": (6_000, 0, 0, 60_000_000),
    "MPI_Allreduce": (50, 2_400, 2_400, 40_000_000),
    "write": (40, 4_000_000, 0, 20_000_000),
    "fprintf": (50, 4_500, 0, 100_000),
}
WRITER_FUNCTIONS = {
    "write": (48, 50_000_000, 0, 800_000_000),
    "fsync": (2, 0, 0, 150_000_000),
    "open": (4, 0, 0, 1_000_000),
}
# per process: a file of its own written in a row, and one read by all
ACCESS = {
    "steps_disk_posix_write": {"first": 2, "next": 95, "back": 1, "ahead": 2},
    "sizes_disk_posix_write": {0: 1, 7: 3, 17: 97},
    "steps_net_posix_read": {"first": 30, "next": 0, "back": 3, "ahead": 7, "strided": 6},
    "sizes_net_posix_read": {13: 40},
    "files_disk": {"own_written": 2},
    "files_net": {"shared_read": 30},
}
GAUGES = {m.name for m in METRICS if m.kind == "gauge"}


def make_profile(
    *,
    job_id: str = "1001",
    step: str = "0",
    user: str = "alice",
    uid: int = 1000,
    command: str = "lmp",
    hosts: Sequence[str] = ("node01",),
    n_ranks: int = 2,
    n_slices: int = 15,
    first_slice: int = FIRST_SLICE,
    slice_ns: int = SLICE_NS,
    rates: Mapping[str, float] | None = None,
    functions: Mapping[str, tuple[float, float, float, float]] | None = None,
    factor: Mapping[int, float] | Sequence[float] | None = None,
    jitter: float = 0.0,
    mpi: str = "openmpi",
    n_segments: int = 0,
    segment_ms: float = 20.0,
    slow_segments: Mapping[int, float] | None = None,
    killed_rank: int | None = None,
    instructions: bool = True,
    seed: int = 1,
) -> Profile:
    """A profile of `n_ranks` processes over `n_slices` whole slices.

    rates: per metric, units per process and second (gauges: the value); default LAMMPS-like. factor: multiplies every
    counter but CPU time in a slice, by slice number from 0 (dents < 1, peaks > 1). jitter: relative standard deviation
    of each value. mpi: empty for a program without MPI (ranks then are plain processes). n_segments > 0 adds segments
    of `segment_ms`; slow_segments {number: extra ms} lengthens some. killed_rank ends in the middle, killed.
    """
    rng = np.random.default_rng(seed)
    rates = LAMMPS_RATES if rates is None else rates
    functions = (LAMMPS_FUNCTIONS if rates is LAMMPS_RATES else WRITER_FUNCTIONS) if functions is None else functions
    shape = (n_ranks, n_slices)
    covered = np.full(shape, slice_ns, dtype=np.int64)
    if killed_rank is not None:
        covered[killed_rank, n_slices // 2 :] = 0
    scale = np.ones(n_slices)
    for j, f in factor.items() if isinstance(factor, Mapping) else enumerate(factor or ()):
        scale[j] = f
    slices = {}
    for name, rate in rates.items():
        if rate == 0 or (name == "hw_instructions" and not instructions):
            continue
        noise = 1 + jitter * rng.standard_normal(shape) if jitter else np.ones(shape)
        if name in GAUGES:
            values = np.where(covered > 0, rate, 0)
        else:
            values = rate * (covered * 1e-9) * np.maximum(noise, 0) * (1 if name == "cpu_time" else scale)
        slices[name] = np.rint(values).astype(np.int64)
    seconds = (covered * scale).sum(axis=1) * 1e-9
    start, end = first_slice * slice_ns, (first_slice + n_slices) * slice_ns
    processes = tuple(
        Process(
            host=hosts[i * len(hosts) // n_ranks],
            pid=4000 + i,
            rank=i if mpi else None,
            exe=command,
            uid=uid,
            start_ns=start,
            end_ns=start + int(covered[i].sum()),
            state="killed" if i == killed_rank else "clean",
            is_mpi=bool(mpi),
        )
        for i in range(n_ranks)
    )
    return Profile(
        job=Job(job_id, step, user, uid, tuple(hosts), n_ranks if mpi else 0, start, end, command, mpi),
        processes=processes,
        columns=COLUMNS,
        slice_ns=slice_ns,
        first_slice=first_slice,
        n_slices=n_slices,
        slices=slices,
        covered_ns=covered,
        totals={n: v.max(axis=1, initial=0) if n in GAUGES else v.sum(axis=1) for n, v in slices.items()},
        functions={n: np.rint(np.outer(seconds, f)).astype(np.int64) for n, f in functions.items()},
        segments=make_segments(
            n_ranks, n_segments, start // 1000, segment_ms, slow_segments or {}, instructions=instructions, seed=seed
        )
        if n_segments
        else None,
        clock=Clock(synchronised=1.0, max_error_us=800.0, late_median_ms=0.09, late_max_ms=3.5),
        partial=np.array([i == killed_rank for i in range(n_ranks)]),
        mpi_functions=frozenset(n for n in functions if n.startswith("MPI_")),
        access=make_access(n_ranks),
    )


def make_access(n_processes: int) -> dict[str, NDArray[np.int64]]:
    """ACCESS of so many processes; the shared files are once those of the first."""
    keys = {"steps": list(ACCESS_STEPS), "sizes": list(range(ACCESS_SIZES)), "files": list(FILE_COUNTS)}
    arrays = {}
    for name, values in ACCESS.items():
        row = [values.get(key, 0) for key in keys[name.partition("_")[0]]]
        arrays[name] = np.tile(np.array(row, dtype=np.int64), (n_processes, 1))
    arrays["files_net"][0, FILE_COUNTS.index("once_read")] = ACCESS["files_net"]["shared_read"]
    return arrays


def make_lammps(**changes: object) -> Profile:
    """A LAMMPS-like job: 2 ranks, 1 minute, segments of 20 ms, a dent in slices 6 to 8."""
    return make_profile(**{"factor": {6: 0.6, 7: 0.6, 8: 0.6}, "n_segments": 3000, "jitter": 0.02} | changes)


def make_writer(**changes: object) -> Profile:
    """A job without MPI that writes at 50 MB/s in slices 6 to 8 and rests otherwise."""
    factor = [1.0 if 6 <= j <= 8 else 0.0 for j in range(15)]
    defaults = {
        "job_id": "1002", "user": "bob", "uid": 1001, "command": "writer", "n_ranks": 1, "mpi": "",
        "rates": WRITER_RATES, "factor": factor,
    }  # fmt: skip
    return make_profile(**defaults | changes)


def part_of(profile: Profile, rows: Iterable[int]) -> Profile:
    """What one node would deliver of a profile: some of its processes, and the segments of their ranks."""
    kept = list(rows)
    processes = tuple(profile.processes[i] for i in kept)
    return replace(
        profile,
        processes=processes,
        slices={n: v[kept] for n, v in profile.slices.items()},
        totals={n: v[kept] for n, v in profile.totals.items()},
        functions={n: v[kept] for n, v in profile.functions.items()},
        access={n: v[kept] for n, v in profile.access.items()},
        covered_ns=profile.covered_ns[kept],
        partial=profile.partial[kept],
        segments=ranks_of(profile.segments, {p.rank for p in processes}) if profile.segments else None,
    )


def ranks_of(table: SegmentTable, ranks: Collection[int | None]) -> SegmentTable:
    """The segments of some ranks."""
    rows = [i for i, rank in enumerate(table.ranks.tolist()) if rank in ranks]
    columns = {name: column[rows] for name, column in table.columns.items()}
    return replace(table, ranks=table.ranks[rows], columns=columns, valid=table.valid[rows])


def make_segments(
    n_ranks: int,
    n_segments: int,
    start_us: int,
    segment_ms: float,
    slow: Mapping[int, float],
    *,
    instructions: bool = True,
    noise: float = 0.002,
    seed: int = 1,
) -> SegmentTable:
    """Segments of equal work: 90 % computation, 6 % point-to-point, 4 % collective.

    `slow` adds ms to the computation of rank 0 without adding work, and the others wait for it in the collective.
    """
    rng = np.random.default_rng(seed)
    shape = (n_ranks, n_segments)
    extra = np.zeros(n_segments)
    for number, ms in slow.items():
        extra[number] = ms * 1000
    base = segment_ms * 1000
    comp = np.round(base * 0.90 * (1 + noise * np.abs(rng.standard_normal(shape))), 3)
    cpu = comp.copy()
    comp[0] = np.round(comp[0] + extra, 3)
    p2p = np.full(shape, round(base * 0.06, 3))
    end = (comp + p2p).max(axis=0) + base * 0.04
    coll = np.round(end - comp - p2p, 3)
    duration = np.round(comp + p2p + coll, 3)
    begins = start_us + np.rint(np.concatenate(([0.0], np.cumsum(end)[:-1])))
    columns = {
        "t_start_us": np.tile(begins, (n_ranks, 1)),
        "dur_us": duration,
        "comp_us": comp,
        "p2p_us": p2p,
        "io_us": np.zeros(shape),
        "coll_us": coll,
        "cpu_us": cpu,
        "instructions": np.rint(cpu * 3000) if instructions else np.zeros(shape),
        "p2p_calls": np.full(shape, 240.0),
        "p2p_bytes": np.full(shape, 3_600_000.0),
        "coll_calls": np.ones(shape),
        "coll_bytes": np.full(shape, 96.0),
        "io_calls": np.zeros(shape),
        "io_bytes": np.zeros(shape),
        "sig": np.full(shape, 0xC0FFEE, dtype=np.uint64),
    }
    return SegmentTable(
        index=np.arange(n_segments, dtype=np.int64),
        ranks=np.arange(n_ranks, dtype=np.int64),
        columns=columns,
        valid=np.ones(shape, dtype=np.bool_),
        stride=np.ones(n_segments, dtype=np.int64),
    )
