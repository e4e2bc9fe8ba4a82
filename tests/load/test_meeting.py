"""--meet: load programs whose ranks wait for each other, as those of a bulk-synchronous program do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from crosswind.analysis.interference import estimate_profile
from support.load_programs import Report, Seen, any_mpi, bare_environment, command, profiled, run

RANKS, CHUNKS = 2, 64


def run_of(mpi: str, directory: Path, *options: object) -> tuple[Report, Seen]:
    """So many chunks a rank."""
    directory.mkdir()
    return profiled(
        mpi, "pattern", directory / "spool", "--chunk", "16k", "--volume", CHUNKS << 14, "--pattern", "write-seek",
        "--dir", directory, *options, ranks=RANKS,
    )  # fmt: skip


@pytest.mark.parametrize(("every", "meetings"), [(1, CHUNKS + 1), (5, 1 + 64 // 5 + 1), (1000, 2)])
def test_ranks_meet_after_so_many_works(mpi: str, every: int, meetings: int, tmp_path: Path) -> None:
    """At the begin, after every so many, and when they have done their volume."""
    _, never = run_of(mpi, tmp_path / "never")
    report, seen = run_of(mpi, tmp_path / "meet", "--meet", every)
    assert report["total"] == RANKS * CHUNKS << 14
    assert seen.calls("MPI_Allreduce") - never.calls("MPI_Allreduce") == RANKS * meetings


def test_ranks_rest_and_stop_together(mpi: str) -> None:
    """Those that meet in collective work, too: no rank may wait for one that rests or has ended."""
    options = ["--seconds", 1.2, "--active", 0.2, "--silent", 0.2, "--intensity", 0.5]
    for name, more in (("cpu", ["--meet", 2]), ("cpu", ["--meet", 1]), ("network", ["--kind", "alltoall"])):
        done = subprocess.run(
            command(mpi, name, *options, *more), env=bare_environment(), capture_output=True, text=True, timeout=30
        )
        report = json.loads(done.stdout)
        assert report["ended"] == "time"
        assert len(report["active_ns"]) >= 2


def test_what_one_rank_cannot_fill_none_waits_for(mpi: str, full: dict[str, str], tmp_path: Path) -> None:
    """Its disk is full when what is to be read is flushed: all end, and remove their files."""
    options = ["--read", "--meet", 1, "--chunk", "16k", "--dir", tmp_path]
    done = run(command(mpi, "pattern", *options), full)
    assert done.returncode == 1
    assert "cannot write the file that is to be read: choose another --dir" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_meets_has_an_estimate(tmp_path: Path) -> None:
    """One that does not has none: nothing cuts it."""
    options = ["--seconds", 2, "--volume", 0, "--flush"]
    _, never = run_of(any_mpi(), tmp_path / "never", *options)
    _, meets = run_of(any_mpi(), tmp_path / "meet", *options, "--meet", 1)
    assert estimate_profile(never.whole).interference_pct is None
    found = estimate_profile(meets.whole)
    assert found.interference_pct is not None
    assert found.segments > 100
