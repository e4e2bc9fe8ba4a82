"""What the MPI wrappers must not change: other tools, plug-ins, probes for functions, ends of all kinds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from crosswind.profile.layout import State
from support import mpi_runs
from support.mpi_runs import Part
from support.preload import LIBRARY, PROGRAMS, environment

PLAIN = {"MPI_Allreduce": (30, 120, 120), "MPI_Send": (10, 40, 0)}  # what rank 0 of mpi_plain does, among others
TOOL_SAYS = ["tool: 30 MPI_Allreduce, 0 MPI_Send", "tool: 30 MPI_Allreduce, 10 MPI_Send"]


def _both_counted(result: mpi_runs.Run) -> None:
    assert result.status == 0, result.err
    assert sorted(result.out.splitlines()) == TOOL_SAYS
    calls = result.calls(0)
    assert {name: calls[name] for name in PLAIN} == PLAIN


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize("place", ["in front", "behind"])
def test_another_preloaded_tool_still_counts(tmp_path: Path, mpi: str, place: str) -> None:
    tool = mpi_runs.program("mpi_tool_preload", mpi)
    preload = [tool, LIBRARY] if place == "in front" else [LIBRARY, tool]
    _both_counted(mpi_runs.run_program("mpi_plain", mpi, 2, tmp_path / "spool", preload=preload))


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize("program", ["mpi_tool_linked", "mpi_tool_nopie"])
def test_a_tool_linked_into_the_program_still_counts(tmp_path: Path, mpi: str, program: str) -> None:
    """The program's own calls then need no slot at all: they are seen where the tool calls PMPI_X."""
    _both_counted(mpi_runs.run_program(program, mpi, 2, tmp_path / "spool"))


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_mpi_in_a_plugin_opened_locally(tmp_path: Path, mpi: str) -> None:
    plugin = mpi_runs.program("mpi_plugin", mpi)
    parts = [Part(2, [PROGRAMS / "mpi_plugin_host", plugin])]
    bare = mpi_runs.run(mpi, [Part(2, parts[0].command, bare=True)], tmp_path / "none")
    assert bare.status == 0, bare.err
    result = mpi_runs.run(mpi, parts, tmp_path / "spool")
    assert result.status == 0, result.err
    calls = result.calls(0)
    assert {name: calls[name] for name in PLAIN} == PLAIN


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize("later", [(), ("later",)])
def test_modules_opened_after_init(tmp_path: Path, mpi: str, later: tuple[str, ...]) -> None:
    """Seen at once if their functions are looked up by name, else about half a second later."""
    plugin = mpi_runs.program("mpi_late_plugin", mpi)
    calls = mpi_runs.run_program("mpi_late_host", mpi, 2, tmp_path / "spool", plugin, *later).calls(0)
    assert {name: calls[name] for name in PLAIN} == PLAIN


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_function_that_is_not_there_stays_away(tmp_path: Path, mpi: str) -> None:
    result = mpi_runs.run_program("mpi_probe", mpi, 2, tmp_path / "spool")
    assert result.out.splitlines() == ["not there"] * 2
    assert result.calls(0)["MPI_Barrier"][0] == 5  # called through a pointer in constant data


def test_a_program_without_mpi_finds_no_mpi_functions(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAMS / "mpi_absent"], env=environment(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "no MPI\n", "")


def _sums(result: mpi_runs.Run) -> list[str]:
    return sorted(line for line in result.out.splitlines() if line.startswith("rank "))


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_mpi_abort_ends_as_it_does_without_and_the_counts_survive(tmp_path: Path, mpi: str) -> None:
    command = [mpi_runs.program("mpi_end", mpi), "abort"]
    bare = mpi_runs.run(mpi, [Part(2, command, bare=True)], tmp_path / "none")
    result = mpi_runs.run(mpi, [Part(2, command)], tmp_path / "spool")
    assert result.status == bare.status == 7
    assert _sums(result) == _sums(bare)
    calls = result.calls(1)
    assert calls["MPI_Allreduce"] == (20, 80, 80)
    assert calls["MPI_Abort"] == (1, 0, 0)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_killed_rank_leaves_its_counts(tmp_path: Path, mpi: str) -> None:
    result = mpi_runs.run(mpi, [Part(2, [mpi_runs.program("mpi_end", mpi), "kill"])], tmp_path / "spool")
    assert result.status != 0
    assert result.spools[1].state == State.RUNNING  # it could not say goodbye
    assert result.calls(1)["MPI_Allreduce"] == (20, 80, 80)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_ranks_that_leave_without_finalize(tmp_path: Path, mpi: str) -> None:
    """Launchers report 5 or that they killed the other rank, with the library and without: whoever is first."""
    command = [mpi_runs.program("mpi_end", mpi), "exit"]
    result = mpi_runs.run(mpi, [Part(2, command)], tmp_path / "spool", extra={"CROSSWIND_DIGEST": "short"})
    assert result.status != 0
    assert "crosswind:" not in result.err
    assert [result.calls(rank)["MPI_Allreduce"] for rank in range(2)] == [(20, 80, 80)] * 2


def test_only_the_two_names_of_init_are_exported() -> None:
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {name for name in names if "MPI_" in name.upper()} == {"MPI_Init", "MPI_Init_thread"}


def test_a_program_without_mpi_looks_up_no_mpi_name(tmp_path: Path) -> None:
    """A lookup that fails costs memory and leaves an error for the program to find. The linker logs each."""
    done = subprocess.run(
        ["/bin/true"], env={**environment(tmp_path), "LD_DEBUG": "symbols"}, capture_output=True, text=True, timeout=30
    )
    assert "symbol=" in done.stderr
    assert "MPI_" not in done.stderr
