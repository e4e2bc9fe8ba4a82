"""How the load programs end: by a signal to their launcher or to a rank, by the death of a rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.load_programs import any_mpi, bare_environment, command, processes, wait_until


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """In the background, in a session of its own."""
    return subprocess.Popen(
        arguments, env=bare_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def writing(mpi: str, directory: Path, *options: object) -> subprocess.Popen[str]:
    """Two ranks that would write for a minute; both have begun."""
    run = start(command(mpi, "pattern", "--volume", 0, "--seconds", 60, "--dir", directory, *options))
    wanted = 1 if "collective" in options else 2
    wait_until(
        lambda: len({path.parent for path in directory.glob("*/*/data*")} | together(directory)) >= wanted, "files"
    )
    return run


def together(directory: Path) -> set[Path]:
    """The common file of ranks."""
    return {path.parent for path in directory.glob("*/data*")}


def check_stopped(run: subprocess.Popen[str], directory: Path) -> None:
    """It printed its report, and nothing is left."""
    out, err = run.communicate(timeout=30)
    report = json.loads(out[out.index('{"program"') :])  # MPICH's mpirun says on stdout what it does with SIGINT
    assert report["ended"] == "stopped", err
    assert report["ranks"] == 2
    assert report["counts"]["bytes_out"] == report["total"] > 0
    assert list(directory.iterdir()) == []
    assert processes(str(directory)) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name)
def test_a_signal_to_the_launcher_ends_it_with_its_report(mpi: str, number: signal.Signals, tmp_path: Path) -> None:
    if mpi == "mpich" and number == signal.SIGHUP:
        pytest.skip("MPICH's mpirun dies of SIGHUP and kills its ranks (docs/load.md): use crosswind noise")
    run = writing(mpi, tmp_path, "--chunk", "4k")
    os.kill(run.pid, number)
    check_stopped(run, tmp_path)


@pytest.mark.parametrize(
    "options", [("--pieces", "1000", "--chunk", "40000"), ("--api", "collective", "--chunk", "64k")]
)
def test_a_signal_to_the_ranks_ends_them_with_their_report(mpi: str, options: tuple[str, ...], tmp_path: Path) -> None:
    run = writing(mpi, tmp_path, *options)
    for pid in processes(str(tmp_path)):
        os.kill(pid, signal.SIGTERM)
    check_stopped(run, tmp_path)
    assert run.returncode == 0


def test_a_signal_to_one_of_those_that_meet_ends_all(mpi: str, tmp_path: Path) -> None:
    """Also between two meetings: it does not leave the others waiting for it."""
    run = writing(mpi, tmp_path, "--chunk", "4k", "--meet", 500)
    os.kill(processes(str(tmp_path))[-1], signal.SIGTERM)
    check_stopped(run, tmp_path)


def test_a_rank_that_is_killed_takes_the_others_along(mpi: str, tmp_path: Path) -> None:
    run = writing(mpi, tmp_path, "--chunk", "4k")
    os.kill(processes(str(tmp_path))[-1], signal.SIGKILL)
    run.communicate(timeout=30)
    assert run.returncode != 0
    wait_until(lambda: not processes(str(tmp_path)), "no process is left")


def test_a_silent_program_answers_a_signal(mpi: str) -> None:
    run = start(command(mpi, "cpu", "--seconds", 61, "--active", 0.01, "--silent", 50, ranks=1))
    wait_until(lambda: handles(run.pid, signal.SIGTERM), "it watches signals")
    run.terminate()
    out, _ = run.communicate(timeout=10)
    assert json.loads(out)["ended"] == "stopped"


def test_its_processor_time_may_be_limited(tmp_path: Path) -> None:
    """As by a batch system or a shell."""
    limited = ["sh", "-c", 'ulimit -S -t 1; exec "$@"', "sh"]
    run = start([*limited, *command(any_mpi(), "pattern", "--volume", 0, "--seconds", 60, "--dir", tmp_path, ranks=1)])
    out, err = run.communicate(timeout=40)
    assert json.loads(out)["ended"] == "stopped", err
    assert list(tmp_path.iterdir()) == []


def test_signals_that_are_ignored_stay_ignored(mpi: str) -> None:
    """nohup, and what a shell starts in the background."""
    if mpi == "mpich":
        pytest.skip("a library of Debian's MPICH takes SIGHUP before main: what was ignored cannot be told")
    run = start(["nohup", *command(mpi, "cpu", "--seconds", 1, ranks=1)])
    wait_until(lambda: handles(run.pid, signal.SIGTERM), "it watches signals")
    os.kill(run.pid, signal.SIGHUP)
    out, _ = run.communicate(timeout=10)
    assert json.loads(out)["ended"] == "time"


def handles(pid: int, number: signal.Signals) -> bool:
    """A process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) & 1 << (number - 1))


def test_a_signal_is_answered_while_files_are_made(mpi: str, tmp_path: Path) -> None:
    """What is to be read is written first."""
    options = ["--read", "--pattern", "aggregate-write", "--chunk", "1k", "--file-size", "64G", "--dir", tmp_path]
    process = start(command(mpi, "pattern", *options, ranks=1))
    try:
        wait_until(lambda: list(tmp_path.glob("*/rank0/data0")), "a file")
        process.terminate()
        out, _ = process.communicate(timeout=15)
    finally:
        process.kill()
    report = json.loads(out)
    assert (report["ended"], report["total"]) == ("stopped", 0)
    assert list(tmp_path.iterdir()) == []
