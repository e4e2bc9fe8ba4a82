"""load-network: every message and byte it says it sent, and no other, is in the profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.load_programs import command, profiled, run

RANKS = 3  # an odd one has no partner
SIZE, VOLUME = 16 << 10, 256 << 10


@pytest.mark.parametrize(
    ("kind", "function", "amount"),
    [
        ("pairs", "MPI_Sendrecv", 2 * VOLUME),
        ("alltoall", "MPI_Alltoall", RANKS * 6 * RANKS * SIZE),  # six steps reach the volume
        ("messages", "MPI_Isend", 2 * VOLUME),
    ],
)
def test_the_network_carries_what_it_says(mpi: str, kind: str, function: str, amount: int, tmp_path: Path) -> None:
    report, seen = profiled(
        mpi, "network", tmp_path / "spool", "--kind", kind, "--size", SIZE, "--volume", VOLUME, ranks=RANKS
    )
    assert report["ended"] == "volume"
    assert report["total"] == amount == report["counts"]["bytes_out"]
    assert seen.bytes_out(function) == amount
    for name in ("MPI_Sendrecv", "MPI_Alltoall", "MPI_Isend"):
        assert seen.calls(name) == report["counts"][name]
        assert (seen.calls(name) > 0) == (name == function)


def test_one_rank_has_nobody_to_talk_to(mpi: str) -> None:
    done = run(command(mpi, "network", ranks=1))
    assert done.returncode == 1
    assert "start it with mpirun" in done.stderr
