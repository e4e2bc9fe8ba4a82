"""What the estimator `robust` says beside its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import weighted_median
from crosswind.analysis.baseline import THRESHOLD_NOISES
from crosswind.analysis.features import SegmentFeatures
from crosswind.analysis.judging import LEAST_NOISE_US
from crosswind.analysis.result import Caution

__all__ = ["Findings", "robust_cautions", "robust_notes"]

_DISAGREE_PCT = 3.0
_NOTABLE_CPU = 0.03
_SATURATED_SHARE = 0.05
_SKIPPED_SHARE = 0.10
_NOTABLE_AMID_HITS = 0.001
_NOTABLE_IN_TURNS = 0.005
_NOTABLE_BLINDNESS = 0.12  # of a segment; four times the noise from which on segments are called noisy


@dataclass
class Findings:
    """Arrays [segment] that the groups of a run fill in one after the other, and sums over them, in microseconds.

    low_us, high_us: bounds of the sum of excess_us. median_excess_us: what an estimate around medians would have been.
    amid_hits_us: what of excess_us lies in segments without their like, amid others that were hit. in_turns_us: what is
    not in excess_us, because it recurs after a fixed number of segments.
    """

    covered: NDArray[np.bool_]
    hit: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    cpu_skipped: NDArray[np.bool_]
    excess_us: NDArray[np.float64]
    cpu_excess_us: NDArray[np.float64]
    threshold_us: NDArray[np.float64]
    median_excess_us: float = 0.0
    low_us: float = 0.0
    high_us: float = 0.0
    amid_hits_us: float = 0.0
    in_turns_us: float = 0.0

    @classmethod
    def none(cls, n: int) -> Findings:
        """Of n segments nothing is known yet."""
        covered, hit, saturated, cpu_skipped = np.zeros((4, n), dtype=np.bool_)
        excess_us, cpu_excess_us, threshold_us = np.zeros((3, n))
        return cls(covered, hit, saturated, cpu_skipped, excess_us, cpu_excess_us, threshold_us)


def robust_notes(features: SegmentFeatures, findings: Findings, left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Choices that the data forced. left_out: names of the byte counts that tell no phases apart."""
    notes = []
    if left_out:
        names = ", ".join(name.replace("_", " ") for name in left_out)
        notes.append(f"Byte counts that vary from segment to segment do not tell phases apart here: {names}.")
    if features.work_kind == "instructions":
        notes.append("No count of floating-point operations: instructions stand in for work.")
    blind_us = THRESHOLD_NOISES * LEAST_NOISE_US
    usual_us = weighted_median(features.duration_us / features.stride, features.duration_us)
    if blind_us > _NOTABLE_BLINDNESS * usual_us > 0:
        notes.append(f"Segments are so short that a delay below {blind_us:.0f} us in one does not show.")
    if (amid_hits := findings.amid_hits_us / max(features.total_us, 1e-9)) > _NOTABLE_AMID_HITS:
        notes.append(
            "Segments without their like lie amid others that were all hit. They are taken to have lost as these did: "
            f"{amid_hits:.1%} of the run, which is in the estimate."
        )
    if (in_turns := findings.in_turns_us / max(features.total_us, 1e-9)) > _NOTABLE_IN_TURNS:
        notes.append(
            "After a fixed number of segments one takes longer, again and again. That is taken for a phase of the "
            f"program which its calls do not show; were it interference, {in_turns:.1%} of the run more would be lost."
        )
    return tuple(notes)


def robust_cautions(features: SegmentFeatures, findings: Findings) -> Iterator[Caution]:
    """What speaks against the estimate beside what speaks against any."""
    total_us = max(features.total_us, 1e-9)

    def share(chosen: NDArray[np.bool_]) -> float:
        return float(features.duration_us[chosen].sum()) / total_us

    if features.cpu_us is None and features.work is None:
        yield Caution(
            "no measure of work",
            "Neither processor counters nor CPU times were recorded: segments with more work cannot be told from "
            "segments that were held up.",
        )
    compared_us = findings.excess_us.sum() - findings.amid_hits_us
    difference = 100 * abs(compared_us - findings.median_excess_us) / total_us
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
