"""What a method finds in a run, and the answer that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import Grouping

__all__ = ["NO_SEGMENTS", "Caution", "ClusterStatistics", "Detection", "Estimate", "percent_text", "seconds_text"]


NO_SEGMENTS = "no segments: no MPI program, or its ranks meet nowhere in step"


class Caution(NamedTuple):
    """A reason to trust the estimate less: a few words for a sentence, and the whole in plain words."""

    reason: str
    text: str


@dataclass(frozen=True)
class Detection:
    """What a method found; every array is [segment].

    labels: int64, dense cluster numbers. covered: bool, whether the method judged the segment at all. hit: bool,
    whether it calls it interfered. threshold_us: the duration beyond which it does. excess_us: time lost, 0 if not hit.
    cpu_excess_us: CPU time beyond what the cluster needs, or None where that cannot be told.
    work_kind: the work feature used. least_alike: how many like segments the method needs to judge them. noise: how
    much undisturbed like segments differ, in parts of their duration, or None to take the MAD of the clusters.
    bounds_us: between which the sum of excess_us lies, or None where the method cannot tell. notes: choices that the
    data forced, at no cost. cautions: those at a cost.
    """

    labels: NDArray[np.int64]
    covered: NDArray[np.bool_]
    hit: NDArray[np.bool_]
    threshold_us: NDArray[np.float64]
    excess_us: NDArray[np.float64]
    cpu_excess_us: NDArray[np.float64] | None
    work_kind: str
    least_alike: int
    noise: float | None = None
    bounds_us: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True)
class ClusterStatistics:
    """The clusters as columns [cluster]; times in microseconds unless the name says seconds.

    first: int64, index into the table of the cluster's first segment. covered: bool, false for a cluster too small to
    judge.
    """

    first: NDArray[np.int64]
    size: NDArray[np.int64]
    time_s: NDArray[np.float64]
    median_us: NDArray[np.float64]
    mad_us: NDArray[np.float64]
    threshold_us: NDArray[np.float64]
    hit: NDArray[np.int64]
    lost_s: NDArray[np.float64]
    covered: NDArray[np.bool_]

    @classmethod
    def of(cls, detection: Detection, duration_us: NDArray[np.float64]) -> ClusterStatistics:
        """Statistics of the clusters of a detection; duration_us: [segment]."""
        groups = Grouping.of(detection.labels)
        medians = groups.median(duration_us)
        return cls(
            first=groups.first().astype(np.int64),
            size=groups.sizes,
            time_s=groups.sum(duration_us) / 1e6,
            median_us=medians,
            mad_us=groups.mad(duration_us, medians),
            threshold_us=groups.median(detection.threshold_us),
            hit=groups.sum(detection.hit).astype(np.int64),
            lost_s=groups.sum(detection.excess_us) / 1e6,
            covered=groups.sum(detection.covered) > 0,
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters, small ones included."""
        return int(self.size.size)

    def longest(self, limit: int) -> NDArray[np.intp]:
        """The ``limit`` judged clusters with the most time, longest first."""
        judged = np.flatnonzero(self.covered)
        return judged[np.argsort(-self.time_s[judged], kind="stable")][:limit]

    def rows(self, limit: int) -> list[dict[str, Any]]:
        """The ``limit`` judged clusters with the most time, longest first, as dictionaries for JSON and tables."""
        return [
            {
                "size": int(self.size[i]),
                "time_s": float(self.time_s[i]),
                "median_us": float(self.median_us[i]),
                "mad_us": float(self.mad_us[i]),
                "threshold_us": float(self.threshold_us[i]),
                "hit": int(self.hit[i]),
                "lost_s": float(self.lost_s[i]),
                "first_segment": int(self.first[i]),
            }
            for i in self.longest(limit)
        ]


