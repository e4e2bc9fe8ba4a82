"""What speaks against an estimate from one run, whatever the method. A caution says "less certain", never "wrong"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crosswind.analysis.arrays import weighted_median
from crosswind.analysis.features import SegmentFeatures
from crosswind.analysis.result import Caution, ClusterStatistics, Detection

__all__ = ["general_cautions", "run_delay_cautions"]

_MANY_HIT = 0.35  # of the judged segments; a median starts to move
_UNCOVERED = 0.10  # of the time; about what separates two classes
_FEW_SEGMENTS = 30  # judged ones; the MAD of fewer is a guess
_NOISY = 0.03  # MAD over median; four of them hide 12 %
_NOISY_AT_HIGH_RATE = 0.01
_HIGH_RATE_HZ = 1000.0
_RUN_DELAY_PCT = 5.0  # of the wall time; ranks with a processor of their own wait well below 1 %


def general_cautions(
    features: SegmentFeatures, detection: Detection, clusters: ClusterStatistics
) -> tuple[Caution, ...]:
    """The cautions that apply; limits as in the study behind docs/estimator.md."""
    return tuple(_cautions(features, detection, clusters))


def _cautions(features: SegmentFeatures, detection: Detection, clusters: ClusterStatistics) -> Iterator[Caution]:
    judged = int(np.count_nonzero(detection.covered))
    total_us = max(features.total_us, 1e-9)

    if judged < _FEW_SEGMENTS:
        yield Caution(
            "few segments",
            f"Only {judged} segments could be compared with others; "
            f"with fewer than {_FEW_SEGMENTS} the usual duration is a guess.",
        )
    share_hit = np.count_nonzero(detection.hit) / max(judged, 1)
    if share_hit > _MANY_HIT:
        yield Caution(
            "many segments hit",
            f"{share_hit:.0%} of the judged segments were hit: their usual duration is hard to tell then, "
            "and the loss may be larger.",
        )
    uncovered = float(features.duration_us[~detection.covered].sum()) / total_us
    if uncovered > _UNCOVERED:
        yield Caution(
            f"{uncovered:.0%} of the time not judged",
            f"{uncovered:.0%} of the time lies in segments that have too few others like them to be judged.",
        )
    noise = _noise(clusters) if detection.noise is None else detection.noise
    if noise > _NOISY:
        yield Caution(
            "noisy segments",
            f"Like segments differ by {noise:.1%} in the median: either interference below some {4 * noise:.0%} of a "
            "segment does not show, or more than half of the segments were hit.",
        )
    rate_hz = features.stride.sum() / (total_us / 1e6)
    if _NOISY_AT_HIGH_RATE < noise <= _NOISY and rate_hz > _HIGH_RATE_HZ:
        yield Caution(
            "very short segments",
            f"{rate_hz:.0f} global collectives a second make segments so short that jitter of {noise:.1%} blurs them.",
        )
    if np.any(features.from_call_sites):
        yield Caution(
            "segments cut at call sites",
            "Segments are cut at recurring call sites, where nothing synchronises the ranks: a delay of one may show "
            "in a later segment of another, or not at all.",
        )
    stride = int(features.stride.max(initial=1))
    if stride > 1:
        yield Caution(
            "merged segments",
            f"Up to {stride} neighbouring segments were merged into one to bound memory: "
            "short interference is averaged out.",
        )


def run_delay_cautions(run_delay_pct: float | None) -> tuple[Caution, ...]:
    """The caution that ranks had to share processors: where that slows every segment, comparing them shows nothing."""
    if run_delay_pct is None or run_delay_pct <= _RUN_DELAY_PCT:
        return ()
    text = (
        f"The ranks were ready but waited for a processor for {run_delay_pct:.0f} % of the time. "
        "Where that slows every segment alike, the estimate does not contain it."
    )
    return (Caution("processors were shared", text),)


def _noise(clusters: ClusterStatistics) -> float:
    """MAD over median of the clusters, weighed by their time: the value below which half of the judged time lies."""
    usable = clusters.covered & (clusters.median_us > 0)
    return weighted_median(clusters.mad_us[usable] / clusters.median_us[usable], clusters.time_s[usable])
