"""The doctor's look at MPI: which launchers there are, and whether two ranks really end up in a profile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from crosswind.tools.checks import Check, State, profile_of_run
from crosswind.tools.errors import CommandError

__all__ = ["installations"]

RANKS = 2
# Two ranks that meet in a barrier, without a compiler: Python calls the MPI library that is named on its command line
# by way of the global scope, as a linked program would.
PROGRAM = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)
mpi.MPI_Init(None, None)
mpi.MPI_Finalize()
"""
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}
VERSION_PATTERNS = {
    "openmpi": ("Open MPI", r"(?:OpenRTE|Open MPI)\)? ([\d.]+)"),
    "mpich": ("MPICH", r"HYDRA.*?Version:\s+([\w.]+)"),
    "intel": ("Intel MPI", r"Intel\(R\) MPI Library.*?Version ([\d.]+)"),
}
LAUNCHERS = ("mpirun.openmpi", "mpirun.mpich", "mpirun")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def installations() -> list[Check]:
    """One check for each MPI found; one line that says so if there is none."""
    seen: dict[Path, str] = {}
    for launcher in LAUNCHERS:
        path = shutil.which(launcher)
        if path:
            seen.setdefault(Path(path).resolve(), launcher)
    if not seen:
        return [Check("MPI", State.LIMITED, "no mpirun found", "load an MPI module to profile MPI programs")]
    return [_installation(launcher) for launcher in seen.values()]


def _installation(launcher: str) -> Check:
    kind, version = _version(launcher)
    if kind not in LIBRARIES:
        return Check(
            launcher, State.LIMITED, f"{version}: not one that this check knows", "try a profiled run yourself"
        )
    options = ["--oversubscribe", "--bind-to", "none"] if kind == "openmpi" else []
    command = [launcher, *options, "-n", str(RANKS), sys.executable, "-c", PROGRAM, LIBRARIES[kind]]
    try:
        profile = profile_of_run(command, ENVIRONMENT)
    except CommandError as error:
        return Check(launcher, State.MISSING, f"{version}: {error}", f"try: {launcher} -n {RANKS} hostname")
    ranks = len(profile.mpi_rows)
    if ranks != RANKS:
        return Check(launcher, State.MISSING, f"{version}: {ranks} of {RANKS} ranks seen", "please report this")
    return Check(launcher, State.OK, f"{version}: {RANKS} ranks profiled")


def _version(launcher: str) -> tuple[str, str]:
    """The kind of MPI behind a launcher, and its name with the version."""
    result = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    for kind, (name, pattern) in VERSION_PATTERNS.items():
        match = re.search(pattern, result.stdout + result.stderr, re.DOTALL)
        if match:
            return kind, f"{name} {match[1]}"
    return "unknown", "version not understood"
