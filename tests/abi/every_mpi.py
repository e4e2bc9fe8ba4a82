"""The same library under every MPI of mpis.py: exact numbers, the same exit codes and output, the digest.

`make test-abi` runs this file; its name keeps it out of `make test`. It ends with a table (conftest.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from abi import checks
from abi.expected import expected
from abi.mpis import EVERY_MPI, LANGUAGES, Mpi
from support import mpi_runs
from support.mpi_runs import Part

WRAPPERS = checks.HERE.parent / "wrappers"
COUNTED = ["mpi_coll", "mpi_io", "mpi_neighbours", "mpi_objects", "mpi_p2p", "mpi_rma"]  # every function with bytes

every_mpi = pytest.mark.parametrize("mpi", EVERY_MPI, ids=str)
two_and_three = pytest.mark.parametrize("ranks", [2, 3])
Cell = Callable[[str, Mpi, str, int], None]


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Cell:
    """Says into which cell of the tables a test's result belongs: its table, line, column and number of ranks."""
    return lambda table, mpi, column, ranks: record_property("cell", (table, mpi.name, column, ranks))


@two_and_three
@pytest.mark.parametrize("language", LANGUAGES)
@every_mpi
def test_fixed_program(tmp_path: Path, cell: Cell, mpi: Mpi, language: str, ranks: int) -> None:
    cell("the fixed program", mpi, language, ranks)
    checks.fixed_program(mpi, language, ranks, tmp_path)


@two_and_three
@every_mpi
def test_mpi4py(tmp_path: Path, cell: Cell, mpi: Mpi, ranks: int) -> None:
    """The wheel of mpi4py picks the MPI when it is imported, and asks for functions that may not be there."""
    mpi.need("mpi4py")
    cell("the fixed program", mpi, "mpi4py", ranks)
    prefix = tmp_path / "expected"
    command = [mpi.place / "bin" / "python", checks.HERE / "mpi4py_calls.py", prefix]
    result = checks.run_well(mpi, ranks, command, tmp_path)
    for rank in range(ranks):
        stated, calls = mpi_runs.expectations(prefix, rank), result.calls(rank)
        assert {name: calls.get(name) for name in stated} == stated, rank


@pytest.fixture
def flaw(request: pytest.FixtureRequest) -> None:
    """A test that a flaw of the MPI itself makes fail must fail: if it does not, the flaw has gone."""
    mpi, program = request.node.callspec.params["mpi"], request.node.callspec.params["program"]
    if program in mpi.flaws:
        request.applymarker(pytest.mark.xfail(reason=f"{mpi}: {mpi.flaws[program]}", strict=True))


@pytest.mark.usefixtures("flaw")
@pytest.mark.parametrize("program", COUNTED)
@every_mpi
def test_every_function_with_bytes(tmp_path: Path, cell: Cell, mpi: Mpi, program: str) -> None:
    cell("other programs", mpi, "every function", 3)
    checks.stating_program(mpi, WRAPPERS / f"{program}.c", 3, tmp_path)


@pytest.mark.usefixtures("flaw")
@pytest.mark.parametrize("program", COUNTED)
@every_mpi
def test_every_large_count_form(tmp_path: Path, cell: Cell, mpi: Mpi, program: str) -> None:
    mpi.need("large")
    cell("other programs", mpi, "large counts", 3)
    checks.stating_program(mpi, WRAPPERS / f"{program}.c", 3, tmp_path, ["-DLARGE"])


@two_and_three
@pytest.mark.parametrize("part", ["large", "partitioned"])
@every_mpi
def test_parts_of_mpi_4(tmp_path: Path, cell: Cell, mpi: Mpi, part: str, ranks: int) -> None:
    mpi.need(part)
    cell("other programs", mpi, "more than 32 bits" if part == "large" else part, ranks)
    checks.stating_program(mpi, checks.HERE / f"mpi4_{part}.c", ranks, tmp_path)


@two_and_three
@every_mpi
def test_sessions_without_a_world(tmp_path: Path, cell: Cell, mpi: Mpi, ranks: int) -> None:
    mpi.need("sessions")
    cell("other programs", mpi, "sessions", ranks)
    checks.stating_program(mpi, WRAPPERS / "mpi_sessions.c", ranks, tmp_path)


@every_mpi
def test_collectives_end_segments_where_they_are_completed(tmp_path: Path, cell: Cell, mpi: Mpi) -> None:
    cell("other programs", mpi, "requests", 3)
    mpi_runs.check_pending(checks.run_well(mpi, 3, [mpi.program(WRAPPERS / "mpi_pending.c")], tmp_path))


@pytest.mark.parametrize(("how", "status"), [("fail", 3), ("abort", 7)])
@every_mpi
def test_exit_codes(tmp_path: Path, cell: Cell, mpi: Mpi, how: str, status: int) -> None:
    cell("no harm", mpi, f"{how}: exit code {status}", 2)
    command = [mpi.program(WRAPPERS / "mpi_end.c"), how]
    bare = mpi.run([Part(2, command, bare=True)], tmp_path / "none")
    result = mpi.run([Part(2, command)], tmp_path / "spool")
    assert (bare.status, result.status) == (status, status), (bare.err, result.err)
    assert result.calls(1)["MPI_Allreduce"] == (20, 80, 80)


@every_mpi
def test_output_is_the_same(tmp_path: Path, cell: Cell, mpi: Mpi) -> None:
    cell("no harm", mpi, "same output", 3)
    command = [mpi.program(checks.HERE / "fixed.c"), tmp_path / "file"]
    bare = mpi.run([Part(3, command, bare=True)], tmp_path / "none")
    result = checks.run_well(mpi, 3, command, tmp_path)
    assert bare.out.startswith("fixed: 3 ranks")
    assert (result.out, result.err) == (bare.out, bare.err)


@every_mpi
def test_digest_of_all_ranks(tmp_path: Path, cell: Cell, mpi: Mpi) -> None:
    cell("no harm", mpi, "digest", 3)
    command = [mpi.program(checks.HERE / "fixed.c"), tmp_path / "file"]
    extra = {"CROSSWIND_DIGEST": "full", "CROSSWIND_JOB_ID": "4711"}
    result = checks.run_well(mpi, 3, command, tmp_path, extra=extra)
    lines = [line.removeprefix("crosswind: ") for line in result.err.splitlines() if line.startswith("crosswind: ")]
    assert re.fullmatch(rf"job 4711, fixed, 3 ranks on 1 node \({mpi.kind}\), \d+\.\d s", lines[0])
    rows = {line.split()[0]: line[34:].split() for line in lines if line.startswith("MPI_")}
    ranks = [expected(rank, 3) for rank in range(3)]
    for name in ("MPI_Send", "MPI_Allreduce", "MPI_Gather"):
        calls, out, into = (sum(counts[name][i] for counts in ranks) for i in range(3))
        assert rows[name][:5] == [str(calls), str(out), "B", str(into), "B"]
