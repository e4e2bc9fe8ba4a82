"""The command as a user has it: a process of its own, with the library that was built."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from crosswind.profile import write_profile
from support.preload import LIBRARY
from support.profiles import make_lammps

Completed = subprocess.CompletedProcess[str]
CrosswindCommand = Callable[..., Completed]


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment without options of Crosswind, and with the library that is tested."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD", "SLURM_"))}
    return {**clean, "CROSSWIND_LIBRARY": str(LIBRARY), "CROSSWIND_DIGEST": "off"}


@pytest.fixture
def crosswind(tmp_path: Path, environment: dict[str, str]) -> CrosswindCommand:
    """Run `crosswind ARGS...` in an empty directory."""

    def run(*arguments: str | Path, extra: Mapping[str, str] | None = None) -> Completed:
        command = [sys.executable, "-m", "crosswind.tools", *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**environment, **(extra or {})},
            capture_output=True,
            text=True,
            timeout=100,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def built() -> Path:
    """The library; skips where it was not built."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not there: run `make build`")
    return LIBRARY


@pytest.fixture
def profile_file(tmp_path: Path) -> Path:
    """A LAMMPS-like profile with known numbers."""
    path = tmp_path / "melt.xwp"
    write_profile(make_lammps(), path)
    return path
