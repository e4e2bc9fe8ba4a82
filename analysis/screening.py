"""Screening of every job: which to look at first, by what they left idle and by how they use shared file systems.

Pure functions of a job's sums. The thresholds are what a job has to reach to be named, and a score of 1; they say
"look here", not "this is wrong". Rates are those of the whole job, over at least MIN_RATE_S: what a program does at its
start is no storm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crosswind.db.sums import MIN_RATE_S, SMALL_BYTES, SUSPICIOUS_RATES

__all__ = ["PATTERNS", "Finding", "Pattern", "Usage", "Waste", "findings", "score", "waste"]


@dataclass(frozen=True)
class Usage:
    """What a job did in all. elapsed_s: from its start to its end. cpus: allocated, None where not known. cpu_s: CPU
    time of all its processes. Requests, bytes and metadata calls are those on network and local file systems, opens
    those of any file.
    """

    elapsed_s: float
    cpus: int | None
    cpu_s: float
    requests: int
    bytes_moved: int
    opens: int
    metadata_calls: int

    @property
    def rate_s(self) -> float:
        """What counts are divided by to become rates."""
        return max(self.elapsed_s, MIN_RATE_S)


@dataclass(frozen=True)
class Waste:
    """Allocated and not used. idle_core_h: core hours; idle_share: of what was allocated, 0 to 1."""

    idle_core_h: float
    idle_share: float


@dataclass(frozen=True)
class Pattern:
    """One way of using a file system that hurts others. threshold: in `unit`; a job is named above it."""

    name: str
    unit: str
    threshold: float
    why: str


@dataclass(frozen=True)
class Finding:
    """A pattern that a job shows. value: in the pattern's unit; score: value over threshold."""

    name: str
    value: float
    unit: str
    score: float


_WHY = {
    "small requests": f"requests of less than {SMALL_BYTES // 1024} KiB on average: each costs a trip",
    "many opens": "every open is work for the one metadata server that all jobs share",
    "metadata storm": "opens, stats, renames and removals, all at the metadata server",
}
PATTERNS = {name: Pattern(name, "1/s", SUSPICIOUS_RATES[name], why) for name, why in _WHY.items()}


def waste(usage: Usage) -> Waste | None:
    """What of the allocated cores' time no process used; None where it is not known what was allocated."""
    if not usage.cpus or usage.elapsed_s <= 0:
        return None
    allocated = usage.cpus * usage.elapsed_s
    idle = max(0.0, allocated - usage.cpu_s)
    return Waste(idle / 3600, idle / allocated)


def findings(usage: Usage) -> list[Finding]:
    """The suspicious patterns of a job, the worst first."""
    is_small = usage.requests > 0 and usage.bytes_moved / usage.requests < SMALL_BYTES
    counts = {
        "small requests": usage.requests if is_small else 0,
        "many opens": usage.opens,
        "metadata storm": usage.metadata_calls,
    }
    found = [_finding(PATTERNS[name], count / usage.rate_s) for name, count in counts.items()]
    return sorted((f for f in found if f.score >= 1), key=lambda f: -f.score)


def score(found: Iterable[Finding]) -> float:
    """How suspicious a job is: the score of its worst pattern, 0 without any."""
    return max((f.score for f in found), default=0.0)


def _finding(pattern: Pattern, value: float) -> Finding:
    return Finding(pattern.name, value, pattern.unit, value / pattern.threshold)
