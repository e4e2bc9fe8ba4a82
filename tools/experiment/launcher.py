"""What a launcher is: it starts the programs of a run here (local.py) or through Slurm (slurm.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from crosswind.profile.errors import FormatError
from crosswind.profile.merge import merge_directory
from crosswind.profile.model import Profile
from crosswind.profile.store import write_profile
from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.description import Program, fill_in
from crosswind.tools.experiment.records import ProgramRecord, Role
from crosswind.tools.library import load_folder

__all__ = [
    "LaunchError",
    "Launcher",
    "Started",
    "command_of",
    "job_name",
    "load_folder",
    "program_record",
    "write_main_profile",
]

LOAD = "{load}/"
MAX_OUTPUT = 64 << 20  # of a program, as far as it is read


class LaunchError(Exception):
    """A program that did not start or gave no result. The run failed, the experiment goes on; one clear line."""


@dataclass(frozen=True)
class Started:
    """A program that runs. Launchers derive their own from it. scratch: its fresh directory."""

    program: Program
    role: Role
    folder: Path
    scratch: Path
    job_id: str


class Launcher(Protocol):
    """Starts and ends programs; made with (scratch, agents): the folder below which it makes {scratch} and removes it
    after the run, and the spool directories of agents.

    A program runs in folder/ROLE, which is there with its input. The launcher's own files are in the run's folder:
    ROLE.out, ROLE.err, ROLE.xwp, and whatever it needs to find a program again that a killed runner left behind.
    Any method may be left by the exception of a signal (SIGINT, SIGTERM); `abandon` then ends what is left.
    """

    scratch: Path

    def why_not(self, programs: Collection[Program]) -> str:
        """What is missing to run these here, and the way out; "" if nothing is."""

    def describe(self) -> dict[str, Any]:
        """The machine, for machine.json. Nothing of anybody's environment."""

    def start(self, program: Program, folder: Path, role: Role, slice_length: str) -> Started:
        """Start it, profiled, and return when it runs. LaunchError."""

    def wait(self, started: Started, timeout_s: float) -> ProgramRecord:
        """Until it has ended by itself, its profile merged into folder/ROLE.xwp. LaunchError: not in time, or lost."""

    def stop(self, started: Started) -> ProgramRecord:
        """Ask the program itself to end (SIGTERM), then as `wait`; one that has ended by itself is as well. Its record
        has `stopped` only if it did not. LaunchError."""

    def abandon(self, folder: Path) -> None:
        """End at once and without a record whatever still runs of this folder, also what an earlier runner started
        that was killed, and remove its scratch. Returns when nothing is left. Comes after each run."""

    def agent_files(self) -> list[Path]:
        """Files of the agents of nodes and servers that are to be loaded beside the profiles."""

    def server_resource(self) -> str | None:
        """The shared resource (db/resources.py) that {scratch} lies on and whose servers have agents; None: locally,
        the disk under {scratch} is watched."""


def job_name(folder: Path, role: Role) -> str:
    """What names a program of a run, unique in the experiment, 63 bytes at most."""
    return f"{folder.name}-{role}"


def command_of(program: Program, work: Path, scratch: Path, load: Path | None) -> list[str]:
    """The program's command with its placeholders filled in, without a launcher. work: folder/ROLE, in which it runs
    and in which its input lies: the runner has made it.

    A load program is that of the program's MPI. CommandError: it is not built.
    """
    values = {"scratch": str(scratch), "run": str(work)}
    values["input"] = str(work / Path(program.input).name) if program.input else ""
    values["load"] = str(load or "")
    command = [fill_in(part, values) for part in program.command]
    if program.command[0].startswith(LOAD):
        command[0] = str(_load_program(Path(command[0]), program.mpi))
    return command


def write_main_profile(spool: Path, path: Path) -> Profile | None:
    """Merge a spool directory and write the profile of the job step with most processes; None: nothing was counted.

    LaunchError: the files cannot be merged.
    """
    try:
        profiles = merge_directory(spool)
        if not profiles:
            return None
        profile = max(profiles, key=lambda p: sum(process.count for process in p.processes))
        write_profile(profile, path)
    except FormatError as error:
        raise LaunchError(f"no profile: {error}") from None
    return profile


def program_record(
    started: Started, profile: Profile | None, begin_ns: int, end_ns: int, exit_code: int, *, stopped: bool
) -> ProgramRecord:
    """What is kept of a program that has ended. begin_ns, end_ns: as its launcher saw it; its ranks' own times count
    where the profile has them. profile: as it was written to folder/ROLE.xwp.
    """
    output = started.folder / f"{started.role}.out"
    if profile is not None and profile.mpi_rows.size:
        ranks = [profile.processes[row] for row in profile.mpi_rows]
        begin_ns, end_ns = min(rank.start_ns for rank in ranks), max(rank.end_ns for rank in ranks)
    return ProgramRecord(
        role=started.role,
        program=started.program.name,
        job_id=profile.job.id if profile else started.job_id,
        step=profile.job.step if profile else "",
        begin_ns=begin_ns,
        end_ns=end_ns,
        exit_code=exit_code,
        stopped=stopped,
        profile=f"{started.role}.xwp" if profile else None,
        report=_report(output),
        steps_per_s=_steps_per_s(started.program, output),
    )


def _report(output: Path) -> dict[str, Any] | None:
    """The JSON document that a load program printed last; None: there is none."""
    for line in reversed(_text(output).splitlines()):
        if line.startswith("{"):
            try:
                document = json.loads(line)
            except ValueError:
                return None
            return document if isinstance(document, dict) else None
    return None


def _steps_per_s(program: Program, output: Path) -> float | None:
    """The number that the program's pattern finds last in its output; None: it finds none, or it has no pattern."""
    found = re.findall(program.pattern, _text(output), re.MULTILINE) if program.pattern else []
    try:
        return float(found[-1]) if found else None
    except ValueError:
        return None


def _load_program(path: Path, mpi: str) -> Path:
    found = [path.with_name(f"{path.name}.{suffix}") for suffix in ([mpi] if mpi else ["openmpi", "mpich"])]
    for candidate in found:
        if candidate.is_file():
            return candidate
    raise CommandError(f"{found[0]}: not built: install {mpi or 'an MPI'} and build with `make build`")


def _text(output: Path) -> str:
    try:
        with output.open("rb") as file:
            return file.read(MAX_OUTPUT).decode(errors="replace")
    except FileNotFoundError:
        return ""
