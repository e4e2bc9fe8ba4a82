"""The default estimator: what each group of like segments should take, and what lies clearly above that.

It differs from `thesis` where that fails silently: it stands more than half of a group being hit, work that drifts, and
bytes that vary. docs/estimator.md has the method in words and its measured accuracy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.alike import MIN_GROUP, alike_groups
from crosswind.analysis.arrays import Grouping, median, weighted_median
from crosswind.analysis.baseline import find_baseline
from crosswind.analysis.features import SegmentFeatures
from crosswind.analysis.judging import Judgement, Members, is_unusual, judge, least_noise_us
from crosswind.analysis.lone_segments import lost_amid_hits
from crosswind.analysis.result import Detection
from crosswind.analysis.robust_cautions import Findings, robust_cautions, robust_notes
from crosswind.analysis.uncertainty import widened

__all__ = ["detect"]

_MIN_SMALL = 3  # members of a group that is too small for a baseline, but may show a gross loss
_SMALL_QUANTILE = 0.25
_GROSS = 0.1  # of a segment's duration
_STEADY_CPU = 0.05  # MAD over median of the CPU times of a group: above, CPU time varies with the work
_NEGLIGIBLE_CPU = 0.02  # of the duration
_MANY_HIT = 0.35
_RARE = 0.05  # of the judged time hit


def detect(features: SegmentFeatures) -> Detection:
    """Find the interfered segments of a run and the time they lost, from what like segments took.

    With processor counters the duration of a segment is compared with what its instructions and bytes make
    expect; without them the time outside of computation is, and CPU time apart from it. What a hit segment lost is what
    lies above the undisturbed level. Segments in groups of fewer than 8 are not judged, but a gross loss counts; nor
    are those of groups most of which took no time.
    """
    labels, left_out = alike_groups(features)
    groups = Grouping.of(labels).members()
    findings = Findings.none(features.duration_us.size)
    judged = _judge_groups(features, [group for group in groups if _can_be_judged(features, group)])
    for group, judgement in judged:
        _enter(group, features.stride[group], judgement, findings)
        if not features.has_counters:
            _judge_cpu(features, group, findings)
    for group in groups:
        if _MIN_SMALL <= group.size < MIN_GROUP:
            _judge_small_group(features, group, findings)
    _count_lone_segments(features, groups, findings)
    return Detection(
        labels=labels,
        covered=findings.covered,
        hit=findings.hit,
        threshold_us=findings.threshold_us,
        excess_us=findings.excess_us,
        cpu_excess_us=None if features.cpu_us is None or features.has_counters else findings.cpu_excess_us,
        work_kind=features.work_kind,
        least_alike=MIN_GROUP,
        noise=_usual_noise(features, judged),
        bounds_us=_bounds(features, findings),
        notes=robust_notes(features, findings, left_out),
        cautions=tuple(robust_cautions(features, findings)),
    )


# --- groups with a baseline of their own -----------------------------------------------------------------------------

_Judged = list[tuple[NDArray[np.intp], Judgement]]


def _judge_groups(features: SegmentFeatures, groups: list[NDArray[np.intp]]) -> _Judged:
    """Each group with its judgement. One whose noise is unusual for the run is judged again, knowing what is usual:
    nearly all of it may be disturbed, and undisturbed like segments of a program differ by much the same everywhere.
    """
    judged = [(group, judge(_members(features, group))) for group in groups]
    usual = _usual_noise(features, judged)
    return [
        (group, judge(_members(features, group), usual) if is_unusual(first.noise, usual) else first)
        for group, first in judged
    ]


def _can_be_judged(features: SegmentFeatures, group: NDArray[np.intp]) -> bool:
    """Whether a group has members enough for a level of its own, and usually takes time."""
    return group.size >= MIN_GROUP and median(features.duration_us[group]) > 0


def _members(features: SegmentFeatures, group: NDArray[np.intp]) -> Members:
    """With counters the duration is judged, without them what is left of it beside the CPU time."""
    weight = features.stride[group].astype(np.float64)
    duration = features.duration_us[group] / weight
    work = features.work if features.work is not None else features.cpu_us
    found = {features.work_kind: work, **{name: features.bytes.get(name) for name in ("io_bytes", "p2p_bytes")}}
    regressors = {name: values[group] / weight for name, values in found.items() if values is not None}
    y = duration if features.has_counters else duration - _cpu_part(features, group)
    return Members(y, duration, regressors, weight)


def _cpu_part(features: SegmentFeatures, group: NDArray[np.intp]) -> NDArray[np.float64]:
    """CPU time outside of MPI per segment, as far as it lies in it, [member]; zeros where it was not recorded."""
    if features.cpu_us is None:
        return np.zeros(group.size)
    return np.minimum(features.cpu_us[group], features.duration_us[group]) / features.stride[group]


def _usual_noise(features: SegmentFeatures, judged: _Judged) -> float:
    """How much undisturbed like segments differ, in parts of a duration: half of the judged time is in groups with
    less.
    """
    noise = np.array([judgement.noise for _, judgement in judged])
    return weighted_median(noise, np.array([features.duration_us[group].sum() for group, _ in judged]))


def _bounds(features: SegmentFeatures, findings: Findings) -> tuple[float, float]:
    """Between which the loss lies: that of the judged groups, and what segments that were not judged may have lost.

    Those may have been hit as those were that were, if that was more than one time in twenty, else at random.
    """
    lost_us = float(findings.excess_us.sum())
    covered = findings.covered
    judged_us, hit_us = (float(features.duration_us[chosen].sum()) for chosen in (covered, covered & findings.hit))
    exposed_us = hit_us if hit_us > _RARE * judged_us else judged_us
    rate = min(findings.high_us / max(exposed_us, 1e-9), 1.0)
    high_us = findings.high_us + rate * (features.total_us - judged_us)
    return widened(lost_us, (findings.low_us, high_us), features.total_us)


def _enter(group: NDArray[np.intp], stride: NDArray[np.int64], judged: Judgement, findings: Findings) -> None:
    findings.covered[group] = True
    findings.hit[group] = judged.hit
    findings.excess_us[group] = judged.excess * stride
    findings.threshold_us[group] = judged.threshold * stride
    findings.saturated[group] = judged.saturated
    findings.median_excess_us += judged.median_excess_us
    findings.low_us += judged.low_us
    findings.high_us += judged.high_us
    findings.in_turns_us += judged.in_turns_us


# --- CPU time where no counters tell work from interference ----------------------------------------------------------


def _judge_cpu(features: SegmentFeatures, group: NDArray[np.intp], findings: Findings) -> None:
    """CPU time beyond the usual of the group, where it is steady enough to say so; it is no part of the duration's
    threshold.
    """
    cpu, stride = _cpu_part(features, group), features.stride[group].astype(np.float64)
    findings.threshold_us[group] += cpu * stride
    centre, usual = median(cpu), median(features.duration_us[group] / stride)
    if centre <= _NEGLIGIBLE_CPU * usual:
        return
    ratios = cpu / centre
    baseline = find_baseline(ratios, least_noise_us(usual, stride) / centre)
    spread = median(np.abs(ratios - 1.0))
    if spread >= _STEADY_CPU or np.count_nonzero(baseline.hit) >= _MANY_HIT * cpu.size:
        findings.cpu_skipped[group] = True
        return
    findings.cpu_excess_us[group] = np.where(baseline.hit, cpu - centre * baseline.level, 0.0) * stride


# --- groups too small for a baseline, and segments without their like -------------------------------------------------


def _judge_small_group(features: SegmentFeatures, group: NDArray[np.intp], findings: Findings) -> None:
    """Count a gross loss: more than a tenth of the segment above what the quickest quarter of the group took.

    So few may all have been disturbed, or none: the bounds hold both.
    """
    stride = features.stride[group]
    duration = features.duration_us[group] / stride
    if features.has_counters and features.work is not None and np.all(features.work[group] > 0):
        work = features.work[group] / stride
        excess = duration - np.quantile(duration / work, _SMALL_QUANTILE) * work
    else:
        rest = duration - _cpu_part(features, group)
        excess = rest - np.quantile(rest, _SMALL_QUANTILE)
    hit = excess > _GROSS * duration
    findings.hit[group] = hit
    findings.excess_us[group] = np.where(hit, excess, 0.0) * stride
    findings.threshold_us[group] = (1 + _GROSS) * (duration - excess) * stride
    findings.high_us += float(findings.excess_us[group].sum())


def _count_lone_segments(features: SegmentFeatures, groups: list[NDArray[np.intp]], findings: Findings) -> None:
    """Count what segments with fewer than two like them lost amid a stretch that was hit; the upper bound of the run
    holds them already, the lower one does not.
    """
    lone = np.zeros(findings.hit.size, dtype=np.bool_)
    for group in groups:
        lone[group] = group.size < _MIN_SMALL
    duration_us = features.duration_us
    amid_us = lost_amid_hits(lone, findings.covered, duration_us, findings.excess_us)
    hit = amid_us > 0
    findings.hit |= hit
    findings.excess_us += amid_us
    findings.threshold_us[hit] = (duration_us - amid_us)[hit]
    findings.amid_hits_us = float(amid_us.sum())
