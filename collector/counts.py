"""What the daemon has done so far, as plain numbers. `metrics.py` shows them to Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from crosswind.collector.report import CollectReport

__all__ = ["LAG_BOUNDS_S", "LOOK_BOUNDS_S", "Counts", "Distribution"]

LAG_BOUNDS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 3600.0)
LOOK_BOUNDS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass
class Distribution:
    """How many values fell at or below each bound, and above the last; their sum."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts = self.counts or [0] * (len(self.bounds) + 1)
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass
class Counts:
    """Totals since the start, and what the last look saw. steps: loaded steps, `running` or `finished`. slices: process
    slices of finished steps. lost: steps that were ended since nobody
    heard of them any more. refused: files by kind of reason; errors: by what failed. lag: from the end of the newest
    slice of a running step until it was in the database. files, waiting: followed, and beyond their users' quotas.
    """

    looks: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    slices: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    lost: int = 0
    lag: Distribution = field(default_factory=lambda: Distribution(LAG_BOUNDS_S))
    look: Distribution = field(default_factory=lambda: Distribution(LOOK_BOUNDS_S))
    files: int = 0
    waiting: int = 0
    running: int = 0
    last_look_s: float = 0.0  # UTC, when it ended

    def add(self, report: CollectReport) -> None:
        """What one look loaded and refused."""
        self.refused.update(report.kinds)
        self.recovered += report.recovered
