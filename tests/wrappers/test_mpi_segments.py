"""Which collectives end a segment."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import mpi_runs


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize(("ranks", "on_pairs"), [(3, 0), (2, 50)])
def test_world_sized_synchronising_collectives_cut(tmp_path: Path, mpi: str, ranks: int, on_pairs: int) -> None:
    """50 of MPI_Allreduce on the world, 10 of MPI_Barrier on its copy; those on pairs if a pair is the whole world."""
    result = mpi_runs.run_program("mpi_segments", mpi, ranks, tmp_path / "spool")
    for spool in result.spools.values():
        names = [name for name, _ in spool.table.functions]
        closed_by = [names[function] for function in spool.segments.function]
        assert closed_by.count("MPI_Allreduce") == 50 + on_pairs
        assert closed_by.count("MPI_Barrier") == 10
        assert closed_by[-1] == "MPI_Finalize"
        assert len(closed_by) == 61 + on_pairs
