"""Repetitions of a program together with another, against repetitions of it alone.

Shah (2020), 3.3.2, takes the best of five runs; here it is the median of all, with its spread. The interval is that of
a percentile bootstrap of the ratio of medians (B. Efron, Bootstrap methods: another look at the jackknife, Ann.
Statist. 7, 1979). Of five repetitions a median has few values to take, so the interval is a rough one; of two it would
hold the truth in two of three cases, so there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError

__all__ = ["Change", "Spread", "rate_change", "spread", "time_change"]

RESAMPLES = 4999
CONFIDENCE = 0.95
LEAST = 3  # repetitions on each side, for an interval
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Repetitions of one measure, in its unit: median, quartiles, how many."""

    median: float
    q1: float
    q3: float
    n: int

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        return self.q3 - self.q1


@dataclass(frozen=True)
class Change:
    """How a program fares beside another. isolated, together: of the measure itself.

    lost_pct: percent of the time together that the same work would not have needed alone. Of a rate that is its
    degradation; it is also what an estimate of interference gives. slow_down_pct: how much longer the same work takes,
    percent of the time alone. The intervals are of 95 %, None with fewer than three repetitions on a side.
    """

    isolated: Spread
    together: Spread
    lost_pct: float
    lost_interval_pct: tuple[float, float] | None
    slow_down_pct: float
    slow_down_interval_pct: tuple[float, float] | None


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles (NumPy's linear ones) of at least one value. InputError: none, or not all above 0."""
    checked = _checked(values)
    q1, median, q3 = (float(q) for q in np.quantile(checked, (0.25, 0.5, 0.75)))
    return Spread(median, q1, q3, checked.size)


def rate_change(isolated: Sequence[float], together: Sequence[float], *, seed: int = 0) -> Change:
    """Of rates (work per second, of any unit): lost_pct is 100 (T_isolated - T_together) / T_isolated, the degradation
    of Shah (2020), 3.3.3.
    """
    kept, interval = _ratio(isolated, together, seed)
    return _change(isolated, together, kept, interval)


def time_change(isolated: Sequence[float], together: Sequence[float], *, seed: int = 0) -> Change:
    """Of times (of any unit) for the same work: slow_down_pct is 100 (t_together - t_isolated) / t_isolated."""
    longer, interval = _ratio(isolated, together, seed)
    return _change(isolated, together, 1 / longer, None if interval is None else 1 / interval)


def _change(isolated: Sequence[float], together: Sequence[float], kept: float, interval: Floats | None) -> Change:
    """kept: the speed together over the speed alone; interval: its ends, [2]."""
    return Change(
        isolated=spread(isolated),
        together=spread(together),
        lost_pct=_lost_pct(kept),
        lost_interval_pct=_mapped(interval, _lost_pct),
        slow_down_pct=_slow_down_pct(kept),
        slow_down_interval_pct=_mapped(interval, _slow_down_pct),
    )


def _lost_pct(kept: float) -> float:
    return 100 * (1 - kept)


def _slow_down_pct(kept: float) -> float:
    return 100 * (1 / kept - 1)


def _ratio(isolated: Sequence[float], together: Sequence[float], seed: int) -> tuple[float, Floats | None]:
    """Median together over median alone, and the ends of its interval, [2], or None. Seeded: the same every time."""
    alone, beside = _checked(isolated), _checked(together)
    ratio = float(np.median(beside) / np.median(alone))
    if min(alone.size, beside.size) < LEAST:
        return ratio, None
    random = np.random.default_rng(seed)
    drawn = _medians(beside, random) / _medians(alone, random)
    tail = (1 - CONFIDENCE) / 2
    return ratio, np.quantile(drawn, (tail, 1 - tail))


def _medians(values: Floats, random: np.random.Generator) -> Floats:
    """Medians of resamples of the values, [resample]."""
    drawn = random.integers(0, values.size, (RESAMPLES, values.size))
    return np.median(values[drawn], axis=1)


def _mapped(interval: Floats | None, to_pct: Callable[[float], float]) -> tuple[float, float] | None:
    """The ends of an interval in percent, the lower first."""
    if interval is None:
        return None
    low, high = sorted(to_pct(float(end)) for end in interval)
    return low, high


def _checked(values: Sequence[float]) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not found.size:
        raise InputError("there are no repetitions to compare")
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError("a repetition without a positive measure cannot be compared")
    return found
