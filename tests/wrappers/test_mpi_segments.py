"""Which calls end a segment: world-sized synchronising collectives, however they are completed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support import mpi_runs
from support.mpi_runs import closed_by


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize(("ranks", "on_pairs"), [(3, 0), (2, 50)])
def test_world_sized_synchronising_collectives_cut(tmp_path: Path, mpi: str, ranks: int, on_pairs: int) -> None:
    """50 of MPI_Allreduce on the world, 10 of MPI_Barrier on its copy; those on pairs if a pair is the whole world."""
    result = mpi_runs.run_program("mpi_segments", mpi, ranks, tmp_path / "spool")
    for spool in result.spools.values():
        functions = closed_by(spool)
        assert functions[-1] == "MPI_Finalize"
        assert Counter(functions) == {
            "MPI_Allreduce": 50 + on_pairs,
            "MPI_Barrier": 10,
            "MPI_Iallreduce": 50,
            "MPI_Finalize": 1,
        }


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_collective_ends_a_segment_where_it_is_completed(tmp_path: Path, mpi: str) -> None:
    mpi_runs.check_pending(mpi_runs.run_program("mpi_pending", mpi, 3, tmp_path / "spool"))


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_calls_that_fail_fail_as_without_the_library(tmp_path: Path, mpi: str) -> None:
    """The same complaints to the program's error handler, and the collectives beside them are counted: 7."""
    result = mpi_runs.run_program("mpi_mistakes", mpi, 2, tmp_path / "spool")
    bare = mpi_runs.run(mpi, [mpi_runs.Part(2, [mpi_runs.program("mpi_mistakes", mpi)], bare=True)], tmp_path / "none")
    assert (bare.status, bare.spools) == (0, {})
    assert sorted(result.out.splitlines()) == sorted(bare.out.splitlines()) == ["0 7 7", "1 7 7"]
    for spool in result.spools.values():
        assert closed_by(spool) == ["MPI_Ibarrier"] * 7 + ["MPI_Finalize"]
