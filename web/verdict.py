"""The one sentence on top of a job's page, and the mark in the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crosswind.db.queries import JobRow

__all__ = ["Verdict", "verdict_of"]

_CLASSES = ("low", "medium", "high")


@dataclass(frozen=True)
class Verdict:
    """class_: low, medium, high or unknown; percent and lost_s are None where it cannot be told."""

    class_: str
    sentence: str
    certain: bool
    percent: float | None
    lost_s: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def verdict_of(job: JobRow) -> Verdict:
    """The verdict stored with a job; a job that was loaded without an estimate says so."""
    estimate = job.estimate
    if not estimate:
        return Verdict("unknown", "No estimate was made for this job.", False, None, None, (), ())
    class_ = estimate.get("class")
    return Verdict(
        class_=class_ if class_ in _CLASSES else "unknown",
        sentence=str(estimate.get("sentence", "")) or "The stored estimate has no sentence.",
        certain=estimate.get("certain") is True,
        percent=_number(estimate.get("interference_pct")),
        lost_s=_number(estimate.get("interference_s")),
        warnings=tuple(map(str, estimate.get("warnings") or ())),
        notes=tuple(map(str, estimate.get("notes") or ())),
    )


def _number(value: Any) -> float | None:  # noqa: ANN401
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
