"""The processes of a program on this machine: those whose environment names its spool directory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crosswind.tools.experiment.launcher import LaunchError

__all__ = ["ask_to_end", "end_processes", "has_program"]

PATIENCE_S = 5.0  # after SIGTERM, then again after SIGKILL
POLL_S = 0.05
STARTERS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "hydra_pmi_proxy", "setpriv")


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    name: str  # as the kernel keeps it: 15 characters

    @property
    def is_starter(self) -> bool:
        return self.name.startswith(STARTERS)


def has_program(spool: Path) -> bool:
    """Whether anything runs that is not on its way to start something."""
    return any(not process.is_starter for process in _processes_of(spool).values())


def ask_to_end(spool: Path, *, but: Collection[int] = ()) -> set[int]:
    """Ask the programs of a spool directory to end (SIGTERM), without those already asked (`but`); whom it asked.

    Programs are what MPI's launchers started, and what was started without one; not what these start themselves.
    """
    found = _processes_of(spool)
    asked = {
        process.pid
        for process in found.values()
        if not process.is_starter
        and process.pid not in but
        and (process.parent not in found or found[process.parent].is_starter)
    }
    for pid in asked:
        _send(pid, signal.SIGTERM)
    return asked


def end_processes(spool: Path) -> None:
    """End all processes of a spool directory and wait until they are gone. LaunchError: one cannot be ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + PATIENCE_S
        asked = set[int]()
        while found := _processes_of(spool):
            for pid in found.keys() - asked:
                _send(pid, number)
            asked |= found.keys()
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        else:
            return
    raise LaunchError(f"process {min(found)} does not end, not even by SIGKILL")


def _processes_of(spool: Path) -> dict[int, _Process]:
    """Those that run; one that only waits to be waited for has no environment any more."""
    wanted = b"CROSSWIND_SPOOL=" + os.fsencode(spool)
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):  # gone meanwhile, or another's
            if wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                name, _, rest = Path(entry.path, "stat").read_text().partition("(")[2].rpartition(") ")
                pid = int(entry.name)
                found[pid] = _Process(pid, int(rest.split()[1]), name)
    return found


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
