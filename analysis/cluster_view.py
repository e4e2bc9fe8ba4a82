"""The clusters of an estimated run as pages draw them: a box, a histogram with the threshold, and when it was hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError
from crosswind.analysis.result import Estimate
from crosswind.analysis.starts import begins_us
from crosswind.profile.segments import SegmentTable

__all__ = ["WHISKERS", "ClusterView", "Histogram", "HitSegments", "box_us", "cluster_view"]

WHISKERS = (0.01, 0.99)  # quantiles: a box's whiskers hold the middle 98 % of the members
_BOX = (WHISKERS[0], 0.25, 0.5, 0.75, WHISKERS[1])
_WIDE = 10.0  # largest over smallest value, from which on bins of equal width show nothing but the tail
_LEAST_RANGE = 1e-6  # of the values; closer together they are one bar


@dataclass(frozen=True)
class Histogram:
    """How many members took how long; every member is in a bin.

    edges_us: float64 [bin + 1], ascending. quiet, hit: int64 [bin], members not hit and hit. logarithmic: whether bins
    are of equal width on a logarithmic axis, not on a linear one.
    """

    edges_us: NDArray[np.float64]
    quiet: NDArray[np.int64]
    hit: NDArray[np.int64]
    logarithmic: bool


@dataclass(frozen=True)
class HitSegments:
    """The hit members of a cluster that lost most, in run order; arrays are [hit].

    segment: int64, numbers since MPI_Init. begin_us: float64, UTC microseconds, or None where the table has no start
    times. duration_us, lost_us: float64, of the whole row, which may merge several segments. not_listed: how many more
    there are.
    """

    segment: NDArray[np.int64]
    begin_us: NDArray[np.float64] | None
    duration_us: NDArray[np.float64]
    lost_us: NDArray[np.float64]
    not_listed: int


@dataclass(frozen=True)
class ClusterView:
    """One judged cluster. Durations are microseconds of one segment: a row that merges several counts as their mean.

    label: its number in Estimate.labels, and its place in Estimate.clusters. members: rows of the table; segments: of
    the program, of which a row may merge several. low_us, high_us: the ends of the whiskers, see WHISKERS.
    threshold_us: beyond which a member is hit; the median over the members where each has its own, because what a
    segment should take follows its work. time_s, lost_s: of all members together. closed_by: the call that ended the
    first member, empty where it is not known.
    """

    label: int
    members: int
    segments: int
    time_s: float
    lost_s: float
    low_us: float
    q1_us: float
    median_us: float
    q3_us: float
    high_us: float
    threshold_us: float
    histogram: Histogram
    hits: HitSegments
    closed_by: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same with lists for arrays, for scripts and the API."""
        box = {name: getattr(self, name) for name in ("low_us", "q1_us", "median_us", "q3_us", "high_us")}
        return {
            "members": self.members,
            "segments": self.segments,
            "time_s": self.time_s,
            "lost_s": self.lost_s,
            "closed_by": self.closed_by or None,
            **box,
            "threshold_us": self.threshold_us,
            "histogram": {
                "edges_us": self.histogram.edges_us.tolist(),
                "quiet": self.histogram.quiet.tolist(),
                "hit": self.histogram.hit.tolist(),
                "logarithmic": self.histogram.logarithmic,
            },
            "hits": {
                "segment": self.hits.segment.tolist(),
                "begin_us": None if self.hits.begin_us is None else self.hits.begin_us.tolist(),
                "duration_us": self.hits.duration_us.tolist(),
                "lost_us": self.hits.lost_us.tolist(),
                "not_listed": self.hits.not_listed,
            },
        }


def cluster_view(
    table: SegmentTable, estimate: Estimate, *, clusters: int = 8, bins: int = 60, most_hits: int = 1000
) -> tuple[ClusterView, ...]:
    """The `clusters` judged clusters with the most time, longest first, as in the document of ``estimate --json``.

    table: the segments that were estimated. bins: of each histogram. most_hits: how many hit members of a cluster are
    listed at most, those that lost most. Empty where nothing was judged. InputError: the table is not the one that
    was estimated, or bins is less than 1.
    """
    if estimate.hit.size != table.n_segments:
        raise InputError(f"the estimate is of {estimate.hit.size} segments, the table has {table.n_segments}")
    if bins < 1:
        raise InputError(f"a histogram needs a bin or more, not {bins}")
    begins = begins_us(table, estimate) if "t_start_us" in table.columns else None
    return tuple(
        _view(table, estimate, int(label), begins, bins, most_hits) for label in estimate.clusters.longest(clusters)
    )


def box_us(duration_us: NDArray[np.float64]) -> tuple[float, float, float, float, float]:
    """Low whisker, first quartile, median, third quartile and high whisker of durations [member], at least one."""
    low, q1, median, q3, high = (float(value) for value in np.quantile(duration_us, _BOX))
    return low, q1, median, q3, high


def _view(
    table: SegmentTable,
    estimate: Estimate,
    label: int,
    begins: NDArray[np.float64] | None,
    bins: int,
    most_hits: int,
) -> ClusterView:
    members = np.flatnonzero(estimate.labels == label)
    stride = table.stride[members]
    duration_us = estimate.duration_us[members] / stride
    low, q1, median, q3, high = box_us(duration_us)
    return ClusterView(
        label=label,
        members=members.size,
        segments=int(stride.sum()),
        time_s=float(estimate.clusters.time_s[label]),
        lost_s=float(estimate.clusters.lost_s[label]),
        low_us=low,
        q1_us=q1,
        median_us=median,
        q3_us=q3,
        high_us=high,
        threshold_us=float(np.median(estimate.threshold_us[members] / stride)),
        histogram=_histogram(duration_us, estimate.hit[members], bins),
        hits=_hits(table, estimate, members[estimate.hit[members]], begins, most_hits),
        closed_by=table.closed_by(int(members[0])),
    )


def _histogram(duration_us: NDArray[np.float64], hit: NDArray[np.bool_], bins: int) -> Histogram:
    low, high = float(duration_us.min()), float(duration_us.max())
    logarithmic = low > 0 and high > _WIDE * low
    if high - low <= _LEAST_RANGE * high:
        margin = 0.01 * high or 0.5
        edges = np.linspace(low - margin, high + margin, bins + 1)
    elif logarithmic:
        edges = np.geomspace(low, high, bins + 1)
    else:
        edges = np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # no member is lost to rounding
    quiet, struck = (np.histogram(duration_us[chosen], bins=edges)[0].astype(np.int64) for chosen in (~hit, hit))
    return Histogram(edges, quiet, struck, logarithmic)


def _hits(
    table: SegmentTable, estimate: Estimate, hit: NDArray[np.intp], begins: NDArray[np.float64] | None, most: int
) -> HitSegments:
    """Of the hit rows, ascending, the `most` with the largest loss."""
    worst = np.argsort(-estimate.excess_us[hit], kind="stable")[: max(most, 0)]
    listed = hit[np.sort(worst)]
    return HitSegments(
        segment=table.index[listed],
        begin_us=None if begins is None else begins[listed],
        duration_us=estimate.duration_us[listed],
        lost_us=estimate.excess_us[listed],
        not_listed=int(hit.size - listed.size),
    )
