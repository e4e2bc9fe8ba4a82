"""What a profile may say at most. Profiles come from files that users write, so all is checked before loading."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crosswind.db.errors import RefusedProfile
from crosswind.profile.access import width_of
from crosswind.profile.model import Job, Process, Profile

__all__ = ["MAX_INT", "MAX_NS", "MAX_SLICES", "check_profile", "check_text", "refusal", "span_problem"]

MAX_NS = 60 * 86400 * 10**9
MAX_SLICES = 1 << 22
MAX_CELLS = 1 << 28  # processes times slices: 2 GiB an array
MAX_TEXT = 4096
MAX_INT = (1 << 63) - 1
FUTURE_NS = 86400 * 10**9


def check_profile(profile: Profile) -> None:
    """Raise RefusedProfile, one line that names the job and what is wrong, for a profile no honest job can have."""
    try:
        for text in _texts(profile):
            check_text(text)
        _check_hosts(profile)
        _check_times(profile)
        _check_arrays(profile)
        _check_numbers(profile)
    except RefusedProfile as error:
        raise refusal(profile.job, str(error)) from None


def refusal(job: Job, why: str) -> RefusedProfile:
    """The refusal of a job step, one line that names it."""
    name = f"{job.id}.{job.step}".encode("ascii", "backslashreplace").decode()[:80]
    return RefusedProfile(f"job {''.join(c if c.isprintable() else '?' for c in name)}: {why}")


def check_text(text: str) -> None:
    """Raise RefusedProfile for text that a database cannot hold."""
    if len(text) > MAX_TEXT:
        raise RefusedProfile(f"a text of it is longer than {MAX_TEXT} characters")
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise RefusedProfile("a text of it holds bytes that are no characters")


def span_problem(n_slices: int, slice_ns: int) -> str:
    """Why slices reach further than those of any job that is loaded; empty where they do not."""
    if n_slices <= MAX_SLICES and n_slices * slice_ns <= MAX_NS:
        return ""
    most = f"at most {MAX_SLICES} and {MAX_NS // 86400 // 10**9} days are loaded"
    return f"it spans {n_slices} slices of {slice_ns * 1e-9:g} s; {most}"


def _texts(profile: Profile) -> Iterator[str]:
    job = profile.job
    yield from (job.id, job.step, job.user, job.command, job.mpi, *job.hosts)
    for process in profile.processes:
        yield from (process.host, process.exe, process.state, process.counters, process.omp_num_threads, *process.lost)
    for column in profile.columns:
        yield from (column.name, column.unit, column.kind)
    for path, reason in profile.dropped_files:
        yield from (path, reason)
    yield from (*profile.functions, *profile.lost)
    if profile.segments is not None:
        yield from (*profile.segments.places, *profile.segments.call_sites)


def _check_hosts(profile: Profile) -> None:
    if not all((*profile.job.hosts, *(process.host for process in profile.processes))):
        raise RefusedProfile("a process of it names no host")


def _check_times(profile: Profile) -> None:
    length, n = profile.slice_ns, profile.n_slices
    if not 0 < length <= MAX_NS or n < 0 or profile.first_slice < 0:
        raise RefusedProfile("its slices have no possible length or number")
    if problem := span_problem(n, length):
        raise RefusedProfile(problem)
    latest = time.time_ns() + FUTURE_NS
    if (profile.first_slice + n) * length > latest:
        raise RefusedProfile("its slices lie more than a day in the future: check the clocks of its nodes")
    parts: list[Job | Process] = [profile.job, *profile.processes]
    for part in parts:
        if max(part.start_ns, part.end_ns) > latest:
            raise RefusedProfile("it begins or ends more than a day in the future: check the clocks of its nodes")
        if part.end_ns - part.start_ns > MAX_NS:
            raise RefusedProfile(f"it lasts more than the {MAX_NS // 86400 // 10**9} days that are loaded")


def _check_arrays(profile: Profile) -> None:
    grid = (len(profile.processes), profile.n_slices)
    if not profile.processes:
        raise RefusedProfile("it has no process")
    if math.prod(grid) > MAX_CELLS:
        raise RefusedProfile(
            f"{grid[0]} processes times {grid[1]} slices are more than {MAX_CELLS} and cannot be loaded"
        )
    names = {c.name for c in profile.columns}
    if len(names) != len(profile.columns):
        raise RefusedProfile("a metric is there twice")
    if not profile.slices.keys() | profile.totals.keys() <= names:
        raise RefusedProfile("it holds values of a metric that it does not describe")
    _check_array("covered_ns", profile.covered_ns, grid)
    for name, values in profile.slices.items():
        _check_array(name, values, grid)
    for name, values in profile.totals.items():
        _check_array(name, values, grid[:1])
    for name, values in profile.functions.items():
        _check_array(name, values, (grid[0], 4))
    for name, values in profile.access.items():
        _check_array(name, values, (grid[0], width_of(name) or -1))
    table = profile.segments
    if table is not None and {a.shape for a in (table.valid, *table.columns.values())} != {
        (table.n_ranks, table.n_segments)
    }:
        raise RefusedProfile("the columns of its segments have different shapes")


def _check_array(name: str, values: NDArray[np.int64], shape: tuple[int, ...]) -> None:
    if values.dtype != np.int64 or values.shape != shape:
        raise RefusedProfile(f"its {name} is an array of {values.dtype} {values.shape}, not of int64 {shape}")
    if int(values.min(initial=0)) < 0:
        raise RefusedProfile(f"its {name} is negative somewhere")


def _check_numbers(profile: Profile) -> None:
    job = profile.job
    numbers = [job.uid, job.ranks, job.start_ns, job.end_ns, *profile.lost.values()]
    for p in profile.processes:
        numbers += [p.pid, p.uid, p.start_ns, p.end_ns, p.rank or 0, *p.lost.values()]
    numbers += [c.id for c in profile.columns]
    if any(not 0 <= n <= MAX_INT for n in numbers):
        raise RefusedProfile("a number of it is negative or too large")
    clock = profile.clock
    floats = (clock.synchronised, clock.max_error_us, clock.late_median_ms, clock.late_max_ms)
    if not all(math.isfinite(x) for x in floats):
        raise RefusedProfile("its clock's figures are no numbers")
