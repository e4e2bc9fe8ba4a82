"""Calls and bytes of MPI functions, from one library, against programs that know what they call."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import mpi_runs


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("program", ["mpi_p2p", "mpi_coll", "mpi_io"])
@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_every_rank_counts_exactly_what_it_called(tmp_path: Path, mpi: str, program: str, ranks: int) -> None:
    prefix = tmp_path / "expected"
    result = mpi_runs.run_program(program, mpi, ranks, tmp_path / "spool", prefix, tmp_path / "file")
    assert sorted(result.spools) == list(range(ranks))
    for rank in range(ranks):
        assert result.calls(rank) == mpi_runs.expectations(prefix, rank), (mpi, rank)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_the_spool_file_says_which_mpi_and_which_rank(tmp_path: Path, mpi: str) -> None:
    result = mpi_runs.run_program("mpi_plain", mpi, 3, tmp_path / "spool")
    assert {spool.mpi for spool in result.spools.values()} == {mpi}
    assert {(rank, spool.ranks) for rank, spool in result.spools.items()} == {(0, 3), (1, 3), (2, 3)}


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize("linking", ["mpi_plain_now", "mpi_plain_lazy"])
def test_calls_are_seen_however_the_program_is_linked(tmp_path: Path, mpi: str, linking: str) -> None:
    """Read-only offset tables (-z now -z relro), and lazy binding in an executable at a fixed address."""
    calls = mpi_runs.run_program(linking, mpi, 2, tmp_path / "spool").calls(1)
    assert calls["MPI_Allreduce"] == (30, 120, 120)
    assert calls["MPI_Recv"] == (10, 0, 40)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_without_timing_the_counts_stay(tmp_path: Path, mpi: str) -> None:
    calls = mpi_runs.run_program("mpi_plain", mpi, 2, tmp_path / "spool", extra={"CROSSWIND_TIMING": "0"}).calls(0)
    assert calls["MPI_Allreduce"] == (30, 120, 120)
    assert calls["MPI_Send"] == (10, 40, 0)
