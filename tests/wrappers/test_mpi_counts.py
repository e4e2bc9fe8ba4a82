"""Calls and bytes of MPI functions, from one library, against programs that know what they call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import mpi_runs
from support.preload import ROOT

COUNTED = ["mpi_coll", "mpi_io", "mpi_neighbours", "mpi_objects", "mpi_p2p", "mpi_queries", "mpi_rma"]
LARGE = [f"{name}_large" for name in COUNTED]  # the same through the large-count forms, where MPI has them


def _need(program: str, mpi: str) -> None:
    of_mpi_4 = program.endswith("_large") or program == "mpi_sessions"
    if of_mpi_4 and not mpi_runs.program(program, mpi).exists():
        pytest.skip(f"no {program}.{mpi}: this {mpi} is older than MPI-4")


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("program", [*COUNTED, *LARGE])
@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_every_rank_counts_exactly_what_it_called(tmp_path: Path, mpi: str, program: str, ranks: int) -> None:
    _need(program, mpi)
    prefix = tmp_path / "expected"
    result = mpi_runs.run_program(program, mpi, ranks, tmp_path / "spool", prefix, tmp_path / "file")
    assert sorted(result.spools) == list(range(ranks))
    for rank in range(ranks):
        assert result.calls(rank) == mpi_runs.expectations(prefix, rank), (mpi, rank)


def test_every_function_with_bytes_is_called_somewhere() -> None:
    """In its plain and its large form by the same line; the programs' macros put parts of names together."""
    text = "".join((ROOT / "tests" / "wrappers" / f"{name}.c").read_text() for name in COUNTED)
    called = set(re.findall(r"\bDO(?:_N)?\((MPI_\w+),", text))
    for name, i_name in re.findall(r"\bFORMS\(([A-Z]\w+), (I\w+),", text):
        called |= {f"MPI_{name}", f"MPI_{i_name}", f"MPI_{name}_init"}
    for name in re.findall(r"\bFORMS\(([a-z]\w+),", text):
        called |= {f"MPI_Neighbor_{name}", f"MPI_Ineighbor_{name}", f"MPI_Neighbor_{name}_init"}
    table = (ROOT / "wrappers" / "mpi" / "functions.toml").read_text()
    with_bytes = set(re.findall(r'name = "(MPI_\w+)"[^\n]*, (?:out|in) = ', table))
    assert len(with_bytes) == 124
    assert not with_bytes - called


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("world", [(), ("world",)], ids=["sessions only", "MPI_Init later"])
@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_sessions(tmp_path: Path, mpi: str, world: tuple[str, ...], ranks: int) -> None:
    """Rank and size are the launcher's; collectives as large as that end segments. MPI_Init does not start anew."""
    _need("mpi_sessions", mpi)
    prefix = tmp_path / "expected"
    result = mpi_runs.run_program("mpi_sessions", mpi, ranks, tmp_path / "spool", prefix, *world)
    assert {(rank, spool.ranks) for rank, spool in result.spools.items()} == {(r, ranks) for r in range(ranks)}
    for rank, spool in result.spools.items():
        assert result.calls(rank) == mpi_runs.expectations(prefix, rank), (mpi, rank)
        closed_by = [spool.table.functions[function][0] for function in spool.segments.function]
        end = "MPI_Finalize" if world else "MPI_Session_finalize"
        assert closed_by == (["MPI_Allreduce"] * 5 + ["MPI_Allgather"]) * (3 if world else 2) + [end]


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
