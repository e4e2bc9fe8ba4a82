"""LAMMPS under the library: the same output, and the same calls as another tool counts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support import mpi_runs
from support.mpi_runs import Part
from support.preload import LIBRARY

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 10
run 300
"""
TIMES = re.compile(
    r"CPU = |Loop time|Performance:|CPU use|Total wall time|^(Pair|Neigh|Comm|Output|Modify|Other) |^tool: "
)


def _physics(output: str) -> list[str]:
    return [line for line in output.splitlines() if not TIMES.search(line)]


def test_lammps_computes_the_same_and_its_calls_are_those_that_a_tool_counts(tmp_path: Path) -> None:
    if not shutil.which("lmp"):
        pytest.skip("lammps is not installed: no lmp")
    (tmp_path / "in.melt").write_text(MELT)
    command = ["lmp", "-in", tmp_path / "in.melt", "-log", "none"]
    tool = mpi_runs.program("mpi_tool_preload", "openmpi")
    bare = mpi_runs.run("openmpi", [Part(2, command, bare=True)], tmp_path / "none")
    result = mpi_runs.run("openmpi", [Part(2, command)], tmp_path / "spool", preload=[LIBRARY, tool])
    assert (bare.status, result.status) == (0, 0), result.err
    assert len(_physics(bare.out)) > 40
    assert _physics(result.out) == _physics(bare.out)
    counted = sorted((result.calls(rank)["MPI_Allreduce"][0], result.calls(rank)["MPI_Send"][0]) for rank in range(2))
    told = [tuple(map(int, re.findall(r"\d+", line))) for line in result.out.splitlines() if line.startswith("tool: ")]
    assert counted == sorted(told)
    assert min(counted)[1] > 300  # at least one message a step
    sent = sum(result.calls(rank)["MPI_Send"][1] for rank in range(2))
    assert sent > 300 * 24 * 100  # the positions of some hundred ghost atoms a step, three doubles each
