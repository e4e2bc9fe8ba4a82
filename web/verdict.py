"""The one sentence on top of a job's page, and the mark in the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crosswind.db.queries import JobRow
from crosswind.web.jobdata import Loss

__all__ = ["Verdict", "verdict_of", "verdict_of_loss"]

_CLASSES = ("low", "medium", "high")


@dataclass(frozen=True)
class Verdict:
    """class_: low, medium, high or unknown; percent is None where it cannot be told."""

    class_: str
    sentence: str
    certain: bool
    percent: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def verdict_of(job: JobRow) -> Verdict:
    """The verdict stored with a job; a job that was loaded without an estimate says so."""
    return _verdict(job.estimate) if job.estimate else _unknown("No estimate was made for this job.")


def verdict_of_loss(loss: Loss) -> Verdict:
    """The verdict on a job that was loaded without an estimate: why there is none."""
    return _unknown(f"Whether time was lost to interference cannot be told. {loss.why_not}".rstrip())


def _verdict(estimate: dict[str, Any]) -> Verdict:
    class_ = estimate.get("class")
    return Verdict(
        class_=class_ if class_ in _CLASSES else "unknown",
        sentence=str(estimate.get("sentence", "")) or "The stored estimate has no sentence.",
        certain=estimate.get("certain") is True,
        percent=_number(estimate.get("interference_pct")),
        warnings=tuple(map(str, estimate.get("warnings") or ())),
        notes=tuple(map(str, estimate.get("notes") or ())),
    )


def _unknown(sentence: str) -> Verdict:
    return Verdict("unknown", sentence, False, None, (), ())


def _number(value: Any) -> float | None:  # noqa: ANN401 (any JSON value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
