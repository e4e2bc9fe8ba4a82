"""Fortran in its three forms: calls, bytes and places of calls, against programs that know what they call."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from support import mpi_runs
from support.preload import LIBRARY

FORMS = {"mpif.h": "mpifh", "use mpi": "usempi", "use mpi_f08": "f08"}

every_form = pytest.mark.parametrize("form", FORMS)
every_mpi = pytest.mark.parametrize("mpi", mpi_runs.MPIS)
two_and_three = pytest.mark.parametrize("ranks", [2, 3])


def _run(name: str, form: str, mpi: str, ranks: int, spool: Path, *args: str | Path, **options: object) -> mpi_runs.Run:
    if not shutil.which(f"mpif90.{mpi}"):
        pytest.skip(f"no Fortran compiler for {mpi}: no mpif90.{mpi}")
    return mpi_runs.run_program(f"{name}_{FORMS[form]}", mpi, ranks, spool, *args, **options)


@two_and_three
@every_form
@every_mpi
def test_what_fortran_passes_otherwise_and_bindings_do_on_their_own(
    tmp_path: Path, mpi: str, form: str, ranks: int
) -> None:
    prefix = tmp_path / "expected"
    result = _run("mpi_fortran", form, mpi, ranks, tmp_path / "spool", prefix, tmp_path / "file")
    assert sorted(result.spools) == list(range(ranks))
    for rank in range(ranks):
        assert result.calls(rank) == mpi_runs.expectations(prefix, rank), rank


@every_form
@every_mpi
def test_two_places_of_a_call_give_two_signatures(tmp_path: Path, mpi: str, form: str) -> None:
    """20 segments, in turn with a message from one line and from another; the same on both ranks."""
    result = _run("mpi_fortran_sites", form, mpi, 2, tmp_path / "spool")
    signatures = [result.spools[rank].segments.signature.tolist() for rank in range(2)]
    assert signatures[0] == signatures[1]
    odd, even = set(signatures[0][2:20:2]), set(signatures[0][1:20:2])  # the first one has MPI_Init too
    assert len(odd) == len(even) == 1
    assert odd != even


@every_form
@every_mpi
def test_nonblocking_collectives_end_segments_where_fortran_completes_them(tmp_path: Path, mpi: str, form: str) -> None:
    """In each of ten rounds one of MPI_Iallreduce and four of MPI_Ibarrier, each completed in another way."""
    result = _run("mpi_fortran_pending", form, mpi, 3, tmp_path / "spool")
    assert sorted(result.spools) == [0, 1, 2]
    for spool in result.spools.values():
        closed_by = Counter(mpi_runs.closed_by(spool))
        assert closed_by == {"MPI_Iallreduce": 10, "MPI_Ibarrier": 40, "MPI_Finalize": 1}


TOOL_SAYS = ["tool: 20 MPI_Allreduce, 20 MPI_Send"] * 2
COUNTED = {"MPI_Init": (1, 0, 0), "MPI_Finalize": (1, 0, 0)}
COUNTED |= {"MPI_Allreduce": (20, 320, 320), "MPI_Send": (20, 0, 0)}


@pytest.mark.parametrize("place", ["in front", "behind", "linked in"])
@pytest.mark.parametrize("form", ["mpif.h", "use mpi"])
@every_mpi
def test_a_tool_that_wraps_fortran_names_still_counts(tmp_path: Path, mpi: str, form: str, place: str) -> None:
    tool = mpi_runs.program("mpi_fortran_tool_preload", mpi)
    preload = {"in front": [tool, LIBRARY], "behind": [LIBRARY, tool], "linked in": [LIBRARY]}[place]
    name = "mpi_fortran_tool_linked" if place == "linked in" else "mpi_fortran_sites"
    result = _run(name, form, mpi, 2, tmp_path / "spool", preload=preload)
    assert result.out.splitlines() == TOOL_SAYS
    assert result.calls(0) == result.calls(1) == COUNTED


@every_form
@every_mpi
def test_a_tool_that_wraps_c_names_sees_what_it_saw(tmp_path: Path, mpi: str, form: str) -> None:
    """MPICH's bindings call MPI_X, Open MPI's PMPI_X: there such a tool sees nothing of Fortran."""
    tool = mpi_runs.program("mpi_tool_preload", mpi)
    bare = _run("mpi_fortran_sites", form, mpi, 2, tmp_path / "none", preload=[tool])
    result = _run("mpi_fortran_sites", form, mpi, 2, tmp_path / "spool", preload=[LIBRARY, tool])
    assert sorted(result.out.splitlines()) == sorted(bare.out.splitlines())
    assert result.calls(0) == result.calls(1) == COUNTED
