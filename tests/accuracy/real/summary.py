"""The figures of the study, from the records of its runs. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from accuracy.real.programs import PROGRAMS
from accuracy.real.study import AGAIN, is_disturbed

from crosswind.analysis import accuracy

__all__ = ["Level", "Score", "Verdict", "counted", "levels", "scores", "verdicts"]

Record = Mapping[str, Any]
TARGET_MEDIAN, TARGET_LEAST, TARGET_PP = 0.9, 0.7, 3.0
TARGET_OF_TEN = 0.9
OFF_PP = 3.0  # an error that a certain estimate must not have


@dataclass(frozen=True)
class Score:
    """One program and method over its undisturbed runs; nan where there are none. runs: how many of `made` those are.

    least, median: accuracy (thesis, section 5.2.3). mean_pp: mean distance from the truth in percentage points.
    within: part of the estimates whose interval holds the truth, nan for a method without intervals.
    wrong_and_certain: estimates without a warning that are off by more than 3 points.
    """

    program: str
    method: str
    runs: int
    made: int
    least: float
    median: float
    mean_pp: float
    within: float
    wrong_and_certain: int

    @property
    def meets(self) -> bool:
        """Whether the demands on real programs hold."""
        return self.median >= TARGET_MEDIAN and self.least >= TARGET_LEAST and self.mean_pp <= TARGET_PP


@dataclass(frozen=True)
class Level:
    """The runs of a program with one kind and share of interference: values per run, in percent."""

    program: str
    kind: str
    injected_pct: float
    true: tuple[float, ...]
    estimated: Mapping[str, tuple[float | None, ...]]
    uncovered: tuple[float, ...]
    disturbed: int


@dataclass(frozen=True)
class Verdict:
    """How often a method called runs without interference low, and those with it high."""

    method: str
    low_of_quiet: int
    quiet: int
    high_of_held_up: int
    held_up: int

    @property
    def meets(self) -> bool:
        """At least nine of ten each."""
        return (
            self.low_of_quiet >= TARGET_OF_TEN * self.quiet
            and self.high_of_held_up >= TARGET_OF_TEN * self.held_up
            and min(self.quiet, self.held_up) > 0
        )


def counted(runs: Mapping[str, Record], part: str) -> list[Record]:
    """The records that count: a run that was repeated counts as its repetition."""
    return [
        runs.get(key + AGAIN, record)
        for key, record in runs.items()
        if record["part"] == part and not key.endswith(AGAIN)
    ]


def scores(records: Sequence[Record]) -> list[Score]:
    """A row per program and method."""
    return [
        _score(program, method, [r for r in records if r["program"] == program])
        for program in _in_order(r["program"] for r in records)
        for method in records[0]["estimates"]
    ]


def levels(records: Sequence[Record]) -> list[Level]:
    """A row per program, kind and share, in this order; the runs without interference first."""
    keys = {(r["program"], r["kind"], r["injected_pct"]) for r in records}
    order = list(PROGRAMS)
    found = []
    for program, kind, pct in sorted(keys, key=lambda k: (order.index(k[0]), k[1] != "none", k[1:])):
        these = [r for r in records if (r["program"], r["kind"], r["injected_pct"]) == (program, kind, pct)]
        found.append(
            Level(
                program, kind, pct,
                true=tuple(r["true_pct"] for r in these),
                estimated={m: tuple(r["estimates"][m]["pct"] for r in these) for m in these[0]["estimates"]},
                uncovered=tuple(r["estimates"]["robust"]["uncovered_pct"] for r in these),
                disturbed=sum(map(is_disturbed, these)),
            )
        )  # fmt: skip
    return found


def verdicts(records: Sequence[Record]) -> list[Verdict]:
    """A row per method; none without records."""
    if not records:
        return []
    quiet = [r["estimates"] for r in records if r["injected_pct"] == 0]
    held_up = [r["estimates"] for r in records if r["injected_pct"] > 0]
    return [
        Verdict(
            method,
            sum(one[method]["class"] == "low" for one in quiet), len(quiet),
            sum(one[method]["class"] == "high" for one in held_up), len(held_up),
        )
        for method in records[0]["estimates"]
    ]  # fmt: skip


def accuracies(records: Sequence[Record], method: str) -> np.ndarray:
    """The thesis's measure, [record]. No figure counts as 0 % estimated."""
    return accuracy(_true(records), _estimated(records, method))


def _score(program: str, method: str, records: list[Record]) -> Score:
    quiet = [r for r in records if not is_disturbed(r)]
    if not quiet:
        return Score(program, method, 0, len(records), np.nan, np.nan, np.nan, np.nan, 0)
    good = accuracies(quiet, method)
    off = np.abs(_estimated(quiet, method) - _true(quiet))
    certain = np.array([r["estimates"][method]["certain"] for r in quiet])
    return Score(
        program, method, len(quiet), len(records), float(good.min()), float(np.median(good)), float(off.mean()),
        _within(quiet, method), int(np.count_nonzero(certain & (off > OFF_PP))),
    )  # fmt: skip


def _within(records: Sequence[Record], method: str) -> float:
    intervals = [(r["estimates"][method]["interval_pct"], r["true_pct"]) for r in records]
    held = [interval[0] <= true <= interval[1] for interval, true in intervals if interval is not None]
    return float(np.mean(held)) if held else np.nan


def _true(records: Sequence[Record]) -> np.ndarray:
    return np.array([r["true_pct"] for r in records], dtype=np.float64)


def _estimated(records: Sequence[Record], method: str) -> np.ndarray:
    return np.array([r["estimates"][method]["pct"] or 0.0 for r in records], dtype=np.float64)


def _in_order(names: Iterable[str]) -> list[str]:
    """Each once, as in the programs' table."""
    return sorted(set(names), key=list(PROGRAMS).index)
