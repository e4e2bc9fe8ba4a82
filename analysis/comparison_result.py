"""What a comparison of several runs found, and the answer that is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.result import Estimate, percent_text

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs side by side; clusters in order of their time over all runs.

    estimates: [run], each run by itself. size: int64 [run, cluster], segments. level_us, error_us, median_us: float64
    [run, cluster], the undisturbed level of a segment's duration with its standard error, and the median; NaN where a
    run has fewer than 8 of the cluster. lost_s: float64 [run, cluster], what each run by itself lost in the cluster.
    same_work: bool [cluster], false where processor counters say that the runs did different work in it. steady_pct:
    float64 [run], percent of the run by which its undisturbed levels exceed those of the quickest run, over the
    clusters that all runs share. chance_pct: float64 [run], how much of that chance explains, in 99 of 100 runs.
    shared_pct: float64 [run], percent of the run in those clusters. differ_pct: by how much the slowest run exceeds the
    quickest, percent of the quickest, where three or more runs differ so much among themselves that chance and
    interference cannot be told apart; else None.
    """

    estimates: tuple[Estimate, ...]
    size: NDArray[np.int64]
    level_us: NDArray[np.float64]
    error_us: NDArray[np.float64]
    median_us: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    same_work: NDArray[np.bool_]
    steady_pct: NDArray[np.float64]
    chance_pct: NDArray[np.float64]
    shared_pct: NDArray[np.float64]
    differ_pct: float | None

    @property
    def n_clusters(self) -> int:
        """Number of clusters over all runs."""
        return int(self.same_work.size)

    @property
    def is_slower(self) -> NDArray[np.bool_]:
        """Whether each run was slower throughout by more than chance explains, bool [run]."""
        return self.steady_pct > self.chance_pct

    def told_clusters(self, limit: int) -> NDArray[np.intp]:
        """The first `limit` clusters of which at least one run has enough to tell a level."""
        return np.flatnonzero(np.any(np.isfinite(self.level_us), axis=0))[:limit]

    def sentence(self, names: Sequence[str]) -> str:
        """The answer in one sentence; names: what the runs are called, [run]."""
        if not np.any(self.shared_pct > 0):
            return "The runs have no segments in common that could be compared: are they of the same program and input?"
        if self.is_slower.any():
            answer = self._slowest(names)
        else:
            answer = (
                "No run was slower throughout by more than chance explains, which is up to "
                f"{self.chance_pct.max():.1f} % of a run"
            )
        if self.differ_pct is not None:
            answer += f"; the runs differ among themselves by up to {self.differ_pct:.0f} %"
            answer += ": chance or interference cannot be told apart"
        if not all(estimate.certain for estimate in self.estimates):
            answer += "; less certain, the estimates of the single runs have warnings"
        return f"{answer}."

    def _slowest(self, names: Sequence[str]) -> str:
        """Which run was slowest throughout, and by how much, without a full stop."""
        slowest = int(np.argmax(np.where(self.is_slower, self.steady_pct, 0.0)))
        lost = percent_text(self.steady_pct[slowest])
        chance = f"{self.chance_pct[slowest]:.1f} % may be chance"
        return (
            f"{names[slowest]} was slower throughout: {lost} of its time, of which {chance}, against the quickest run"
        )

    def to_json(self, names: Sequence[str], max_clusters: int = 100) -> dict[str, Any]:
        """The document of ``compare --json`` but for what the runs are called; the first ``max_clusters`` clusters."""
        runs = [
            {
                "total_s": estimate.total_s,
                "interference_pct": estimate.interference_pct,
                "interference_s": estimate.interference_s,
                "certain": estimate.certain,
                "steady_pct": float(self.steady_pct[i]),
                "chance_pct": float(self.chance_pct[i]),
                "slower": bool(self.is_slower[i]),
                "shared_pct": float(self.shared_pct[i]),
            }
            for i, estimate in enumerate(self.estimates)
        ]
        clusters = [
            {
                "size": self.size[:, c].tolist(),
                "level_us": _numbers(self.level_us[:, c]),
                "median_us": _numbers(self.median_us[:, c]),
                "lost_s": self.lost_s[:, c].tolist(),
                "same_work": bool(self.same_work[c]),
            }
            for c in range(min(self.n_clusters, max_clusters))
        ]
        return {"sentence": self.sentence(names), "differ_pct": self.differ_pct, "runs": runs, "clusters": clusters}


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """NaN as None, which JSON has a word for."""
    return [None if np.isnan(value) else float(value) for value in values]
