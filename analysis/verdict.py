"""From a percentage to a verdict: class, probability, and how well two percentages agree (thesis, section 5.2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "HIGH_ABOVE_PCT", "LOW_BELOW_PCT", "ClassScore", "accuracy", "class_scores", "interference_class", "probability",
]  # fmt: skip

LOW_BELOW_PCT = 7.5  # fit for performance analysis
HIGH_ABOVE_PCT = 15.0  # to be discarded
_STEEPNESS = 0.35  # k of the logistic function
_INFLECTION_PCT = 11.25  # x0, the middle of the medium class


def interference_class(interference_pct: float) -> str:
    """``low`` below 7.5 % of the run time, ``high`` above 15 %, ``medium`` in between, both ends included."""
    if interference_pct < LOW_BELOW_PCT:
        return "low"
    return "high" if interference_pct > HIGH_ABOVE_PCT else "medium"


def probability(interference_pct: ArrayLike) -> NDArray[np.float64]:
    """Probability that a run counts as interfered: logistic function, k = 0.35, x0 = 11.25 %.

    interference_pct: percent of run time, any shape; returns that shape, within (0, 1).
    """
    return 1.0 / (1.0 + np.exp(-_STEEPNESS * (np.asarray(interference_pct, dtype=np.float64) - _INFLECTION_PCT)))


def accuracy(measured_pct: ArrayLike, estimated_pct: ArrayLike) -> NDArray[np.float64]:
    """The thesis's measure of an estimate: 1 minus the difference of the two probabilities. Percent in, [0, 1] out."""
    return 1.0 - np.abs(probability(measured_pct) - probability(estimated_pct))


@dataclass(frozen=True)
class ClassScore:
    """How well one class was recognised: counts of runs, and the scores that follow from them."""

    true_positive: int
    false_positive: int
    false_negative: int

    @property
    def precision(self) -> float:
        """Share of the runs called so that are so; 1 if none was called so."""
        called = self.true_positive + self.false_positive
        return self.true_positive / called if called else 1.0

    @property
    def recall(self) -> float:
        """Share of the runs that are so that were called so; 1 if none is so."""
        real = self.true_positive + self.false_negative
        return self.true_positive / real if real else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def class_scores(measured: Sequence[str], estimated: Sequence[str]) -> dict[str, ClassScore]:
    """Scores per class (``low``, ``medium``, ``high``) of estimated against measured classes, run by run.

    ValueError: the two differ in length.
    """
    pairs = list(zip(measured, estimated, strict=True))
    return {
        name: ClassScore(
            true_positive=sum(m == name and e == name for m, e in pairs),
            false_positive=sum(m != name and e == name for m, e in pairs),
            false_negative=sum(m == name and e != name for m, e in pairs),
        )
        for name in ("low", "medium", "high")
    }
