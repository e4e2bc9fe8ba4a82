"""What an experiment found, as it is kept in results.json: tables, pictures and reports are made of this alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.records import write_whole

__all__ = [
    "RESULTS",
    "BusyResult",
    "ChangeResult",
    "Course",
    "EstimateResult",
    "LookupResult",
    "Measure",
    "PairResult",
    "PhaseResult",
    "ProgramResult",
    "Results",
    "ShareResult",
    "SpreadResult",
    "read_results",
    "write_results",
]

RESULTS = "results.json"
MAX_FILE = 64 << 20
Measure = Literal["rate", "time", "steps"]
Interval = tuple[float, float]


def _null_for_nan(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_null_for_nan)]  # JSON has no NaN: what could not be told is null


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)


class SpreadResult(_Result):
    """Repetitions of a measure, in its unit."""

    median: float
    q1: float
    q3: float
    n: int


class ChangeResult(_Result):
    """crosswind.analysis.experiment.Change. each_pct: lost_pct of each run together, against the median alone."""

    isolated: SpreadResult
    together: SpreadResult
    lost_pct: float
    lost_interval_pct: Interval | None
    slow_down_pct: float
    slow_down_interval_pct: Interval | None
    each_pct: list[float]


class EstimateResult(_Result):
    """What was estimated from each run by itself, percent of its time. why: why there is no estimate of any."""

    pct: list[float]
    runs: int
    why: str = ""


class LookupResult(_Result):
    """What a lookup of each disturbed run says. ranks: of the signal's job among all that is listed, null: not listed.

    named: in how many runs it came first and was more than chance. why: why there is no answer for any.
    """

    ranks: list[int | None]
    named: int
    runs: int
    why: str = ""

    @property
    def first(self) -> int:
        """In how many runs it came first, more than chance or not."""
        return sum(rank == 1 for rank in self.ranks)


class PhaseResult(_Result):
    """crosswind.analysis.experiment.PhaseEffect of the probe's rate (`what`, in `unit`)."""

    what: str
    unit: str
    rho: Number
    by_run: list[Number]
    p: Number
    inside: Number
    outside: Number
    depth_pct: Number
    slices_inside: int
    slices_outside: int

    @property
    def runs(self) -> int:
        """How many of them tell something."""
        return sum(rho is not None for rho in self.by_run)


class Course(_Result):
    """A run over time, for the picture. Seconds since the probe's begin; rate: per slice, null where unknown.

    begin_s: of the first slice. end_s: of the program. phases_s: when the signal was active.
    """

    key: str
    begin_s: float
    slice_s: float
    end_s: float
    rate: list[Number]
    phases_s: list[Interval] = []


class PairResult(_Result):
    """A probe beside a signal. group: number of the table of pairs. change: None where `why` says so.

    balanced: whether only the part before the tail-off counts. runs: how many together. alone_course, course: None
    where the signal has no phases.
    """

    probe: str
    signal: str
    group: int
    mutual: bool
    runs: int
    change: ChangeResult | None
    why: str = ""
    balanced: bool = False
    estimate: EstimateResult
    lookup: LookupResult
    phases: PhaseResult | None = None
    course: Course | None = None
    alone_course: Course | None = None


class ProgramResult(_Result):
    """A program of the experiment. alone: of its measure, in `unit`."""

    name: str
    command: list[str]
    measure: Measure
    unit: str
    ranks: int
    nodes: int
    alone: SpreadResult | None
    estimate: EstimateResult


class ShareResult(_Result):
    """Of several runs, in percent."""

    median: float
    most: float


class BusyResult(_Result):
    """How busy others kept this machine while runs that count were made on it, in percent of all its processors:
    processes outside the run, and the hypervisor.
    """

    others: ShareResult
    hypervisor: ShareResult


class Results(_Result):
    """The whole experiment. machine: machine.json. missing: keys of runs that are planned and not done. discarded: how
    many tries were. failed: key and reason of runs that failed and were not made since. unwatched: runs that were to
    be discarded if others disturbed them, and of which nobody knows. busy: None where nobody knows, as through Slurm.
    repetitions: planned.
    """

    name: str
    title: str
    kind: Literal["periodic", "matrix", "slowdown"]
    on: Literal["local", "slurm"]
    repetitions: int
    slice: str
    begin_ns: int | None
    end_ns: int | None
    machine: dict[str, Any]
    programs: list[ProgramResult]
    pairs: list[PairResult]
    done: int
    missing: list[str]
    discarded: int
    failed: list[tuple[str, str]]
    unwatched: int = 0
    busy: BusyResult | None = None

    def program(self, name: str) -> ProgramResult:
        """That of this name. KeyError."""
        for program in self.programs:
            if program.name == name:
                return program
        raise KeyError(name)


def write_results(path: Path, results: Results) -> None:
    """Write them whole or not at all. Raises OSError."""
    write_whole(path, results.model_dump_json(indent=1) + "\n")


def read_results(path: Path) -> Results:
    """The results in a file. CommandError: not such a file; OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    try:
        if len(data) > MAX_FILE:
            raise CommandError(f"{path}: holds no results: larger than {MAX_FILE >> 20} MiB")
        return Results.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CommandError(f"{path}: holds no results ({where}: {first['msg']}): make them again") from None
