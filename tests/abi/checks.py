"""What is checked of a program under one MPI; the tests say which programs and which MPIs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from abi.expected import expected
from abi.mpis import Mpi
from support import mpi_runs
from support.mpi_runs import Part

HERE = Path(__file__).parent


def run_well(mpi: Mpi, ranks: int, command: Sequence[str | Path], tmp_path: Path, **options: object) -> mpi_runs.Run:
    """Run a program on some ranks under the library; it must end well and every rank leave its numbers."""
    result = mpi.run([Part(ranks, command)], tmp_path / "spool", **options)
    assert result.status == 0, (result.status, result.out[-500:], result.err[-2000:])
    assert sorted(result.spools) == list(range(ranks))
    assert {spool.mpi for spool in result.spools.values()} == {mpi.kind}
    return result


def fixed_program(mpi: Mpi, language: str, ranks: int, tmp_path: Path) -> None:
    """Every number of every rank is what was written down."""
    source = HERE / ("fixed.c" if language == "C" else "fixed.F90")
    result = run_well(mpi, ranks, [mpi.program(source, language), tmp_path / "file"], tmp_path)
    for rank in range(ranks):
        assert result.calls(rank) == expected(rank, ranks), rank


def stating_program(mpi: Mpi, source: Path, ranks: int, tmp_path: Path, flags: Sequence[str] = ()) -> None:
    """Every number of every rank is what the program itself says (mpi_expect.h)."""
    prefix = tmp_path / "expected"
    result = run_well(mpi, ranks, [mpi.program(source, flags=flags), prefix, tmp_path / "file"], tmp_path)
    for rank in range(ranks):
        assert result.calls(rank) == mpi_runs.expectations(prefix, rank), rank
