"""The estimator of the thesis, section 5.1: hybrid clusters, and what lies beyond median + 4 MAD.

The steps are the thesis's; docs/estimator.md lists the choices that its text leaves open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import Grouping
from crosswind.analysis.clustering import exact_groups, hybrid_clusters, relative_distance_clusters
from crosswind.analysis.features import SegmentFeatures
from crosswind.analysis.result import Caution, Detection

__all__ = ["MIN_CLUSTER", "RELATIVE_DISTANCE", "THRESHOLD_MADS", "beyond_threshold", "detect"]

RELATIVE_DISTANCE = 0.1  # best of those compared in figure 5.4
MIN_CLUSTER = 5  # smaller clusters count as not clustered
THRESHOLD_MADS = 4.0

_SPLINTER = 0.1  # of the segments with the same calls; in smaller groups the bytes only vary
_SPLINTERED_SHARE = 0.5  # of the time in splinters, from which on the byte counts are dropped
_WIDE_CLUSTER = 1.5  # 95 % quantile of the work over the 5 % quantile; a cluster without a chain stays below
_WIDE_SHARE = 0.1  # of the time in such clusters, from which on the estimate is doubtful


def detect(features: SegmentFeatures) -> Detection:
    """Find the interfered segments of a run and the time they lost.

    A segment is hit if it took longer than the median of its hybrid cluster plus 4 MAD; it lost what lies beyond
    that threshold. Segments in clusters of fewer than 5 are not judged, nor are those of clusters most of which took no
    time: their threshold would be 0, and every one that took any would be lost whole.
    """
    groups, bytes_notes, bytes_cautions = communication_groups(features)
    labels, work_notes, work_cautions = _split_by_work(features, groups)
    clusters = Grouping.of(labels)
    takes_time = clusters.median(features.duration_us) > 0
    covered = ((clusters.sizes >= MIN_CLUSTER) & takes_time)[labels]
    threshold, hit, excess = beyond_threshold(features.duration_us, clusters, covered)
    return Detection(
        labels=labels,
        covered=covered,
        hit=hit,
        threshold_us=threshold,
        excess_us=excess,
        cpu_excess_us=_cpu_excess(features, clusters, covered),
        work_kind=features.work_kind,
        least_alike=MIN_CLUSTER,
        notes=work_notes + bytes_notes,
        cautions=work_cautions + bytes_cautions + _wide_clusters(features, clusters, covered),
    )


def beyond_threshold(
    values: NDArray[np.float64], clusters: Grouping, covered: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Threshold median + 4 MAD of each member's cluster, which covered members exceed it, and by how much.

    values: [member], any unit. Returns threshold, hit, excess, each [member]. Source: thesis, section 5.1.3.
    """
    medians = clusters.median(values)
    threshold = (medians + THRESHOLD_MADS * clusters.mad(values, medians))[clusters.labels]
    hit = covered & (values > threshold)
    return threshold, hit, np.where(hit, values - threshold, 0.0)


def communication_groups(
    features: SegmentFeatures,
) -> tuple[NDArray[np.int64], tuple[str, ...], tuple[Caution, ...]]:
    """Groups of segments with the same communication and I/O, int64 [segment], with notes and cautions about them.

    Byte counts are dropped, as section 5.1.1 proposes, when they split more than half of the time into splinters:
    groups smaller than 5, or than a tenth of the segments with the same calls. That is worth a note where counters
    still tell segments of different work apart, and a caution where they do not.
    """
    calls = [features.ranks > 0, features.stride, *features.calls.values()]
    by_calls = Grouping.of(exact_groups(calls))
    exact = Grouping.of(exact_groups([*calls, *features.bytes.values()]))
    alike = by_calls.sizes[by_calls.labels[exact.first()]]  # segments with the same calls, per exact group
    splinters = exact.sizes < np.maximum(MIN_CLUSTER, _SPLINTER * alike)
    share = _time_share(features, splinters[exact.labels])
    share_by_calls = _time_share(features, (by_calls.sizes < MIN_CLUSTER)[by_calls.labels])
    if share <= max(_SPLINTERED_SHARE, share_by_calls):  # few splinters, or as many without the bytes
        return exact.labels, (), ()
    text = (
        f"Byte counts of communication and I/O vary: they split {share:.0%} of the time into groups too small to "
        "compare. They were left out; segments are told apart by the numbers of calls only."
    )
    if features.has_counters:
        return by_calls.labels, (text,), ()
    return by_calls.labels, (), (Caution("byte counts vary", text),)


def _split_by_work(
    features: SegmentFeatures, groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[str, ...], tuple[Caution, ...]]:
    """Hybrid clusters, int64 [segment], with a word on the work feature where it is not the best one."""
    if features.work is None:
        text = (
            "Neither processor counters nor CPU times were recorded: segments with more work cannot be told from "
            "segments that were held up."
        )
        return groups, (), (Caution("no measure of work", text),)
    labels = hybrid_clusters(relative_distance_clusters(features.work, RELATIVE_DISTANCE), groups)
    if features.work_kind == "cpu_us":
        text = (
            "No processor counters: CPU time stands in for work. Interference that takes CPU time (caches, memory, "
            "hypervisor) then looks like work and is missed."
        )
        return labels, (), (Caution("no processor counters", text),)
    if features.work_kind == "instructions":
        return labels, ("No count of floating-point operations: instructions stand in for work.",), ()
    return labels, (), ()


def _time_share(features: SegmentFeatures, chosen: NDArray[np.bool_]) -> float:
    """Share of the time in the chosen segments, bool [segment]."""
    return float(features.duration_us[chosen].sum()) / max(features.total_us, 1e-9)


def _cpu_excess(
    features: SegmentFeatures, clusters: Grouping, covered: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """CPU time beyond the threshold of each cluster, [segment]; None where CPU time itself made the clusters."""
    if features.cpu_us is None or features.work_kind == "cpu_us" or not np.any(features.cpu_us > 0):
        return None
    return beyond_threshold(features.cpu_us, clusters, covered)[2]


def _wide_clusters(features: SegmentFeatures, clusters: Grouping, covered: NDArray[np.bool_]) -> tuple[Caution, ...]:
    """Clusters that a drift of the work has chained together: their spread is work, not interference."""
    if features.work is None:
        return ()
    low, high = clusters.quantile(features.work, 0.05), clusters.quantile(features.work, 0.95)
    wide = covered & (high > _WIDE_CLUSTER * low)[clusters.labels]
    share = _time_share(features, wide)
    if share <= _WIDE_SHARE:
        return ()
    text = (
        f"{share:.0%} of the time lies in clusters whose work drifts by more than half: a longer segment there may "
        "only have had more to do, and a disturbed one may hide."
    )
    return (Caution("work drifts", text),)
