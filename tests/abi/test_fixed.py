"""The fixed program on the MPIs of the distribution, in C and Fortran: every number of every rank is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from abi.expected import expected
from support import mpi_runs


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_every_function_of_every_rank(tmp_path: Path, mpi: str, ranks: int) -> None:
    result = mpi_runs.run_program("fixed_c", mpi, ranks, tmp_path / "spool", tmp_path / "file")
    assert sorted(result.spools) == list(range(ranks))
    for rank in range(ranks):
        assert result.calls(rank) == expected(rank, ranks), (mpi, rank)
