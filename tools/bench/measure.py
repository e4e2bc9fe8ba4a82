"""How the benchmark compares: variants of one program take turns, and differences are taken within a round.

The machine drifts and other work on it comes and goes; both hit the variants of one round alike. A value is the median
over rounds of (variant - reference), its interval the 95 % bootstrap interval of that median.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000

Samples = Mapping[str, NDArray[np.float64]]
"""Of one quantity: variant -> values [round]."""


class BenchError(Exception):
    """A program of the benchmark failed; the message is one line."""


@dataclass(frozen=True)
class Variant:
    """What is preloaded into the program that is measured."""

    name: str
    preload: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def assignments(self) -> list[str]:
        """Arguments for env(1)."""
        preload = [f"LD_PRELOAD={self.preload}"] if self.preload else []
        return preload + [f"{name}={value}" for name, value in self.settings.items()]


@dataclass(frozen=True)
class Interval:
    """A median with the 95 % interval of its estimate."""

    median: float
    low: float
    high: float

    def text(self, digits: int) -> str:
        """The median with half the interval's width."""
        return f"{self.median:.{digits}f} ± {(self.high - self.low) / 2:.{digits}f}"


@dataclass(frozen=True)
class Goal:
    """At most `limit`, in the unit of the result, for `variant` minus `reference`; without a reference for itself."""

    limit: float
    variant: str
    reference: str = ""


@dataclass(frozen=True)
class Outcome:
    """A goal, what it came to, and "met" or "missed" when the whole interval says so, else "unclear"."""

    goal: Goal
    value: Interval

    @property
    def verdict(self) -> str:
        """In one word."""
        if self.value.high <= self.goal.limit:
            return "met"
        return "missed" if self.value.low > self.goal.limit else "unclear"


@dataclass(frozen=True)
class Result:
    """One line of the table: samples per variant [round], in `unit`."""

    name: str
    unit: str
    digits: int
    samples: Mapping[str, NDArray[np.float64]]
    goals: Sequence[Goal] = ()
    reference: str = "bare"
    percent: bool = False
    note: str = ""

    def added(self, variant: str, reference: str | None = None) -> Interval:
        """What `variant` costs over `reference`, in `unit` or in percent of the reference."""
        base = self.samples[reference or self.reference]
        difference = self.samples[variant] - base
        return interval(100 * difference / base if self.percent else difference)

    def outcomes(self) -> list[Outcome]:
        """What became of the goals."""
        return [
            Outcome(g, self.added(g.variant, g.reference) if g.reference else interval(self.samples[g.variant]))
            for g in self.goals
        ]


def interval(samples: NDArray[np.float64]) -> Interval:
    """Median over rounds, with its bootstrap interval."""
    draws = np.random.default_rng(1).choice(samples, size=(RESAMPLES, len(samples)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return Interval(float(np.median(samples)), float(low), float(high))


def take_turns(
    variants: Sequence[Variant],
    rounds: int,
    measure: Callable[[Variant], dict[str, float]],
    progress: Callable[[], None],
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Measure each variant once a round, in rotating order. Returns {quantity: {variant: samples [round]}}."""
    samples: dict[str, dict[str, list[float]]] = {}
    for turn in range(rounds):
        for place in range(len(variants)):
            variant = variants[(place + turn) % len(variants)]
            for quantity, value in measure(variant).items():
                samples.setdefault(quantity, {}).setdefault(variant.name, []).append(value)
            progress()
    return {q: {v: np.array(values) for v, values in by_variant.items()} for q, by_variant in samples.items()}


def run(command: Sequence[str | Path], environment: Mapping[str, str]) -> str:
    """Standard output of a command. Raises BenchError with the last line of its standard error."""
    done = subprocess.run(
        [str(part) for part in command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{' '.join(str(part) for part in command)}: exit {done.returncode}: {last}")
    return done.stdout
