"""The launcher of this machine: programs by an MPI's mpirun or by themselves, each in a session of its own.

A program's processes are those whose environment names its spool directory, ROLE.spool in the run's folder says
which that is: they are found again whoever started them, also after the runner was killed. ROLE.scratch says where its
scratch directory is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.agents import node_files
from crosswind.tools.experiment.description import Program
from crosswind.tools.experiment.launcher import (
    LaunchError,
    Started,
    command_of,
    job_name,
    load_folder,
    program_record,
    write_main_profile,
)
from crosswind.tools.experiment.processes import ask_to_end, end_processes, has_program
from crosswind.tools.experiment.records import ROLES, ProgramRecord, Role
from crosswind.tools.library import find_library
from crosswind.tools.machine import describe_machine
from crosswind.tools.mpi_launch import MPI_ENVIRONMENT, mpirun
from crosswind.tools.profiling import PREFIX, make_spool, profiled_environment

__all__ = ["LocalLauncher"]

START_S = 60.0  # for an MPI's launcher to start the ranks
STOP_S = 60.0  # for a program to end after SIGTERM: it finishes what it is at, and MPI shuts down
LAUNCHER_S = 3.0  # after so long without a program, its launcher is asked to end
POLL_S = 0.05
DIES_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")  # of util-linux


class _End(threading.Thread):
    """When a child ended, UTC: we may look for it much later."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._at_ns = pid, 0
        self.start()

    def run(self) -> None:
        """Wait, without taking its exit code away."""
        with suppress(ChildProcessError):  # that was taken already
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        self._at_ns = time.time_ns()

    def at_ns(self) -> int:
        """Of a child that has ended."""
        self.join()
        return self._at_ns


@dataclass(frozen=True)
class _Local(Started):
    process: subprocess.Popen[bytes]
    spool: Path
    begin_ns: int
    end: _End


class LocalLauncher:
    """See launcher.Launcher."""

    def __init__(self, scratch: Path, agents: Sequence[Path] = ()) -> None:
        self.scratch = scratch
        self._agents = agents
        self._running: dict[Path, subprocess.Popen[bytes]] = {}  # by spool directory

    def why_not(self, programs: Collection[Program]) -> str:
        """What is missing."""
        try:
            find_library()
            for program in programs:
                _check(program)
        except CommandError as error:
            return error.format_message()
        return ""

    def describe(self) -> dict[str, Any]:
        """This machine."""
        return {"machine": describe_machine(), "node": os.uname().nodename}

    def start(self, program: Program, folder: Path, role: Role, slice_length: str) -> _Local:
        """Start it, and wait for its first process."""
        scratch = self.scratch / job_name(folder, role)
        (folder / f"{role}.scratch").write_text(str(scratch))
        scratch.mkdir(parents=True)
        launcher, own = _launched(program, folder / role, scratch)
        command = [*(DIES_WITH_US if shutil.which(DIES_WITH_US[0]) else ()), *launcher, *own]
        job_id = job_name(folder, role)
        spool = make_spool()
        (folder / f"{role}.spool").write_text(str(spool))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("CROSSWIND_")}
        environment = profiled_environment(
            {**MPI_ENVIRONMENT, **clean}, find_library(), spool, job_id, slice_length, "off"
        )
        begin_ns = time.time_ns()
        with (folder / f"{role}.out").open("wb") as out, (folder / f"{role}.err").open("wb") as err:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder / role, env=environment,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise LaunchError(f"{program.name}: {command[0]}: {error.strerror}") from None
        self._running[spool], end = process, _End(process.pid)
        deadline = time.monotonic() + START_S
        while process.poll() is None and not has_program(spool):
            if time.monotonic() > deadline:
                raise LaunchError(f"{program.name}: its launcher did not start it within {START_S:.0f} s")
            time.sleep(POLL_S)
        return _Local(program, role, folder, scratch, job_id, process, spool, begin_ns, end)

    def wait(self, started: Started, timeout_s: float) -> ProgramRecord:
        """Until it has ended by itself."""
        assert isinstance(started, _Local), "by our start"  # noqa: S101
        try:
            started.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._end(started.spool)
            raise LaunchError(f"{started.program.name}: did not end within {timeout_s:.0f} s") from None
        return self._record(started, stopped=False)

    def stop(self, started: Started) -> ProgramRecord:
        """Ask its ranks to end, not their launcher: Open MPI's kills its ranks a second later."""
        assert isinstance(started, _Local), "by our start"  # noqa: S101
        if started.process.poll() is not None:
            return self._record(started, stopped=False)
        begin, asked = time.monotonic(), set[int]()
        while started.process.poll() is None:
            waited = time.monotonic() - begin
            if waited > STOP_S:
                self._end(started.spool)
                raise LaunchError(f"{started.program.name}: did not end within {STOP_S:.0f} s of SIGTERM")
            asked |= ask_to_end(started.spool, but=asked)
            if not asked and waited > LAUNCHER_S:
                started.process.terminate()
            time.sleep(POLL_S)
        return self._record(started, stopped=True)

    def abandon(self, folder: Path) -> None:
        """End what the folder's ROLE.spool files lead to, and remove the scratch directories."""
        for path in folder.glob("*.spool"):
            spool = Path(path.read_text())
            if spool.is_absolute() and spool.name.startswith(PREFIX):
                self._end(spool)
                shutil.rmtree(spool, ignore_errors=True)
            path.unlink()
        made = {self.scratch / job_name(folder, role) for role in ROLES}
        for path in folder.glob("*.scratch"):  # a killed runner may have had another --scratch
            made |= {Path(path.read_text())}
            path.unlink()
        for scratch in made:
            if scratch.is_absolute() and scratch.name.startswith(f"{folder.name}-"):
                shutil.rmtree(scratch, ignore_errors=True)
                with suppress(OSError):  # others are in it
                    scratch.parent.rmdir()

    def agent_files(self) -> list[Path]:
        """Of the agents named."""
        return node_files(self._agents)

    def server_resource(self) -> str | None:
        """None: the disk is watched."""
        return None

    def _end(self, spool: Path) -> None:
        end_processes(spool)
        process = self._running.pop(spool, None)
        if process is not None:
            process.wait()

    def _record(self, started: _Local, *, stopped: bool) -> ProgramRecord:
        """Its results; nothing of it runs any more, its spool directory is gone."""
        self._end(started.spool)
        profile = write_main_profile(started.spool, started.folder / f"{started.role}.xwp")
        shutil.rmtree(started.spool, ignore_errors=True)
        (started.folder / f"{started.role}.spool").unlink()
        code = started.process.returncode
        return program_record(
            started, profile, started.begin_ns, started.end.at_ns(), code if code >= 0 else 128 - code, stopped=stopped
        )


def _launched(program: Program, work: Path, scratch: Path) -> tuple[list[str], list[str]]:
    """The MPI's launcher ([]: none), and the program's own command. CommandError: the load programs are not built."""
    needs_load = any("{load}" in part for part in program.command)
    command = command_of(program, work, scratch, load_folder() if needs_load else None)
    return mpirun(program.mpi, program.ranks) if program.mpi else [], command


def _check(program: Program) -> None:
    """CommandError: it could not be started here."""
    anywhere = Path("/")
    for command in _launched(program, anywhere, anywhere):
        if command and shutil.which(command[0]) is None:
            raise CommandError(f"{command[0]}: is not there or no program, and {program.name} needs it: install it")
