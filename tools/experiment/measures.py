"""The number by which each run is judged: a rate of work, a time, or steps a second; alone and beside another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crosswind.analysis.errors import InputError
from crosswind.analysis.experiment import Change, Part, Progress, common_part, rate_change, time_change
from crosswind.tools.experiment.description import Experiment, Program
from crosswind.tools.experiment.records import ProgramRecord, Role, RunRecord

__all__ = [
    "Beside",
    "LoadReport",
    "PairName",
    "alone",
    "beside",
    "change_of",
    "load_report",
    "pairs_of",
    "unit_of",
    "values_alone",
]

UNITS = {"time": "s", "steps": "steps/s"}
Nanoseconds = Annotated[int, Field(ge=0, lt=1 << 62)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LoadReport(BaseModel):
    """What a load program printed (docs/load.md), as far as it is needed here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    start_ns: Nanoseconds
    end_ns: Nanoseconds
    ended: Literal["time", "volume", "stopped", "error"]
    unit: str = Field(max_length=20)
    total: Amount
    active_ns: list[tuple[Nanoseconds, Nanoseconds]] = Field(max_length=100_000)
    per_second: list[Amount] = Field(max_length=200_000)

    @model_validator(mode="after")
    def _has_order(self) -> Self:
        if any(end < begin for begin, end in self.active_ns):
            raise ValueError("a phase ends before it begins")
        return self

    def progress(self) -> Progress:
        """Its course. InputError: it has none."""
        return Progress(self.start_ns, self.end_ns, np.array(self.per_second), self.ended == "volume")


@dataclass(frozen=True)
class PairName:
    """A probe and a signal. group: number of their table in the file; mutual: one run serves both ways."""

    probe: str
    signal: str
    group: int
    mutual: bool


@dataclass(frozen=True)
class Beside:
    """One run of a pair: the probe of the pair and its signal, whichever role they had in the run."""

    run: RunRecord
    probe: ProgramRecord
    signal: ProgramRecord


def pairs_of(experiment: Experiment) -> list[PairName]:
    """All pairs, in the file's order; of a mutual pair both ways."""
    found: dict[tuple[str, str], PairName] = {}
    for group, table in enumerate(experiment.pairs):
        one_way = [(p, s) for p in table.probes for s in table.signals]
        other_way = [(s, p) for p, s in one_way] if table.mutual else []
        for probe, signal in (*one_way, *other_way):
            found.setdefault((probe, signal), PairName(probe, signal, group, table.mutual))
    return list(found.values())


def alone(records: Sequence[RunRecord], name: str) -> list[tuple[RunRecord, ProgramRecord]]:
    """The runs of a program by itself that count."""
    chosen = ((r, r.of("probe")) for r in records if r.status == "done" and r.probe == name and r.signal is None)
    return [(run, program) for run, program in chosen if program is not None]


def beside(records: Sequence[RunRecord], pair: PairName) -> list[Beside]:
    """The runs of a pair that count. Of a program beside itself the probe of the run is the probe."""
    return list(_beside(records, pair))


def _beside(records: Sequence[RunRecord], pair: PairName) -> Iterator[Beside]:
    for run in records:
        roles: tuple[Role, Role] | None = None
        if (run.probe, run.signal) == (pair.probe, pair.signal):
            roles = ("probe", "signal")
        elif run.mutual and (run.signal, run.probe) == (pair.probe, pair.signal):
            roles = ("signal", "probe")
        if run.status != "done" or roles is None:
            continue
        probe, signal = run.of(roles[0]), run.of(roles[1])
        if probe is not None and signal is not None:
            yield Beside(run, probe, signal)


def load_report(program: ProgramRecord) -> LoadReport | None:
    """What a load program said of itself; None where it said nothing that makes sense."""
    try:
        return None if program.report is None else LoadReport.model_validate(program.report)
    except ValidationError:
        return None


def unit_of(measure: str, records: Sequence[ProgramRecord]) -> str:
    """Of a program's measure: of a rate what its reports say."""
    if measure != "rate":
        return UNITS[measure]
    reports = [report for report in map(load_report, records) if report]
    unit = reports[0].unit if reports else "operations"
    return "B/s" if unit == "B" else f"{unit}/s"


def values_alone(program: Program, runs: Sequence[tuple[RunRecord, ProgramRecord]], *, balanced: bool) -> list[float]:
    """The measure of each run alone; balanced: of a rate, without the tail-off."""
    found = []
    for _, record in runs:
        progress = _progress(record) if program.measure == "rate" else None
        part = common_part([progress]) if balanced and progress else None
        value = _value(program, record, progress, part)
        found += [] if value is None else [value]
    return found


def change_of(
    program: Program, runs_alone: Sequence[tuple[RunRecord, ProgramRecord]], together: Sequence[Beside], seed: int
) -> tuple[Change, list[float], bool]:
    """How the program fares beside the other: the change, the measure of each run together, whether the tail-off of
    both was left out. InputError: runs that cannot be compared, or none.
    """
    parts = [_part(program, each) for each in together]
    balanced = any(part.balanced for _, part in parts if part)
    measured = [
        _value(program, each.probe, progress, part) for each, (progress, part) in zip(together, parts, strict=True)
    ]
    values = [value for value in measured if value is not None]
    isolated = values_alone(program, runs_alone, balanced=balanced)
    if not isolated:
        raise InputError(f"no run of {program.name} alone has a measure")
    if not values:
        raise InputError(f"no run of {program.name} beside the other has a measure")
    compare = time_change if program.measure == "time" else rate_change
    return compare(isolated, values, seed=seed), values, balanced


def _part(program: Program, each: Beside) -> tuple[Progress | None, Part | None]:
    """Of a rate: the course of the probe and the part of it that counts; else nothing."""
    own = _progress(each.probe) if program.measure == "rate" else None
    other = _progress(each.signal)
    try:
        return own, common_part([own, other]) if own and other else None
    except InputError:  # they did not meet
        return None, None


def _progress(record: ProgramRecord) -> Progress | None:
    report = load_report(record)
    try:
        return report.progress() if report else None
    except InputError:
        return None


def _value(program: Program, record: ProgramRecord, progress: Progress | None, part: Part | None) -> float | None:
    """The measure of one run, above 0, or None."""
    value: float | None
    if program.measure == "time":
        value = record.elapsed_s
    elif program.measure == "steps":
        value = record.steps_per_s
    elif progress is None:
        value = None
    else:
        begin, end = (part.begin_ns, part.end_ns) if part else (progress.start_ns, progress.end_ns)
        value = progress.rate(begin, end)
    return value if value is not None and np.isfinite(value) and value > 0 else None
