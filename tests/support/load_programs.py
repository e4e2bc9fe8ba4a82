"""Runs the load programs, alone or under the library, and gives what their ranks were seen to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosswind.profile import Profile
from crosswind.profile.access import Access, access_by_class, pattern
from support.mpi_runs import AS_ROOT, MPIS
from support.preload import BUILD, environment, profile

LOAD = BUILD / "load"
SECOND = 1_000_000_000
TIMEOUT_S = 60
Report = dict[str, Any]


def program(mpi: str, name: str) -> Path:
    """The program as it was built for an MPI. Skips the test where it was not."""
    path = LOAD / f"load-{name}.{mpi}"
    if not path.exists():
        what = "no cuda.h (cmake -DCUDA_HEADERS=DIR)" if name == "gpubus" else f"no mpicc.{mpi}"
        pytest.skip(f"{path.name} was not built: {what}")
    return path


def any_mpi() -> str:
    """One of those that the programs were built for: MPICH if it is, whose programs start sooner."""
    return next((mpi for mpi in reversed(MPIS) if (LOAD / f"load-cpu.{mpi}").exists()), MPIS[0])


def command(mpi: str, name: str, *options: object, ranks: int = 2) -> list[str]:
    """Its command line; one rank goes without a launcher."""
    launcher = [f"mpirun.{mpi}", "-n", str(ranks)] if ranks > 1 else []
    return [*launcher, str(program(mpi, name)), *map(str, options)]


def bare_environment() -> dict[str, str]:
    """Without the library."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD"))}
    return {**clean, **AS_ROOT}


def run(arguments: list[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    env = bare_environment() if env is None else env
    return subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)


def report_of(arguments: list[str]) -> Report:
    """What a program that has to end well says."""
    done = run(arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


@dataclass(frozen=True)
class Seen:
    """What the profile has of the ranks, without their launcher."""

    whole: Profile

    @property
    def ranks(self) -> np.ndarray:
        """Their positions among the processes."""
        return np.array([i for i, process in enumerate(self.whole.processes) if process.rank is not None])

    def _function(self, name: str, column: int) -> int:
        found = self.whole.functions.get(name)
        return 0 if found is None else int(found[self.ranks, column].sum())

    def calls(self, name: str) -> int:
        """Calls of a function."""
        return self._function(name, 0)

    def bytes_out(self, name: str) -> int:
        """Bytes that a function sent or wrote."""
        return self._function(name, 1)

    def bytes_in(self, name: str) -> int:
        """Bytes that a function received or read."""
        return self._function(name, 2)

    def total(self, metric: str) -> int:
        """A metric over all ranks."""
        found = self.whole.totals.get(metric)
        return 0 if found is None else int(found[self.ranks].sum())

    def course(self, metric: str) -> np.ndarray:
        """A metric over all ranks, slice by slice."""
        sums: np.ndarray = self.whole.metric(metric)[self.ranks].sum(axis=0)
        return sums

    def access(self, kind: str, way: str) -> Access:
        """Requests on files of a class."""
        arrays = {name: values[self.ranks] for name, values in self.whole.access.items()}
        return access_by_class(arrays)[kind][way]

    def words(self, kind: str, way: str) -> str:
        """The access pattern."""
        return pattern(self.access(kind, way), writes=way.endswith("write"))


def profiled(
    mpi: str, name: str, spool: Path, *options: object, ranks: int = 2, slice_length: str = "4s"
) -> tuple[Report, Seen]:
    """Its report, and what the profile says of it."""
    spool.mkdir()
    env = environment(spool, {**AS_ROOT, "CROSSWIND_SLICE": slice_length})
    done = run(command(mpi, name, *options, ranks=ranks), env)
    assert done.returncode == 0, done.stderr
    seen = Seen(profile(spool))
    assert len(seen.ranks) == ranks
    return json.loads(done.stdout), seen


def processes(word: str) -> list[int]:
    """Load programs with that word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(os.fsdecode(line[0])).name.startswith("load-") and any(word in os.fsdecode(part) for part in line):
            found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Until it holds; fails when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)


def has_launcher(mpi: str) -> bool:
    """Its mpirun is there."""
    return shutil.which(f"mpirun.{mpi}") is not None
