"""Runs over time: the probe's rate in each slice, from its profile, against the signal's active phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_high

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.experiment import PhaseRun, active_share, phase_effect
from crosswind.analysis.timeline import job_rates
from crosswind.profile import FormatError, read_profile
from crosswind.profile.metrics import METRICS
from crosswind.profile.model import Profile
from crosswind.tools.experiment.measures import Beside, load_report
from crosswind.tools.experiment.records import RUNS, ProgramRecord, RunRecord
from crosswind.tools.experiment.results import Course, PhaseResult

__all__ = ["Shown", "courses_of", "phases_of"]

_NAMES = [metric.name for metric in METRICS]
_UNITS = {metric.name: metric.unit for metric in METRICS}
S_NS = 1_000_000_000


@dataclass(frozen=True)
class _Work:
    """One sort of work of a program: how much of it is done, and how long that takes."""

    what: str
    unit: str
    done: tuple[str, ...]
    time: tuple[str, ...]


def _named(begin: str, *ends: str) -> tuple[str, ...]:
    return tuple(name for name in _NAMES if name.startswith(begin) and name.endswith(ends))


_WORK = (
    _Work("bytes written", "B/s", _named("posix_", "_write_bytes"), _named("posix_", "_write_time", "_sync_time")),
    _Work("bytes read", "B/s", _named("posix_", "_read_bytes"), _named("posix_", "_read_time")),
    _Work("metadata calls", "1/s", _named("posix_", "_meta_calls"), _named("posix_", "_meta_time")),
    _Work("MPI calls", "1/s", _named("mpi_", "_calls"), _named("mpi_", "_time")),
)
_CPU = _Work("processors in use", "processors", ("cpu_time",), ("cpu_time",))
LEAST_SHARE = 0.02  # of the processes' time, for a program to be shown by something else than processors


@dataclass(frozen=True)
class Shown:
    """What the rates of a pair are of."""

    what: str
    unit: str


@dataclass(frozen=True)
class _OverTime:
    """A run: rate [slice] of the probe, NaN where it did not work for the whole slice; times UTC ns."""

    run: RunRecord
    begin_ns: int
    end_ns: int
    first_slice: int
    slice_ns: int
    rate: NDArray[np.float64]
    phases_ns: tuple[tuple[int, int], ...]

    @property
    def active(self) -> NDArray[np.float64]:
        """Share of each slice in which the signal was active, [slice]."""
        return active_share(self.phases_ns, self.first_slice, self.rate.size, self.slice_ns)

    @property
    def period(self) -> float | None:
        """Of the signal, slices; None: it was active once. Its first phase may begin late, its last end early."""
        ends = zip(*sorted(self.phases_ns), strict=True)
        steps = [step for times in ends for step in np.diff(times).tolist() if step > 0]
        return median_high(steps) / self.slice_ns if steps else None

    @property
    def is_periodic(self) -> bool:
        """Whether the signal was active several times while the probe worked, and silent in between."""
        phases = [begin for begin, end in self.phases_ns if begin < self.end_ns and end > self.begin_ns]
        return len(phases) > 1 and bool((self.active[~np.isnan(self.rate)] < 1).any())


def phases_of(directory: Path, together: Sequence[Beside], seed: int) -> PhaseResult | None:
    """What the signal's phases do to the probe over all runs; None where the signal has none or no profile tells."""
    found, shown = _read_all(directory, [(each.run, each.probe, each.signal) for each in together])
    periodic = [each for each in found if each.is_periodic]
    if not periodic or shown is None:
        return None
    effect = phase_effect([PhaseRun(each.rate, each.active, each.period) for each in periodic], seed=seed)
    return PhaseResult.model_validate({**vars(effect), "by_run": list(effect.by_run), **vars(shown)})


