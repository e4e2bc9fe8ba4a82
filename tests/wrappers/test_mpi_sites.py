"""Programs without world-sized collectives: the call sites that cut them, and what the estimate makes of it.

The programs (mpi_sites.c) do a known number of steps, so that the number of segments is known: a site cuts from its
32nd passage on, that of a later phase from its 64th.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from crosswind.analysis.interference import estimate
from crosswind.profile.align import align_segments
from crosswind.profile.call_sites import label
from crosswind.profile.segments import SegmentTable
from support import mpi_runs
from support.mpi_runs import closed_by
from support.preload import PROGRAMS

BEFORE_FIRST, BEFORE_NEXT = 31, 63  # passages that cut nothing


def run(tmp_path: Path, mpi: str, ranks: int, *arguments: object) -> mpi_runs.Run:
    """Run mpi_sites."""
    return mpi_runs.run_program("mpi_sites", mpi, ranks, tmp_path / "spool", *map(str, arguments))


def table_of(result: mpi_runs.Run) -> SegmentTable:
    """The aligned segments of all ranks."""
    table = align_segments([result.spools[rank] for rank in sorted(result.spools)])
    assert table is not None
    return table


def call_at(place: str) -> str:
    """The call in the source that a place is, as the debugger's tables say; it is one of the function that the place
    names.
    """
    found = re.fullmatch(r"(MPI_\w+) at (\S+)\+(0x[0-9a-f]+)", place)
    assert found, place
    before = hex(int(found[3], 16) - 1)  # in the call itself: the offset is where it returns to
    command = ["addr2line", "-e", str(PROGRAMS / found[2]), before]
    file, _, line = subprocess.check_output(command, text=True).split()[0].rpartition(":")
    statement = "".join(Path(file).read_text().splitlines()[int(line) - 1 :]).partition(";")[0]
    call = re.search(rf"{found[1]}\([^()]*\)", statement)
    assert call, (place, file, line)
    return call[0]


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_halo_exchange_is_cut_at_the_wait_of_each_step(tmp_path: Path, mpi: str) -> None:
    result = run(tmp_path, mpi, 3, "ring", 200, 100)
    for spool in result.spools.values():
        assert Counter(closed_by(spool)) == {"MPI_Waitall": 200 - BEFORE_FIRST, "MPI_Finalize": 1}
    table = table_of(result)
    assert table.valid.all()
    assert table.from_call_sites.all()
    (call,) = table.call_sites
    assert call_at(call) == "MPI_Waitall(4, request, MPI_STATUSES_IGNORE)"
    assert [table.closed_by(i) for i in range(table.n_segments)] == [call] * (table.n_segments - 1) + ["MPI_Finalize"]
    assert table.n_segments == 200 - BEFORE_FIRST + 1
    assert np.unique(table.columns["sig"][:, 1:-1]).size == 1
    np.testing.assert_array_equal(table.columns["p2p_calls"][:, 1:-1], 5)  # two sends, two receives, one wait


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_delay_between_halo_exchanges_is_found(tmp_path: Path, mpi: str) -> None:
    """The loss lies between what was added and all that the run took beyond its work, within 3 points."""
    steps, us = 1000, 1000
    result = run(tmp_path, mpi, 2, "ring", steps, us, 3000)
    added_us = float(result.out.split()[0])
    table = table_of(result)
    found = estimate(table)
    total_us = float(np.median(table.columns["dur_us"], axis=0).sum())
    assert found.interference_pct is not None
    assert 100 * added_us / total_us - 3 < found.interference_pct < 100 * (1 - steps * us / total_us) + 3
    assert added_us > 0.2 * steps * us
    assert "call sites" in " ".join(c.reason for c in found.cautions)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_collectives_of_smaller_communicators_cut_where_they_recur(tmp_path: Path, mpi: str) -> None:
    """Rows and columns of two by two ranks: the first of two such collectives in a step cuts."""
    result = run(tmp_path, mpi, 4, "grid", 150, 100)
    for spool in result.spools.values():
        assert Counter(closed_by(spool)) == {"MPI_Allreduce": 150 - BEFORE_FIRST, "MPI_Finalize": 1}
    table = table_of(result)
    assert table.valid.all()
    assert table.from_call_sites.all()
    np.testing.assert_array_equal(table.columns["coll_calls"][:, 1:-1], 2)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_another_phase_is_cut_at_a_site_of_its_own(tmp_path: Path, mpi: str) -> None:
    result = run(tmp_path, mpi, 3, "phases", 150, 100)
    for spool in result.spools.values():
        functions = closed_by(spool)
        first, second = 150 - BEFORE_FIRST, 150 - BEFORE_NEXT
        assert functions == ["MPI_Waitall"] * first + ["MPI_Sendrecv"] * second + ["MPI_Finalize"]
    table = table_of(result)
    assert table.valid.all()
    assert [call_at(place).split("(")[0] for place in table.call_sites] == ["MPI_Waitall", "MPI_Sendrecv"]


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_tasks_of_a_master_are_no_segments(tmp_path: Path, mpi: str) -> None:
    """The workers' tasks are cut, but equal numbers are no equal stretches of the run: nothing is said of it."""
    result = run(tmp_path, mpi, 4, "master", 600, 2000)
    assert all("MPI_Recv" in closed_by(spool) for spool in result.spools.values())
    table = table_of(result)
    assert not table.from_call_sites.any()
    assert table.n_segments == 1
    assert estimate(table).interference_pct is None


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_world_sized_collectives_win(tmp_path: Path, mpi: str) -> None:
    """Sites cut the set-up, and the first 32 steps of the main loop beside its collectives."""
    result = run(tmp_path, mpi, 2, "init", 100, 0)
    for spool in result.spools.values():
        functions = closed_by(spool)
        assert Counter(functions) == {
            "MPI_Waitall": 100 - BEFORE_FIRST + 32,
            "MPI_Allreduce": 500,
            "MPI_Finalize": 1,
        }
        assert "MPI_Waitall" not in functions[100 - BEFORE_FIRST + 2 * 32 :]
        calls = [label(spool.table.functions[site.function][0], site) for _, site in sorted(spool.sites.items())]
        assert [call_at(call).split("(")[0] for call in calls] == ["MPI_Waitall", "MPI_Allreduce"]
    table = table_of(result)
    assert table.valid.all()
    assert not table.from_call_sites[-467:].any()
    *_, main_loop, end = dict.fromkeys(map(table.closed_by, range(table.n_segments)))
    assert end == "MPI_Finalize"
    assert call_at(main_loop).startswith("MPI_Allreduce(&number")


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_rare_collectives_cut_beside_sites(tmp_path: Path, mpi: str) -> None:
    result = run(tmp_path, mpi, 2, "rare", 2000, 0)
    for spool in result.spools.values():
        functions = closed_by(spool)
        assert functions.count("MPI_Allreduce") == 4
        assert functions.index("MPI_Allreduce") == 500 - BEFORE_FIRST
    assert table_of(result).valid.all()