@dataclass(frozen=True, eq=False)
class Estimate:
    """How much of a run's time was lost to interference, and how far that can be trusted.

    interference_pct is None where it cannot be told (no segments, or none with enough others like it); then
    interference_class is ``unknown``, and probability and interval_pct are None. Percentages are of the time that
    segments cover, total_s, and run_delay_pct of the processes' wall time. interval_pct: between which bounds
    interference_pct lies, if what was taken for undisturbed was so; None where the method does not tell. cpu_pct,
    run_delay_pct: None where the data do not hold them. duration_us, excess_us: float64 [segment]; threshold_us:
    float64 [segment], the duration beyond which a segment is hit; hit: bool [segment]; labels: int64 [segment],
    clusters.
    """

    method: str
    interference_pct: float | None
    interval_pct: tuple[float, float] | None
    interference_s: float
    interference_class: str
    probability: float | None
    total_s: float
    segments: int
    hit_segments: int
    cpu_pct: float | None
    run_delay_pct: float | None
    uncovered_pct: float
    work_kind: str
    cautions: tuple[Caution, ...]
    notes: tuple[str, ...]
    clusters: ClusterStatistics
    duration_us: NDArray[np.float64]
    hit: NDArray[np.bool_]
    threshold_us: NDArray[np.float64]
    excess_us: NDArray[np.float64]
    labels: NDArray[np.int64]

    @property
    def certain(self) -> bool:
        """Whether nothing speaks against the figure: there is one, and no caution."""
        return self.interference_pct is not None and not self.cautions

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in plain words."""
        return tuple(caution.text for caution in self.cautions)

    def without_segments(self) -> Estimate:
        """The same without what it says of each segment: those arrays are empty."""
        names = ("duration_us", "hit", "threshold_us", "excess_us", "labels")
        return replace(self, **{name: getattr(self, name)[:0].copy() for name in names})

    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.interference_pct is None:
            reasons = ", ".join(caution.reason for caution in self.cautions)
            return f"Whether time was lost to interference cannot be told: {reasons}."
        trust = "fairly certain"
        if self.cautions:
            trust = f"less certain ({', '.join(caution.reason for caution in self.cautions)})"
        if not self.hit_segments:
            return f"No interference seen in {self.segments} segments; {self._interval_text()}{trust}."
        return (
            f"Lost {percent_text(self.interference_pct)} ({seconds_text(self.interference_s)}) to interference "
            f"in {self.hit_segments} of {self.segments} segments; {self._interval_text()}{trust}."
        )

    def _interval_text(self) -> str:
        """The interval before a judgement of trust; empty where there is none."""
        if self.interval_pct is None:
            return ""
        low, high = self.interval_pct
        return f"at most {high:.1f} %, " if low < 0.05 else f"between {low:.1f} and {high:.1f} %, "

    def to_json(self, max_clusters: int = 100) -> dict[str, Any]:
        """The document of ``estimate --json``; the ``max_clusters`` longest clusters, the rest only counted."""
        rows = self.clusters.rows(max_clusters)
        return {
            "method": self.method,
            "sentence": self.sentence(),
            "interference_pct": self.interference_pct,
            "interval_pct": None if self.interval_pct is None else list(self.interval_pct),
            "interference_s": self.interference_s,
            "class": self.interference_class,
            "probability": self.probability,
            "certain": self.certain,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "segments": self.segments,
            "hit_segments": self.hit_segments,
            "total_s": self.total_s,
            "cpu_pct": self.cpu_pct,
            "run_delay_pct": self.run_delay_pct,
            "uncovered_pct": self.uncovered_pct,
            "work_feature": self.work_kind,
            "clusters": rows,
            "clusters_not_listed": self.clusters.n_clusters - len(rows),
        }


def percent_text(value: float) -> str:
    """Two significant digits; everything below a tenth in words."""
    if value < 0.1:
        return "less than 0.1 %"
    return f"about {value:.2g} %" if value < 10 else f"about {value:.0f} %"


def seconds_text(value: float) -> str:
    """A duration in the unit that reads best, two significant digits up to 100 s."""
    if value >= 7200:
        return f"{value / 3600:.1f} h"
    if value >= 120:
        return f"{value / 60:.0f} min"
    if value >= 10:
        return f"{value:.0f} s"
    if value >= 0.1:
        return f"{value:.2g} s"
    return f"{value * 1e3:.0f} ms" if value >= 0.01 else f"{value * 1e3:.2g} ms"
