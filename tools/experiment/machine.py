"""machine.json: what the runs were made on and with. Nothing of the environment of who runs it."""

from __future__ import annotations

import platform
import re
import subprocess
import time
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crosswind.tools.experiment.description import Program
from crosswind.tools.mpi_launch import mpirun

__all__ = ["describe"]

TIMEOUT_S = 20.0


def describe(seen: dict[str, Any], programs: Collection[Program], scratch: Path | None) -> dict[str, Any]:
    """The document. seen: what the launcher says of the machine. scratch: None where only other machines have it."""
    return {
        **seen,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "memory_bytes": _memory(),
        "scratch_file_system": _file_system(scratch) if scratch else "",
        "mpi": {mpi: _version(mpi) for mpi in sorted({p.mpi for p in programs} - {""})},
        "python": platform.python_version(),
        "crosswind": version("crosswind"),
    }


def _memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return 0


def _file_system(path: Path) -> str:
    """The type of the file system that the nearest directory that exists is on."""
    while not path.exists():
        path = path.parent
    return _said(["stat", "--file-system", "--format=%T", str(path)]).strip()


def _version(mpi: str) -> str:
    """The first number with a dot that the MPI's launcher says of itself."""
    found = re.search(r"\d+(\.\d+)+\w*", _said([mpirun(mpi, 1)[0], "--version"]))
    return found[0] if found else ""


def _said(command: list[str]) -> str:
    """What the command writes; "": it is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
