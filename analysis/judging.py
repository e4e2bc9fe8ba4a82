"""One group of like segments judged: what each should have taken, which were hit, what they lost, between which bounds.

All times are per segment: a member that merges several has its times divided by how many, and weighs as many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import median
from crosswind.analysis.baseline import Baseline, find_baseline, minority_baseline, period_of_hits, quickest_baseline
from crosswind.analysis.uncertainty import SURE_NOISES, bounds_of_loss
from crosswind.analysis.work_model import WorkModel, fit_work_model

__all__ = ["LEAST_NOISE_US", "Judgement", "Members", "is_unusual", "judge", "least_noise_us"]

_LEAST_NOISE = 0.002  # of a segment's duration
LEAST_NOISE_US = 2.0  # what reading clocks on several ranks costs, once a record
_PERIODIC_SHARE = 0.03  # of a group's time in excess, from which on a period is looked for
_SATURATED_NOISE = 0.03  # of a segment's duration: nearly all of the group is disturbed, or it varies by nature
_UNUSUAL_NOISE = 5.0  # in noises of the run's other groups: most of the group may be disturbed
_FOOT = 0.01  # of a usual duration
_MEDIAN_MADS = 4.0
_SURE_BY_NATURE = 10.0  # noises above the level, where the noise may be the tail of what varies by nature


@dataclass(frozen=True)
class Members:
    """A group in run order; arrays are [member], times in microseconds per segment.

    y: what is judged. duration: the whole. regressors: what y may follow. weight: how many segments a member merges.
    """

    y: NDArray[np.float64]
    duration: NDArray[np.float64]
    regressors: dict[str, NDArray[np.float64]]
    weight: NDArray[np.float64]

    def turn(self, place: int, period: int) -> Members:
        """Every period-th member from `place` on."""
        chosen = slice(place, None, period)
        regressors = {name: values[chosen] for name, values in self.regressors.items()}
        return Members(self.y[chosen], self.duration[chosen], regressors, self.weight[chosen])


@dataclass(frozen=True)
class Judgement:
    """What was found in one group; arrays are [member], in microseconds per segment unless the name says more.

    threshold: of y. noise: how much undisturbed members differ, in parts of a usual duration. lost_us, and low_us and
    high_us, its bounds: of the whole group. median_excess_us: what median + 4 MAD would have called lost, of the whole
    group. saturated: nearly all of the group is disturbed, or it varies by nature. in_turns_us: of the whole group,
    what hits took longer that recur after a fixed number of members and were taken for a phase of the program.
    """

    excess: NDArray[np.float64]
    hit: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    noise: float
    saturated: bool
    median_excess_us: float
    low_us: float
    high_us: float
    in_turns_us: float = 0.0


def least_noise_us(usual_us: float, weight: NDArray[np.float64]) -> float:
    """What segments of a usual duration differ by without any reason, in microseconds."""
    return max(_LEAST_NOISE * usual_us, LEAST_NOISE_US / median(weight))


def is_unusual(noise: float, usual_noise: float) -> bool:
    """Whether a group differs so much more than others of its run that most of it may be disturbed."""
    return noise > _UNUSUAL_NOISE * max(usual_noise, _LEAST_NOISE)


def judge(members: Members, usual_noise: float | None = None) -> Judgement:
    """Judge a group. usual_noise: of the other groups of the run, in parts of a duration; None: not known."""
    return _judge(members, usual_noise, may_split=True)


def _judge(members: Members, usual_noise: float | None, *, may_split: bool) -> Judgement:
    usual = median(members.duration)
    if usual <= 0:
        return _nothing_found(members)
    fit = _Fit.of(members, usual)
    baseline = find_baseline(fit.ratios, fit.least_noise)
    unusual, minority = False, None
    if usual_noise is not None and is_unusual(baseline.spread * fit.weight, usual_noise):
        unusual, minority = True, minority_baseline(fit.ratios, fit.least_noise, usual_noise / fit.weight)
    judged = fit.judgement(minority or baseline)
    period = _period(judged, usual) if may_split else None
    if period is None and judged.noise > _SATURATED_NOISE and baseline.spread > fit.least_noise:
        judged = fit.saturated_judgement(baseline)
        period = _period(judged, usual) if may_split else None
    elif unusual and minority is None:
        judged = fit.widened(judged, baseline)
    return judged if period is None else _judge_in_turns(members, usual_noise, period, judged)


@dataclass(frozen=True)
class _Fit:
    """A group and what its members should take.

    y: raised by `foot`, so that a group that mostly has no time to judge still has a level; differences stay. ratios:
    y to expected. weight: what part of a usual duration y makes up. least_noise: of the ratios. beside: what a usual
    member has besides y, in usual y.
    """

    members: Members
    y: NDArray[np.float64]
    foot: float
    model: WorkModel
    ratios: NDArray[np.float64]
    weight: float
    least_noise: float
    beside: float

    @classmethod
    def of(cls, members: Members, usual: float) -> _Fit:
        foot = _FOOT * usual
        y = members.y + foot
        centre = median(y)
        model = fit_work_model(y, members.regressors)
        least = least_noise_us(usual, members.weight) / centre
        beside = median(members.duration - members.y) / centre
        return cls(members, y, foot, model, y / model.expected, centre / usual, least, beside)

    def judgement(self, baseline: Baseline) -> Judgement:
        """Times from ratios."""
        expected, count = self.model.expected, self.members.weight
        middle = median(self.ratios)
        far = self.ratios > middle + _MEDIAN_MADS * median(np.abs(self.ratios - middle))
        low, high = self.bounds(baseline)
        return Judgement(
            excess=np.where(baseline.hit, self.y - expected * baseline.level, 0.0),
            hit=baseline.hit,
            threshold=expected * baseline.threshold - self.foot,
            noise=baseline.spread * self.weight,
            saturated=False,
            median_excess_us=float((np.where(far, self.y - expected * middle, 0.0) * count).sum()),
            low_us=low,
            high_us=high,
        )

    def bounds(self, baseline: Baseline, sure_noises: float = SURE_NOISES) -> tuple[float, float]:
        """Between which the group's loss lies, in microseconds."""
        return bounds_of_loss(self.ratios, self.model.expected * self.members.weight, baseline, sure_noises)

    def saturated_judgement(self, ordinary: Baseline) -> Judgement:
        """By the quickest members where they agree, else by the ordinary baseline."""
        quickest = quickest_baseline(self.ratios, self.least_noise)
        judged = self.judgement(quickest if quickest.agrees(self.ratios, self.beside) else ordinary)
        return replace(self.widened(judged, ordinary), saturated=True)

    def widened(self, judged: Judgement, ordinary: Baseline) -> Judgement:
        """With bounds for a group of which nobody knows whether it varies by nature, so that only what lies far out was
        lost, or nearly all of it was disturbed.
        """
        by_nature, _ = self.bounds(ordinary, _SURE_BY_NATURE)
        _, all_hit = self.bounds(quickest_baseline(self.ratios, self.least_noise))
        return replace(judged, low_us=min(judged.low_us, by_nature), high_us=max(judged.high_us, all_hit))


