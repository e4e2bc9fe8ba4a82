"""Python's mpi4py of the distribution, which brings the MPI library with its module, long after the start."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import mpi_runs
from support.mpi_runs import Part
from support.preload import ROOT

PYTHON = "/usr/bin/python3"
CALLS = ROOT / "tests" / "abi" / "mpi4py_calls.py"


@pytest.mark.parametrize("ranks", [2, 3])
def test_known_calls(tmp_path: Path, ranks: int) -> None:
    """Debian builds it for Open MPI alone. Besides what the script calls, the module calls functions for itself."""
    mpi_runs.program("mpi_plain", "openmpi")
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip("python3-mpi4py is not installed")
    prefix = tmp_path / "expected"
    result = mpi_runs.run("openmpi", [Part(ranks, [PYTHON, CALLS, prefix])], tmp_path / "spool")
    assert result.status == 0, result.err
    assert sorted(result.spools) == list(range(ranks))
    for rank in range(ranks):
        expected, calls = mpi_runs.expectations(prefix, rank), result.calls(rank)
        assert {name: calls.get(name) for name in expected} == expected, rank
