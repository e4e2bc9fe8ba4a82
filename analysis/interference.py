"""The interference estimate of one run: the front of the methods.

A method is a function SegmentFeatures -> Detection in a file of its own, entered in METHODS. What all methods share is
here: the sums, the verdict, the cautions that hold for any method.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis import robust, thesis
from crosswind.analysis.by_rank import middle_estimate, rank_tables
from crosswind.analysis.cautions import general_cautions, run_delay_cautions
from crosswind.analysis.errors import InputError
from crosswind.analysis.features import SegmentFeatures, segment_features
from crosswind.analysis.result import NO_SEGMENTS, Caution, ClusterStatistics, Detection, Estimate
from crosswind.analysis.verdict import interference_class, probability
from crosswind.profile.model import Profile
from crosswind.profile.numbering import NO_COMMON_NUMBERS
from crosswind.profile.segments import SegmentTable

__all__ = ["DEFAULT_METHOD", "METHODS", "estimate", "estimate_profile"]

METHODS: dict[str, Callable[[SegmentFeatures], Detection]] = {"robust": robust.detect, "thesis": thesis.detect}
DEFAULT_METHOD = "robust"

_NOT_ALIGNED = Caution(
    "ranks counted different collectives",
    "The ranks counted different collectives of the world and no count is that of most of them, so it is not known "
    "which of their segments belong together.",
)


def estimate(table: SegmentTable, method: str = DEFAULT_METHOD) -> Estimate:
    """Estimate how much of a run's time was lost to instantaneous interference, from this run alone.

    InputError: an unknown method, no durations, or a value that no measurement can be (the message names column and
    segment).
    """
    if method not in METHODS:
        raise InputError(f"no method {method!r}; there are: {', '.join(sorted(METHODS))}")
    if "dur_us" not in table.columns:
        raise InputError("the segments have no durations (dur_us)")
    tables = rank_tables(table) if table.from_call_sites.any() else [table]
    judged = [_judge(t, method) for t in tables]
    found = middle_estimate(judged) if table.from_call_sites.any() else judged[0]
    left_out = _left_out(table) if found.interference_pct is not None else ()
    return dataclasses.replace(found, notes=found.notes + _early_ends(table), cautions=found.cautions + left_out)


def _judge(table: SegmentTable, method: str) -> Estimate:
    features = segment_features(table)
    return _assemble(method, features, METHODS[method](features))


def estimate_profile(profile: Profile, method: str = DEFAULT_METHOD) -> Estimate:
    """Estimate from a profile; the run-queue delay of its MPI ranks is filled in too. InputError as for `estimate`."""
    table = profile.segments if profile.segments is not None else _no_segments()
    found = estimate(table, method)
    if any(reason == NO_COMMON_NUMBERS for _, reason in profile.dropped_files) and not table.n_segments:
        found = dataclasses.replace(found, cautions=(_NOT_ALIGNED,))
    delay_pct = _run_delay_pct(profile)
    more = run_delay_cautions(delay_pct) if found.interference_pct is not None else ()
    return dataclasses.replace(found, run_delay_pct=delay_pct, cautions=found.cautions + more)


def _assemble(method: str, features: SegmentFeatures, detection: Detection) -> Estimate:
    """Sums and verdict of a detection; without a segment that was judged nothing was hit."""
    total_us = features.total_us
    can_tell = bool(np.any(detection.covered)) and total_us > 0
    if not can_tell:
        none = np.zeros(features.duration_us.size)
        detection = dataclasses.replace(detection, hit=none.astype(np.bool_), excess_us=none)
    clusters = ClusterStatistics.of(detection, features.duration_us)
    lost_us = float(detection.excess_us.sum())
    lost_pct = 100 * lost_us / total_us if can_tell else None
    cautions = (
        detection.cautions + general_cautions(features, detection, clusters)
        if can_tell
        else _cannot_tell(features, detection)
    )
    return Estimate(
        method=method,
        interference_pct=lost_pct,
        interval_pct=_interval_pct(detection, total_us) if can_tell else None,
        interference_s=lost_us / 1e6,
        interference_class="unknown" if lost_pct is None else interference_class(lost_pct),
        probability=None if lost_pct is None else float(probability(lost_pct)),
        total_s=total_us / 1e6,
        segments=int(features.duration_us.size),
        hit_segments=int(np.count_nonzero(detection.hit)),
        cpu_pct=_cpu_pct(detection, total_us) if can_tell else None,
        run_delay_pct=None,
        uncovered_pct=_percent_of(features.duration_us[~detection.covered], total_us) if total_us > 0 else 100.0,
        work_kind=detection.work_kind,
        cautions=cautions,
        notes=detection.notes,
        clusters=clusters,
        duration_us=features.duration_us,
        hit=detection.hit,
        threshold_us=detection.threshold_us,
        excess_us=detection.excess_us,
        labels=detection.labels,
    )


def _early_ends(table: SegmentTable) -> tuple[str, ...]:
    """A note about ranks that have no later segments: they were killed, or their files lost."""
    ended = int(np.count_nonzero(~table.valid[:, -1:] & table.valid.any(axis=1, keepdims=True)))
    if not ended:
        return ()
    return (f"{ended} of {table.n_ranks} ranks ended before the last segment; the others are judged from then on.",)


def _left_out(table: SegmentTable) -> tuple[Caution, ...]:
    """The caution that ranks have no segment at all: they were not in step with the others, or theirs were lost."""
    absent = int(np.count_nonzero(~table.valid.any(axis=1)))
    if not absent:
        return ()
    text = (
        f"{absent} of {table.n_ranks} ranks are not in the figures: their segments do not fit those of the other "
        "ranks, or were lost."
    )
    return (Caution(f"{absent} of {table.n_ranks} ranks left out", text),)


def _cannot_tell(features: SegmentFeatures, detection: Detection) -> tuple[Caution, ...]:
    """Why there is no figure at all."""
    n = features.duration_us.size
    if n == 0:
        text = (
            "The run has no segments: it is no MPI program, or its ranks meet nowhere in step, neither in a collective "
            "that synchronises all of them (Barrier, Allreduce, Allgather, Alltoall and the like) nor at a call site "
            "that they pass again and again."
        )
        return (Caution(NO_SEGMENTS, text),)
    if features.total_us <= 0:
        return (Caution("segments without duration", f"The {n} segments of the run have no duration."),)
    text = (
        f"The run has {n} segments, but no {detection.least_alike} of them are alike and take time, so there is "
        "nothing to compare."
    )
    return (Caution(f"too few like segments ({n} in all)", text),)


def _interval_pct(detection: Detection, total_us: float) -> tuple[float, float] | None:
    """The bounds of the loss in percent of the total; None where the method has none."""
    if detection.bounds_us is None:
        return None
    low, high = (100 * bound / total_us for bound in detection.bounds_us)
    return low, min(high, 100.0)


def _percent_of(part_us: NDArray[np.float64], total_us: float) -> float:
    """A sum of microseconds in percent of the total."""
    return 100 * float(part_us.sum()) / total_us


def _cpu_pct(detection: Detection, total_us: float) -> float | None:
    """CPU time beyond the usual in percent of the total; None where the method could not tell."""
    return None if detection.cpu_excess_us is None else _percent_of(detection.cpu_excess_us, total_us)


def _run_delay_pct(profile: Profile) -> float | None:
    """Time that runnable threads of the MPI ranks waited for a processor, in percent of the ranks' wall time.

    Delays of all threads of a rank add up, so that a rank with many threads can exceed 100 %. None: not recorded.
    """
    rows = profile.mpi_rows
    wall_ns = int(profile.covered_ns[rows].sum())
    if wall_ns <= 0 or "run_delay" not in {column.name for column in profile.columns}:
        return None
    return 100 * int(profile.metric("run_delay")[rows].sum()) / wall_ns


def _no_segments() -> SegmentTable:
    """The table of a run whose ranks meet nowhere."""
    none = np.zeros(0, dtype=np.int64)
    return SegmentTable(none, none, {"dur_us": np.zeros((0, 0))}, np.zeros((0, 0), dtype=bool), none)
