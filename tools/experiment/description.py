"""The experiment file: which programs run alone and against each other, and how often.

The file is the user's own, but the names in it become file names and job ids, so they are plain.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from crosswind.tools.errors import CommandError
from crosswind.tools.run import slice_length_ms

__all__ = ["ALONE", "PLACEHOLDERS", "Experiment", "Pairs", "Program", "Settings", "fill_in", "read_experiment"]

ALONE = "alone"  # stands in a run's key where the signal would
PLACEHOLDERS = frozenset({"load", "scratch", "run", "input"})
MAX_FILE = 1 << 20
MAX_CELLS = 10_000
BRACES = re.compile(r"\{\{|\}\}|\{(\w+)\}")
# Two of these, the repetition and the role make a job id, which has 63 bytes at most.
ProgramName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,19}$")]
NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Settings(_Table):
    """[experiment]: what holds for all runs."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    title: str = Field("", max_length=200)
    on: Literal["local", "slurm"] = "local"
    repetitions: int = Field(5, ge=1, le=1000)
    seed: int = Field(1, ge=0)
    slice: str = "1s"
    outside_pct: float = Field(10.0, ge=0)  # 0: no run is discarded
    outside_cpu_pct: float = Field(0.0, ge=0, le=100)  # 0: no run is discarded
    kind: Literal["periodic", "matrix", "slowdown"] = "slowdown"

    @field_validator("slice")
    @classmethod
    def _is_length(cls, value: str) -> str:
        slice_length_ms(value)
        return value


class Program(_Table):
    """[programs.NAME]: how to run one program, and by which number it is judged.

    measure: "rate" is the throughput of a load program's own report, "time" the elapsed seconds, "steps" the number a
    second that `pattern` finds last in its output. mpi: "": without a launcher. seconds: what it takes about; a run
    five times as long and a minute is given up. input: a file below the experiment's folder.
    """

    name: str = ""  # that of its table
    command: list[str] = Field(min_length=1)
    measure: Literal["rate", "time", "steps"] = "time"
    pattern: str = ""
    nodes: int = Field(1, ge=1)
    ranks_per_node: int = Field(1, ge=1)
    nodelist: list[NodeName] = []
    mpi: Literal["openmpi", "mpich", ""] = "openmpi"
    input: str | None = None
    seconds: float = Field(60.0, gt=0, le=1e6)

    @property
    def ranks(self) -> int:
        """Of all nodes."""
        return self.nodes * self.ranks_per_node

    @property
    def timeout_s(self) -> float:
        """After so long it does not end any more."""
        return 5 * self.seconds + 60

    @field_validator("input")
    @classmethod
    def _is_below(cls, value: str | None) -> str | None:
        path = PurePosixPath(value or ".")
        if value is not None and (path.is_absolute() or ".." in path.parts or not path.name):
            raise ValueError("has to be a file below the folder of the experiment file")
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.measure == "steps") != bool(self.pattern):
            raise ValueError('measure = "steps" and a pattern go together')
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(f"pattern: {error}") from None
        if self.pattern and groups != 1:
            raise ValueError("pattern: has to have one group, around the number of steps a second")
        if self.nodelist and len(self.nodelist) != self.nodes:
            raise ValueError(f"nodelist: has {len(self.nodelist)} names for {self.nodes} nodes")
        if self.mpi == "" and self.ranks != 1:
            raise ValueError('several ranks need an MPI: mpi = "openmpi" or "mpich"')
        for part in self.command:
            fill_in(part, dict.fromkeys(PLACEHOLDERS if self.input else PLACEHOLDERS - {"input"}, ""))
        return self


class Pairs(_Table):
    """[[pairs]]: every probe with every signal. lead_s: how much earlier the signal begins.

    mutual: both run for the same fixed time and are probe and signal of each other; one run serves for both ways.
    """

    probes: list[str] = Field(min_length=1)
    signals: list[str] = []
    lead_s: float = Field(3.0, ge=0, le=3600)
    mutual: bool = False


class Experiment(_Table):
    """The whole file."""

    experiment: Settings
    programs: dict[ProgramName, Program] = Field(min_length=1)
    pairs: list[Pairs] = Field(min_length=1)

    @field_validator("programs", mode="before")
    @classmethod
    def _name_programs(cls, value: object) -> object:
        """Each program knows its name."""
        if not isinstance(value, dict):
            return value
        for name, table in value.items():
            if name == ALONE or "--" in name:
                raise ValueError(f"{name}: no program is named {ALONE}, nor has two dashes in its name")
            if isinstance(table, dict) and "name" in table:
                raise ValueError(f"{name}.name: the name is that of the table")
        return {name: {**table, "name": name} if isinstance(table, dict) else table for name, table in value.items()}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for number, pairs in enumerate(self.pairs, start=1):
            for name in (*pairs.probes, *pairs.signals):
                if name not in self.programs:
                    raise ValueError(f"pairs, table {number}: there is no [programs.{name}]")
        if sum(len(pairs.probes) * max(len(pairs.signals), 1) for pairs in self.pairs) > MAX_CELLS:
            raise ValueError(f"pairs: more than {MAX_CELLS} combinations")
        return self


def read_experiment(path: Path) -> Experiment:
    """The file, checked, its input files as well. CommandError names the file, the table and the key; OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    try:
        if len(data) > MAX_FILE:
            raise CommandError(f"{path}: is no experiment file: larger than {MAX_FILE >> 20} MiB")
        found = Experiment.model_validate(tomllib.loads(data.decode()))
    except ValidationError as error:
        raise CommandError(f"{path}: {_first_errors(error)}") from None
    except ValueError as error:  # TOML or UTF-8
        raise CommandError(f"{path}: {error}") from None
    for program in found.programs.values():
        if program.input is not None and not (path.parent / program.input).is_file():
            raise CommandError(f"{path}: programs.{program.name}.input: no file {path.parent / program.input}")
    return found


def fill_in(text: str, values: dict[str, str]) -> str:
    """The text with {name} replaced, {{ and }} standing for braces. ValueError: a name that is not known."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] not in values:
            raise ValueError(f"command: {match[0]} is none of {_list(values)} (a brace itself is written {{{{ or }}}})")
        return values[match[1]]

    return BRACES.sub(replaced, text)


def _list(names: dict[str, str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _first_errors(error: ValidationError) -> str:
    """`table.key: what` of the first errors, in the words of the file."""
    found = [
        ": ".join(filter(None, [".".join(str(part) for part in e["loc"]), e["msg"].removeprefix("Value error, ")]))
        for e in error.errors(include_url=False)
    ]
    return "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
