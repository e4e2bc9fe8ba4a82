"""The load programs: their own report against what the profile counted, their phases, bounds and cleaning up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from crosswind.profile import summarize
from support.mpi_runs import AS_ROOT, MPIS
from support.preload import BUILD, environment, profile

SECOND = 1_000_000_000


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> str:
    """Each MPI that is installed."""
    if not shutil.which(f"mpirun.{request.param}") or not (BUILD / "load" / f"load-cpu.{request.param}").exists():
        pytest.skip(f"{request.param} is not installed: its load programs were not built")
    return str(request.param)


def command(mpi: str, name: str, *options: object, ranks: int = 2) -> list[str]:
    program = str(BUILD / "load" / f"load-{name}.{mpi}")
    return [f"mpirun.{mpi}", "-n", str(ranks), program, *map(str, options)]


def profiled(mpi: str, name: str, spool: Path, *options: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its report, and the summary of its profile."""
    spool.mkdir()
    done = subprocess.run(
        command(mpi, name, *options), env=environment(spool, AS_ROOT), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), summarize(profile(spool))


def bare(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A run without the library."""
    return subprocess.run(arguments, env={**os.environ, **AS_ROOT}, capture_output=True, text=True, timeout=60)


def calls(summary: dict[str, Any], function: str, what: str) -> float:
    return summary["functions"].get(function, {}).get(what, 0)


@pytest.mark.parametrize("pattern", ["open-write-close", "write-seek", "aggregate-write"])
def test_patterns_write_what_they_say(mpi: str, pattern: str, tmp_path: Path) -> None:
    report, summary = profiled(
        mpi, "pattern", tmp_path / "spool", "--pattern", pattern, "--chunk", "64k", "--volume", "8M",
        "--file-size", "1M", "--flush", "--dir", tmp_path,
    )  # fmt: skip
    chunks = report["total"] // 65536
    assert report["ended"] == "volume"
    assert report["total"] == 2 * (8 << 20) == sum(report["per_second"])
    places = [f"posix_{place}_write_bytes" for place in ("net", "disk", "other")]  # wherever the tests run
    moved = sum(summary["totals"][place]["sum"] for place in places if place in summary["totals"])
    assert 0 <= moved - report["total"] < 1 << 20  # and a little of the launcher's
    assert report["counts"]["write"] == chunks
    assert calls(summary, "fsync", "calls") == chunks
    if pattern == "open-write-close":
        assert 0 <= calls(summary, "creat", "calls") - chunks < 50  # an open that may make the file; the MPI's own
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]


@pytest.mark.parametrize("shared", [(), ("--shared",)])
def test_patterns_through_mpi_and_reading(mpi: str, shared: tuple[str, ...], tmp_path: Path) -> None:
    report, summary = profiled(
        mpi, "pattern", tmp_path / "spool", "--pattern", "aggregate-write", "--api", "mpiio", "--read",
        "--chunk", "32k", "--volume", "2M", "--file-size", "256k", "--dir", tmp_path, *shared,
    )  # fmt: skip
    assert calls(summary, "MPI_File_read", "bytes_in") == report["total"] == 2 * (2 << 20)
    assert calls(summary, "MPI_File_write", "bytes_out") == 2 * (256 << 10)


def test_metadata_does_what_it_says(mpi: str, tmp_path: Path) -> None:
    report, summary = profiled(mpi, "metadata", tmp_path / "spool", "--seconds", "0.5", "--dir", tmp_path)
    files = report["total"] // 5
    assert files > 0
    assert calls(summary, "rename", "calls") >= files
    assert abs(calls(summary, "unlink", "calls") - files) < 200
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]


@pytest.mark.parametrize(
    ("kind", "function"), [("pairs", "MPI_Sendrecv"), ("alltoall", "MPI_Alltoall"), ("messages", "MPI_Isend")]
)
def test_the_network_carries_what_it_says(mpi: str, kind: str, function: str, tmp_path: Path) -> None:
    report, summary = profiled(mpi, "network", tmp_path / "spool", "--kind", kind, "--size", "16k", "--seconds", "0.5")
    assert report["total"] > 0
    assert calls(summary, function, "bytes_out") == report["total"]


@pytest.mark.parametrize(
    ("name", "options"), [("cpu", ()), ("node", ("--kind", "memory")), ("node", ("--kind", "cache"))]
)
def test_periods_begin_together_and_rest_is_rest(mpi: str, name: str, options: tuple[str, ...]) -> None:
    done = bare(command(mpi, name, "--seconds", 3, "--active", 0.5, "--silent", 0.5, *options, ranks=1))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    whole = [(begin, end) for begin, end in report["active_ns"] if begin - report["start_ns"] > SECOND // 10][:-1]
    assert len(whole) >= 1
    for begin, end in whole:
        assert begin % SECOND < SECOND // 4  # late by no more than a busy machine makes it
        assert SECOND // 4 < end - begin < SECOND


def test_a_signal_ends_it_cleanly(mpi: str, tmp_path: Path) -> None:
    run = subprocess.Popen(
        command(mpi, "pattern", "--chunk", "4k", "--volume", "0", "--seconds", 60, "--dir", tmp_path),
        env={**os.environ, **AS_ROOT}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob("*/rank1/data*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    found = subprocess.run(["pgrep", "-f", f"load-pattern.*{tmp_path}"], capture_output=True, text=True).stdout
    for pid in map(int, found.split()):
        if Path(f"/proc/{pid}/exe").resolve().name.startswith("load-pattern"):
            os.kill(pid, signal.SIGTERM)
    out, _ = run.communicate(timeout=30)
    assert run.returncode == 0
    assert json.loads(out)["ended"] == "stopped"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("cpu", ["--nope"], "no such option"),
        ("cpu", ["--seconds", "0"], "seconds 0"),
        ("cpu", ["--seconds", "nan"], "seconds nan"),
        ("cpu", ["--active", "1"], "go together"),
        ("cpu", ["--dir", "x"], "makes no files"),
        ("pattern", ["--chunk", "1"], "chunk 1"),
        ("pattern", ["--pattern", "other"], "pattern other"),
        ("pattern", ["extra"], "extra"),
    ],
)
def test_wrong_usage_is_one_line(mpi: str, name: str, options: list[str], words: str) -> None:
    done = bare([str(BUILD / "load" / f"load-{name}.{mpi}"), *options])
    assert done.returncode == 2
    (line,) = [text for text in done.stderr.splitlines() if text.startswith(f"load-{name}:")]
    assert words in line


def test_a_directory_that_is_not_there_is_one_line(mpi: str) -> None:
    done = bare(command(mpi, "pattern", "--dir", "/nonexistent"))
    assert done.returncode == 1
    assert "choose another one with --dir" in done.stderr


@pytest.mark.parametrize("name", ["cpu", "metadata", "network", "node", "pattern"])
def test_help_says_what_it_stresses(mpi: str, name: str) -> None:
    done = bare([str(BUILD / "load" / f"load-{name}.{mpi}"), "--help"])
    assert done.returncode == 0
    assert "Example: " in done.stdout