def courses_of(
    directory: Path, together: Sequence[Beside], alone: Sequence[tuple[RunRecord, ProgramRecord]]
) -> tuple[Course | None, Course | None]:
    """The run together and the run alone that took the median time, in the same unit; None where no profile tells."""
    beside, shown = _read_all(directory, [(each.run, each.probe, each.signal) for each in together])
    by_itself, _ = _read_all(directory, [(run, probe, None) for run, probe in alone], shown)
    return _typical(beside), _typical(by_itself)


def _typical(runs: Sequence[_OverTime]) -> Course | None:
    if not runs:
        return None
    ordered = sorted(runs, key=lambda each: each.end_ns - each.begin_ns)
    return _course(ordered[(len(ordered) - 1) // 2])


def _course(each: _OverTime) -> Course:
    def since(ns: int) -> float:
        return round((ns - each.begin_ns) / S_NS, 4)

    return Course(
        key=each.run.key,
        begin_s=since(each.first_slice * each.slice_ns),
        slice_s=each.slice_ns / S_NS,
        end_s=since(each.end_ns),
        rate=[None if np.isnan(value) else float(f"{value:.5g}") for value in each.rate],
        phases_s=[
            (since(begin), since(end)) for begin, end in each.phases_ns if end > each.begin_ns and begin < each.end_ns
        ],
    )


_Programs = tuple[RunRecord, ProgramRecord, ProgramRecord | None]  # run, probe, signal


def _read_all(
    directory: Path, runs: Sequence[_Programs], shown: Shown | None = None
) -> tuple[list[_OverTime], Shown | None]:
    """Those runs that have a profile; what is shown of all of them: what takes most of their time, if not given."""
    read = [(each, profile) for each in runs if (profile := _profile(directory, each[0], each[1])) is not None]
    work = _work_of([profile for _, profile in read], shown)
    if work is None:
        return [], None
    return [_over_time(each, profile, work) for each, profile in read], Shown(work.what, work.unit)


def _profile(directory: Path, run: RunRecord, probe: ProgramRecord) -> Profile | None:
    folder = (directory / RUNS / run.key).resolve()
    path = (folder / (probe.profile or "")).resolve()
    try:
        return read_profile(path) if probe.profile and path.is_relative_to(folder) else None
    except (FormatError, OSError):
        return None


def _work_of(profiles: Sequence[Profile], shown: Shown | None) -> _Work | None:
    if not profiles:
        return None
    if shown is not None:
        return next(work for work in (*_WORK, _CPU) if work.what == shown.what)
    spent = [sum(int(_sum(profile, work.time)[:, 1:-1].sum()) for profile in profiles) for work in _WORK]
    there = sum(int(profile.covered_ns[:, 1:-1].sum()) for profile in profiles)  # without their start and end
    most = int(np.argmax(spent))
    return _WORK[most] if spent[most] > LEAST_SHARE * there else _CPU


def _sum(profile: Profile, names: Sequence[str]) -> NDArray[np.int64]:
    """Of several metrics, [process, slice]."""
    total = np.zeros(profile.covered_ns.shape, dtype=np.int64)
    for name in names:
        if name in profile.slices:
            total += profile.slices[name]
    return total


def _over_time(programs: _Programs, profile: Profile, work: _Work) -> _OverTime:
    run, probe, signal = programs
    own, other = load_report(probe), load_report(signal) if signal else None
    begin, end = (own.start_ns, own.end_ns) if own else (probe.begin_ns, probe.end_ns)
    rate = job_rates(
        _sum(profile, work.done), profile.covered_ns, profile.slice_ns, _UNITS[work.done[0]], "counter"
    )  # fmt: skip
    edges = (np.arange(profile.n_slices + 1, dtype=np.int64) + profile.first_slice) * profile.slice_ns
    rate[(edges[:-1] < begin) | (edges[1:] > end)] = np.nan
    phases = tuple(other.active_ns) if other else ()
    return _OverTime(run, begin, end, profile.first_slice, profile.slice_ns, rate, phases)
