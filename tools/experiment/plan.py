"""Which runs an experiment consists of, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.description import ALONE, Experiment

__all__ = ["Cell", "Run", "cells", "plan"]


@dataclass(frozen=True)
class Cell:
    """A program alone (signal None) or beside another: what is repeated."""

    probe: str
    signal: str | None = None
    lead_s: float = 0.0
    mutual: bool = False


@dataclass(frozen=True)
class Run:
    """One run to make."""

    cell: Cell
    repetition: int

    @property
    def key(self) -> str:
        """Its name, the same whenever the experiment is made; a job id with `-signal` behind it."""
        return f"{self.cell.probe}--{self.cell.signal or ALONE}--{self.repetition}"


def cells(experiment: Experiment) -> list[Cell]:
    """Each program that is judged alone, then the pairs; of a mutual pair one of both directions, as both are judged.

    CommandError: a pair that is there twice.
    """
    alone: dict[str, Cell] = {}
    pairs: dict[tuple[str, str], Cell] = {}
    for table in experiment.pairs:
        for name in (*table.probes, *(table.signals if table.mutual else ())):
            alone[name] = Cell(name)
        for probe in table.probes:
            for signal in table.signals:
                other = pairs.get((signal, probe))
                if table.mutual and other and other.mutual and probe != signal:
                    continue
                if (probe, signal) in pairs:
                    raise CommandError(f"pairs: {probe} beside {signal} is there twice: remove one of them")
                pairs[probe, signal] = Cell(probe, signal, table.lead_s, table.mutual)
    return [*alone.values(), *pairs.values()]


def plan(experiment: Experiment, repetitions: int) -> list[Run]:
    """All runs in their order.

    A repetition is complete before the next begins, and each is in an order of its own, which only the seed decides:
    what the machine does by itself meets all cells alike, an experiment that was stopped has all cells, and one with
    more repetitions begins with the same runs.
    """
    return list(_ordered(cells(experiment), repetitions, experiment.experiment.seed))


def _ordered(found: list[Cell], repetitions: int, seed: int) -> Iterator[Run]:
    for repetition in range(repetitions):
        for i in np.random.default_rng([seed, repetition]).permutation(len(found)):
            yield Run(found[i], repetition)
