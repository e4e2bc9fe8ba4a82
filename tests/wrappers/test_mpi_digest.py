"""The digest at MPI_Finalize: on stderr of rank 0, from all ranks, or from rank 0 alone when others do not answer."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from support import mpi_runs
from support.mpi_runs import Part
from support.preload import environment


def _digest(result: mpi_runs.Run) -> list[str]:
    lines = [line for line in result.err.splitlines() if line.startswith("crosswind: ")]
    return [line.removeprefix("crosswind: ") for line in lines]


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_short_digest_of_all_ranks(tmp_path: Path, mpi: str) -> None:
    extra = {"CROSSWIND_DIGEST": "short", "CROSSWIND_JOB_ID": "4711", "CROSSWIND_URL": "http://site/job/%j"}
    lines = _digest(mpi_runs.run_program("mpi_plain", mpi, 3, tmp_path / "spool", extra=extra))
    assert re.fullmatch(rf"job 4711, mpi_plain.{mpi}, 3 ranks on 1 node \({mpi}\), \d+\.\d s", lines[0])
    assert lines[-1] == "more: http://site/job/4711"
    assert 8 <= len(lines) <= 20
    rows = {line[:34].strip(): line[34:].split() for line in lines}
    assert rows["point to point, calls"] == ["0", "6.67", "10"]  # the third rank has no partner


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_full_digest_sums_functions_over_ranks(tmp_path: Path, mpi: str) -> None:
    lines = _digest(mpi_runs.run_program("mpi_plain", mpi, 3, tmp_path / "spool", extra={"CROSSWIND_DIGEST": "full"}))
    rows = {line.split()[0]: line[34:].split() for line in lines if line.startswith("MPI_")}
    assert rows["MPI_Allreduce"][:5] == ["90", "360", "B", "360", "B"]
    assert rows["MPI_Send"][:5] == ["10", "40", "B", "0", "B"]


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_off_is_silent(tmp_path: Path, mpi: str) -> None:
    result = mpi_runs.run_program("mpi_plain", mpi, 2, tmp_path / "spool", extra={"CROSSWIND_DIGEST": "off"})
    assert result.err == ""


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
@pytest.mark.parametrize("bare_rank", [0, 1])
@pytest.mark.parametrize("digest", ["short", "full"])
def test_a_rank_without_the_library_does_not_hold_the_job_up(
    tmp_path: Path, mpi: str, bare_rank: int, digest: str
) -> None:
    """Rank 0 waits until the deadline, no longer, and says what it prints; the others only send."""
    command = [mpi_runs.program("mpi_plain", mpi)]
    parts = [Part(1, command, bare=bare_rank == rank) for rank in range(2)]
    begin = time.monotonic()
    result = mpi_runs.run(
        mpi, parts, tmp_path / "spool", extra={"CROSSWIND_DIGEST": digest, "CROSSWIND_DIGEST_WAIT": "700"}
    )
    assert time.monotonic() - begin < 20
    assert result.status == 0, result.err
    lines = _digest(result)
    if bare_rank == 0:
        assert lines == []
        return
    assert "numbers of rank 0 alone" in lines[1]
    assert any(line.startswith("lost:") and "digest 1" in line for line in lines)
    assert sum(spool.lost.get("digest", 0) for spool in result.spools.values()) == 1


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_never_into_a_file_that_took_the_place_of_stderr(tmp_path: Path, mpi: str) -> None:
    result = mpi_runs.run_program(
        "mpi_end", mpi, 2, tmp_path / "spool", "closed", extra={"CROSSWIND_DIGEST": "short"}, cwd=tmp_path
    )
    assert _digest(result) == []
    assert "crosswind" not in (tmp_path / "not-stderr").read_text()


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_rank_that_comes_after_the_deadline(tmp_path: Path, mpi: str) -> None:
    """Both give up, one waiting for the other in vain, and the job ends well."""
    extra = {"CROSSWIND_DIGEST": "short", "CROSSWIND_DIGEST_WAIT": "300"}
    result = mpi_runs.run_program("mpi_end", mpi, 2, tmp_path / "spool", "late", extra=extra)
    assert "numbers of rank 0 alone" in _digest(result)[1]


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_finalize_after_main(tmp_path: Path, mpi: str) -> None:
    """As Python's MPI module does."""
    extra = {"CROSSWIND_DIGEST": "short"}
    lines = _digest(mpi_runs.run_program("mpi_end", mpi, 2, tmp_path / "spool", "atexit", extra=extra))
    assert "2 ranks on 1 node" in lines[0]


def _run_alone(mpi: str, spool: Path, stderr: int) -> int:
    """The exit status of one rank without a launcher, with the descriptor as its standard error."""
    env = {**environment(spool), "CROSSWIND_DIGEST": "short"}
    program = mpi_runs.program("mpi_plain", mpi)
    return subprocess.run([program], env=env, stdout=subprocess.DEVNULL, stderr=stderr, timeout=30).returncode


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_nobody_reads_it(tmp_path: Path, mpi: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert _run_alone(mpi, tmp_path / "spool", writer) == 0
    finally:
        os.close(writer)


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_a_full_pipe_does_not_hold_the_program_up(tmp_path: Path, mpi: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)))
    try:
        assert _run_alone(mpi, tmp_path / "spool", writer) == 0
    finally:
        os.close(reader)
        os.close(writer)