def _period(judged: Judgement, usual: float) -> int | None:
    """After how many members the hits of a group recur, where they are worth a look."""
    worth = judged.excess.sum() > _PERIODIC_SHARE * usual * judged.hit.size
    return period_of_hits(judged.hit) if worth else None


def _nothing_found(members: Members) -> Judgement:
    """A group without any duration, or one that nothing is known of yet."""
    none = np.zeros(members.y.size)
    return Judgement(none, none.astype(bool), members.y.copy(), 0.0, False, 0.0, 0.0, 0.0)


def _judge_in_turns(members: Members, usual_noise: float | None, period: int, before: Judgement) -> Judgement:
    """Judge the members of each place in the period among themselves. before: what was found of all together."""
    whole = _nothing_found(members)
    excess, hit, threshold = whole.excess, whole.hit, whole.threshold
    parts = [_judge(members.turn(place, period), usual_noise, may_split=False) for place in range(period)]
    for place, part in enumerate(parts):
        turn = slice(place, None, period)
        excess[turn], hit[turn], threshold[turn] = part.excess, part.hit, part.threshold
    return Judgement(
        excess,
        hit,
        threshold,
        noise=max(part.noise for part in parts),
        saturated=any(part.saturated for part in parts),
        median_excess_us=sum(part.median_excess_us for part in parts),
        low_us=sum(part.low_us for part in parts),
        high_us=sum(part.high_us for part in parts),
        in_turns_us=float((np.maximum(before.excess - excess, 0.0) * members.weight).sum()),
    )
