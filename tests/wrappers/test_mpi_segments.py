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
    """Every rank has one segment for each collective, whatever it completed together; only one of these has extent.

    The program counts by itself. 64 requests are followed at a time; of the 70 that it has at once 6 are too many.
    """
    result = mpi_runs.run_program("mpi_pending", mpi, 3, tmp_path / "spool")
    said = [tuple(map(int, line.split())) for line in result.out.splitlines()]
    assert len(said) == 3
    for rank, collectives, cuts in said:
        log = result.spools[rank].segments
        duration = log.values[:, result.spools[rank].table.segment_fields.index("duration")]
        assert len(log) == collectives + 1
        assert (duration > 0).sum() == cuts + 1
        assert not log.values[duration == 0].any()
        assert log.count.sum() == collectives + 1
        assert result.spools[rank].lost["requests"] == 6
