"""Which runs the study consists of, and in which order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from accuracy.real.programs import Program

__all__ = ["LEVELS", "VERDICT_PCT", "Run", "study_runs", "verdict_runs"]

LEVELS = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0)  # percent of the disturbed run
VERDICT_PCT = 20.0
VERDICT_RUNS = 10  # of each sort
NO_KIND = "none"


@dataclass(frozen=True)
class Run:
    """One run to make. part: ``study`` or ``verdict``."""

    part: str
    program: str
    kind: str
    injected_pct: float
    repetition: int

    @property
    def key(self) -> str:
        """Its name, the same whenever the study is made."""
        return f"{self.part}-{self.program}-{self.kind}-{self.injected_pct:g}-{self.repetition}"

    @property
    def weight(self) -> float:
        """How long it takes, a clean run taking 1."""
        return 1 / (1 - self.injected_pct / 100)

    def seed(self, study_seed: int) -> int:
        """The seed of its delays."""
        return zlib.crc32(f"{study_seed} {self.key}".encode())


def study_runs(programs: Sequence[Program], levels: Sequence[float], repetitions: int, seed: int) -> Iterator[Run]:
    """Every program at every level, `repetitions` times, the kinds of interference taking turns.

    A repetition is complete before the next begins, and each is in an order of its own: what the machine does by itself
    meets all levels alike, and a study that was stopped has all levels.
    """
    for repetition in range(repetitions):
        found = [
            Run("study", p.name, p.kinds[repetition % len(p.kinds)] if level else NO_KIND, level, repetition)
            for p in programs
            for level in levels
        ]
        yield from _shuffled(found, [seed, repetition])


def verdict_runs(program: Program, seed: int) -> Iterator[Run]:
    """As many runs with interference as without."""
    found = [
        Run("verdict", program.name, kind, level, repetition)
        for repetition in range(VERDICT_RUNS)
        for level, kind in ((0.0, NO_KIND), (VERDICT_PCT, program.kinds[repetition % len(program.kinds)]))
    ]
    yield from _shuffled(found, [seed, VERDICT_RUNS])


def _shuffled(runs: Iterable[Run], seed: list[int]) -> Iterator[Run]:
    ordered = list(runs)
    for i in np.random.default_rng(seed).permutation(len(ordered)):
        yield ordered[i]
