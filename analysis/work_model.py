"""How long the segments of a group should take by the work that they do: a constant, or a line over one regressor.

The fit must not see the interference that it is there to reveal, which may hit most of the segments. So it is not least
squares over all of them but the line that the best-fitting 40 % agree on (least quantile of squares: P. J. Rousseeuw,
Least median of squares regression, JASA 79, 1984), found from random pairs and refined on those 40 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import median

__all__ = ["WorkModel", "fit_work_model"]

_MIN_MEMBERS = 12  # of a group, for a line
_VARIES = 0.06  # 95 % quantile of a regressor over its 5 % quantile, less 1: below, a line has nothing to follow
_PAIRS = 300
_QUANTILE = 0.4  # of the relative residuals: the share that must fit
_REFITS = 4
_GAIN = 0.8  # a line must bring the quantile below this part of the constant's
_MOST_SCORED = 2000  # members that candidate lines are scored on
_LEAST = 0.05  # of the median: a model never falls below it


@dataclass(frozen=True)
class WorkModel:
    """expected: float64 [member], in the unit of y. regressor: what it follows; None: the same for all members."""

    expected: NDArray[np.float64]
    regressor: str | None


def fit_work_model(y: NDArray[np.float64], regressors: Mapping[str, NDArray[np.float64]]) -> WorkModel:
    """Fit y [member], not negative, by a constant or by a line over the best of the regressors, each [member].

    Slopes are not negative: more work never takes less time. The same input gives the same model. A line is taken only
    if it clearly beats the constant, which is the median.
    """
    centre = median(y)
    best = np.full(y.size, centre)
    best_score, chosen = _GAIN * _score(y, best), None
    if y.size >= _MIN_MEMBERS:
        for name, x in regressors.items():
            if not _varies(x):
                continue
            line = _least_quantile_line(x, y)
            if line is not None and (score := _score(y, line)) < best_score:
                best, best_score, chosen = line, score, name
    return WorkModel(np.maximum(best, _LEAST * centre), chosen)


def _varies(x: NDArray[np.float64]) -> bool:
    if x.max() <= (1 + _VARIES) * x.min():  # most do not vary at all, and quantiles cost more
        return False
    low, high = np.quantile(x, (0.05, 0.95))
    return bool(high > (1 + _VARIES) * low)


def _relative(y: NDArray[np.float64], model: NDArray[np.float64]) -> NDArray[np.float64]:
    """Absolute residuals in parts of the model, of the shape of the model; infinite where that is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(model > 0, np.abs(y - model) / model, np.inf)


def _rank_of_quantile(n: int) -> int:
    return max(int(np.ceil(_QUANTILE * n)) - 1, 0)


def _score(y: NDArray[np.float64], model: NDArray[np.float64]) -> float:
    """The quantile of the relative residuals."""
    k = _rank_of_quantile(y.size)
    return float(np.partition(_relative(y, model), k)[k])


def _least_quantile_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The values [member] of the best line; None where no two members give one."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(y.size, size=(2, _PAIRS))
    usable = x[first] != x[second]
    if not np.any(usable):
        return None
    first, second = first[usable], second[usable]
    slope = (y[second] - y[first]) / (x[second] - x[first])
    slope, first = slope[slope >= 0], first[slope >= 0]
    if not slope.size:
        return None
    intercept = y[first] - slope * x[first]
    scored = rng.permutation(y.size)[:_MOST_SCORED]
    residuals = _relative(y[scored], intercept[:, None] + slope[:, None] * x[scored])
    k = _rank_of_quantile(scored.size)
    best = int(np.argmin(np.partition(residuals, k, axis=1)[:, k]))
    return _refined(x, y, intercept[best] + slope[best] * x)


def _refined(x: NDArray[np.float64], y: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.float64]:
    """The line after least-squares fits to the members that it describes best, as far as they improve it."""
    best, best_score = line, _score(y, line)
    for _ in range(_REFITS):
        fitting = np.argsort(_relative(y, line), kind="stable")[: _rank_of_quantile(y.size) + 1]
        centred = x[fitting] - x[fitting].mean()
        spread = float(centred @ centred)
        if spread <= 0:
            break
        slope = max(float(centred @ y[fitting]) / spread, 0.0)
        line = y[fitting].mean() + slope * (x - x[fitting].mean())
        if (score := _score(y, line)) < best_score:
            best, best_score = line, score
    return best
