"""The default estimator: what each group of like segments should take, and what lies clearly above that.

It differs from `thesis` where that fails silently: it stands more than half of a group being hit, work that drifts, and
bytes that vary. docs/estimator.md has the method in words and its measured accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.alike import MIN_GROUP, alike_groups
from crosswind.analysis.arrays import Grouping, weighted_median
from crosswind.analysis.baseline import Baseline, find_baseline, period_of_hits, saturated_baseline
from crosswind.analysis.features import SegmentFeatures
from crosswind.analysis.result import Caution, Detection
from crosswind.analysis.work_model import WorkModel, fit_work_model

__all__ = ["detect"]

_LEAST_NOISE = 0.002  # of a segment's duration
_LEAST_NOISE_US = 2.0  # what reading clocks on several ranks costs
_PERIODIC_SHARE = 0.03  # of a group's time in excess, from which on a period is looked for
_SATURATED_NOISE = 0.05  # of a segment's duration: the group is disturbed nearly all the time
_MIN_SMALL = 3  # members of a group that is too small for a baseline, but may show a gross loss
_SMALL_QUANTILE = 0.25
_FOOT = 0.01  # of a usual duration
_GROSS = 0.1  # of a segment's duration
_STEADY_CPU = 0.05  # MAD over median of the CPU times of a group: above, CPU time varies with the work
_NEGLIGIBLE_CPU = 0.02  # of the duration
_MANY_HIT = 0.35
_MEDIAN_MADS = 4.0
_DISAGREE_PCT = 3.0
_NOTABLE_CPU = 0.03
_SATURATED_SHARE = 0.05
_SKIPPED_SHARE = 0.10


@dataclass(frozen=True)
class _Judgement:
    """What was found in one group; arrays are [member], in microseconds unless the name says more.

    threshold: of y. noise: of the baseline, in parts of a usual duration. median_excess: what median + 4 MAD would have
    called lost.
    """

    excess: NDArray[np.float64]
    hit: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    noise: float
    saturated: bool
    median_excess: float


class _Findings:
    """Arrays [segment] that the groups fill in one after the other."""

    def __init__(self, n: int) -> None:
        self.excess_us = np.zeros(n)
        self.cpu_excess_us = np.zeros(n)
        self.hit = np.zeros(n, dtype=bool)
        self.covered = np.zeros(n, dtype=bool)
        self.saturated = np.zeros(n, dtype=bool)
        self.cpu_skipped = np.zeros(n, dtype=bool)
        self.threshold_us = np.zeros(n)
        self.noise = np.zeros(n)
        self.median_excess_us = 0.0


def detect(features: SegmentFeatures) -> Detection:
    """Find the interfered segments of a run and the time they lost, from what like segments took.

    With processor counters the duration of a segment is compared with what its instructions and bytes make
    expect; without them the time outside of computation is, and CPU time apart from it. What a hit segment lost is what
    lies above the undisturbed level. Segments in groups of fewer than 8 are not judged, but a gross loss counts.
    """
    labels, left_out = alike_groups(features)
    findings = _Findings(features.duration_us.size)
    for members in Grouping.of(labels).members():
        if members.size >= MIN_GROUP:
            _judge_group(features, members, findings)
        elif members.size >= _MIN_SMALL:
            _judge_small_group(features, members, findings)
    return Detection(
        labels=labels,
        covered=findings.covered,
        hit=findings.hit,
        threshold_us=findings.threshold_us,
        excess_us=findings.excess_us,
        cpu_excess_us=None if features.cpu_us is None or features.has_counters else findings.cpu_excess_us,
        work_kind=features.work_kind,
        noise=_typical_noise(features, findings),
        notes=_notes(features, left_out),
        cautions=tuple(_cautions(features, findings)),
    )


# --- groups with a baseline of their own -----------------------------------------------------------------------------


def _judge_group(features: SegmentFeatures, members: NDArray[np.intp], findings: _Findings) -> None:
    duration = features.duration_us[members]
    elsewhere = np.zeros(members.size) if features.has_counters else _cpu_part(features, members)
    judged = _judge(duration - elsewhere, duration, _regressors(features, members), may_split=True)
    findings.covered[members] = True
    findings.excess_us[members] = judged.excess
    findings.hit[members] = judged.hit
    findings.threshold_us[members] = judged.threshold + elsewhere
    findings.saturated[members] = judged.saturated
    findings.noise[members] = judged.noise
    findings.median_excess_us += judged.median_excess
    if not features.has_counters:
        _judge_cpu(elsewhere, duration, members, findings)


def _cpu_part(features: SegmentFeatures, members: NDArray[np.intp]) -> NDArray[np.float64]:
    """CPU time outside of MPI, as far as it lies in the segment, [member]; zeros where it was not recorded."""
    if features.cpu_us is None:
        return np.zeros(members.size)
    return np.minimum(features.cpu_us[members], features.duration_us[members])


def _regressors(features: SegmentFeatures, members: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    """What the duration may follow, [member] each."""
    work = features.work if features.work is not None else features.cpu_us
    found = {features.work_kind: work, **{name: features.bytes.get(name) for name in ("io_bytes", "p2p_bytes")}}
    return {name: values[members] for name, values in found.items() if values is not None}


def _judge(
    y: NDArray[np.float64], duration: NDArray[np.float64], regressors: Mapping[str, NDArray], *, may_split: bool
) -> _Judgement:
    """Judge the times y [member] of a group, in run order; `duration` is what their weight is measured by."""
    usual = float(np.median(duration))
    if usual <= 0:
        return _nothing_found(y)
    foot = _FOOT * usual
    y = y + foot  # a group that mostly has no time to judge still has a level then; differences stay
    centre = float(np.median(y))
    model = fit_work_model(y, regressors)
    ratios = y / model.expected
    least_noise = max(_LEAST_NOISE * usual, _LEAST_NOISE_US) / centre
    baseline = find_baseline(ratios, least_noise)
    judged = _judgement(y, ratios, model, baseline, foot, centre / usual)
    period = _period(judged, usual) if may_split else None
    if period is None and judged.noise > _SATURATED_NOISE:
        lowest = saturated_baseline(ratios, least_noise) or baseline
        judged = _judgement(y, ratios, model, lowest, foot, centre / usual, saturated=True)
        period = _period(judged, usual) if may_split else None
    return judged if period is None else _judge_in_turns(y, duration, regressors, period)


def _period(judged: _Judgement, usual: float) -> int | None:
    """After how many members the hits of a group recur, where they are worth a look."""
    worth = judged.excess.sum() > _PERIODIC_SHARE * usual * judged.hit.size
    return period_of_hits(judged.hit) if worth else None


def _judgement(
    y: NDArray[np.float64],
    ratios: NDArray[np.float64],
    model: WorkModel,
    baseline: Baseline,
    foot: float,
    weight: float,
    *,
    saturated: bool = False,
) -> _Judgement:
    """Times from ratios; `foot` is what y was raised by, `weight` what part of a usual duration it makes up."""
    median = float(np.median(ratios))
    far = ratios > median + _MEDIAN_MADS * float(np.median(np.abs(ratios - median)))
    return _Judgement(
        excess=np.where(baseline.hit, y - model.expected * baseline.level, 0.0),
        hit=baseline.hit,
        threshold=model.expected * baseline.threshold - foot,
        noise=baseline.noise * weight,
        saturated=saturated,
        median_excess=float(np.where(far, y - model.expected * median, 0.0).sum()),
    )


def _nothing_found(y: NDArray[np.float64]) -> _Judgement:
    """A group without any duration, or one that nothing is known of yet."""
    none = np.zeros(y.size)
    return _Judgement(none, none.astype(bool), y.copy(), 0.0, False, 0.0)


def _judge_in_turns(
    y: NDArray[np.float64], duration: NDArray[np.float64], regressors: Mapping[str, NDArray], period: int
) -> _Judgement:
    """Judge the members of each place in the period among themselves."""
    whole = _nothing_found(y)
    excess, hit, threshold = whole.excess, whole.hit, whole.threshold
    noise, median_excess, saturated = 0.0, 0.0, False
    for place in range(period):
        turn = slice(place, None, period)
        part = _judge(y[turn], duration[turn], {n: x[turn] for n, x in regressors.items()}, may_split=False)
        excess[turn], hit[turn], threshold[turn] = part.excess, part.hit, part.threshold
        noise = max(noise, part.noise)
        saturated |= part.saturated
        median_excess += part.median_excess
    return _Judgement(excess, hit, threshold, noise, saturated, median_excess)


# --- CPU time where no counters tell work from interference ----------------------------------------------------------


def _judge_cpu(
    cpu: NDArray[np.float64], duration: NDArray[np.float64], members: NDArray[np.intp], findings: _Findings
) -> None:
    """CPU time beyond the usual of the group, where it is steady enough to say so."""
    centre, usual = float(np.median(cpu)), float(np.median(duration))
    if centre <= _NEGLIGIBLE_CPU * usual:
        return
    ratios = cpu / centre
    baseline = find_baseline(ratios, max(_LEAST_NOISE * usual, _LEAST_NOISE_US) / centre)
    spread = float(np.median(np.abs(ratios - 1.0)))
    if spread >= _STEADY_CPU or np.count_nonzero(baseline.hit) >= _MANY_HIT * cpu.size:
        findings.cpu_skipped[members] = True
        return
    findings.cpu_excess_us[members] = np.where(baseline.hit, cpu - centre * baseline.level, 0.0)


# --- groups too small for a baseline ---------------------------------------------------------------------------------


def _judge_small_group(features: SegmentFeatures, members: NDArray[np.intp], findings: _Findings) -> None:
    """Count a gross loss: more than a tenth of the segment above what the quickest quarter of the group took."""
    duration = features.duration_us[members]
    if features.has_counters and features.work is not None and np.all(features.work[members] > 0):
        work = features.work[members]
        excess = duration - np.quantile(duration / work, _SMALL_QUANTILE) * work
    else:
        rest = duration - _cpu_part(features, members)
        excess = rest - np.quantile(rest, _SMALL_QUANTILE)
    hit = excess > _GROSS * duration
    findings.hit[members] = hit
    findings.excess_us[members] = np.where(hit, excess, 0.0)
    findings.threshold_us[members] = (1 + _GROSS) * (duration - excess)


# --- what to say beside the figures ----------------------------------------------------------------------------------


def _typical_noise(features: SegmentFeatures, findings: _Findings) -> float:
    """The baselines' noise in parts of a duration, weighed by time: half of the judged time has less."""
    judged = findings.covered
    return weighted_median(findings.noise[judged], features.duration_us[judged])


