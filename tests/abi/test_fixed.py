"""The fixed program on the MPIs of the distribution, in C and Fortran: every number of every rank is known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from abi import checks
from abi.mpis import DEBIAN_12, LANGUAGES, MPICH_4_0, Mpi

two_and_three = pytest.mark.parametrize("ranks", [2, 3])


@two_and_three
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mpi", DEBIAN_12, ids=str)
def test_fixed_program(tmp_path: Path, mpi: Mpi, language: str, ranks: int) -> None:
    compiler = f"{'mpicc' if language == 'C' else 'mpif90'}.{mpi.kind}"
    if not shutil.which(compiler):
        pytest.skip(f"{mpi} is not installed for {language}: no {compiler}")
    checks.fixed_program(mpi, language, ranks, tmp_path)


@two_and_three
@pytest.mark.parametrize("part", ["large", "partitioned"])
def test_parts_of_mpi_4(tmp_path: Path, part: str, ranks: int) -> None:
    checks.stating_program(MPICH_4_0, checks.HERE / f"mpi4_{part}.c", ranks, tmp_path)
