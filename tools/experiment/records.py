"""What is kept of each run: runs/KEY/record.json, written last and in one step: a run is whole or was not made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from crosswind.tools.errors import CommandError

__all__ = [
    "RECORD",
    "ROLES",
    "RUNS",
    "Conditions",
    "Outside",
    "ProgramRecord",
    "Role",
    "RunRecord",
    "Status",
    "read_record",
    "read_records",
    "unfinished_name",
    "write_record",
    "write_whole",
]

RECORD, RUNS = "record.json", "runs"
Role = Literal["probe", "signal"]
ROLES: tuple[Role, ...] = ("probe", "signal")
Status = Literal["done", "discarded", "failed"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ProgramRecord(_Record):
    """One program of a run. Times are UTC, of the program itself, without what launched it as far as that is known.

    profile: relative to the run's folder. report: what a load program printed. steps_per_s: by the program's pattern.
    """

    role: Role
    program: str
    job_id: str
    step: str = ""
    begin_ns: int
    end_ns: int
    exit_code: int
    stopped: bool = False  # ended because it was asked to
    profile: str | None = None
    report: dict[str, Any] | None = None
    steps_per_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """From its begin to its end."""
        return (self.end_ns - self.begin_ns) / 1e9


class Outside(_Record):
    """What others moved beside a run: bytes that the servers (locally the disk) moved, that the run's programs did, and
    the rest in percent of the servers'. source: who counted.
    """

    server_bytes: int
    own_bytes: int
    outside_pct: float
    source: str = ""


class Conditions(_Record):
    """How busy the machine was. load: of the last minute, when the run began. In percent of all processors: what the
    hypervisor took, and what processes outside the run used.
    """

    load: float
    steal_pct: float
    others_pct: float

    @property
    def taken_pct(self) -> float:
        """What the run could not have had of the processors, whoever took it."""
        return self.steal_pct + self.others_pct


class RunRecord(_Record):
    """One run: a probe, alone or beside a signal. why: of a run that is not done."""

    key: str
    probe: str
    signal: str | None = None
    repetition: int
    try_number: int = 1
    status: Status
    why: str = ""
    begin_ns: int
    end_ns: int
    mutual: bool = False
    programs: list[ProgramRecord]
    outside: Outside | None = None
    conditions: Conditions | None = None

    def of(self, role: Role) -> ProgramRecord | None:
        """The program in this role."""
        return next((program for program in self.programs if program.role == role), None)


def read_records(directory: Path) -> list[RunRecord]:
    """All runs that were made in a results directory, also those discarded and failed, in the order they were made.

    CommandError: a record that cannot be read.
    """
    found = [read_record(path.parent) for path in (directory / RUNS).glob(f"*/{RECORD}")]
    return sorted((record for record in found if record), key=lambda record: record.begin_ns)


def read_record(folder: Path) -> RunRecord | None:
    """The record in a run's folder; None where there is none: the run was not made. CommandError."""
    try:
        return RunRecord.model_validate_json((folder / RECORD).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CommandError(
            f"{folder / RECORD}: is damaged ({where}: {first['msg']}): remove {folder} and jobs.db: the run is made, "
            "and all are loaded again"
        ) from None


def write_record(folder: Path, record: RunRecord) -> None:
    """Make the run whole."""
    write_whole(folder / RECORD, record.model_dump_json(indent=2) + "\n")


def unfinished_name(name: str) -> str:
    """What a file is called until it is whole."""
    return f".{name}.new"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all, also after a power failure."""
    unfinished = path.with_name(unfinished_name(path.name))
    unfinished.unlink(missing_ok=True)
    with unfinished.open("x") as file:  # a new one: no link leads elsewhere
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