def _notes(features: SegmentFeatures, left_out: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if left_out:
        names = ", ".join(name.replace("_", " ") for name in left_out)
        notes.append(f"Byte counts that vary from segment to segment do not tell phases apart here: {names}.")
    if features.work_kind == "instructions":
        notes.append("No count of floating-point operations: instructions stand in for work.")
    return tuple(notes)


def _cautions(features: SegmentFeatures, findings: _Findings) -> Iterator[Caution]:
    total_us = max(features.total_us, 1e-9)

    def share(chosen: NDArray[np.bool_]) -> float:
        return float(features.duration_us[chosen].sum()) / total_us

    if features.cpu_us is None and features.work is None:
        yield Caution(
            "no measure of work",
            "Neither processor counters nor CPU times were recorded: segments with more work cannot be told from "
            "segments that were held up.",
        )
    difference = 100 * abs(findings.excess_us.sum() - findings.median_excess_us) / total_us
    if difference > _DISAGREE_PCT:
        yield Caution(
            "two ways of estimating disagree",
            f"An estimate around medians differs by {difference:.0f} percentage points: either a large part of the "
            "segments was hit, or their work differs in ways that were not recorded.",
        )
    if (saturated := share(findings.saturated)) > _SATURATED_SHARE:
        yield Caution(
            "segments vary widely",
            f"{saturated:.0%} of the time lies in like segments that take very different times: whether all of them "
            "were disturbed or they vary by nature is hard to tell.",
        )
    cpu_excess = float(findings.cpu_excess_us.sum()) / total_us
    if cpu_excess > _NOTABLE_CPU:
        yield Caution(
            "CPU time beyond the usual",
            f"Some segments took more CPU time than their like, {cpu_excess:.0%} of the run in all, and no processor "
            "counters tell whether they had more to do: if they had not, so much more was lost.",
        )
    if (skipped := share(findings.cpu_skipped)) > _SKIPPED_SHARE:
        yield Caution(
            "CPU times vary",
            f"In {skipped:.0%} of the time CPU time differs between like segments, and no processor counters tell "
            "whether they had more to do: interference that takes CPU time is not in the figures there.",
        )
