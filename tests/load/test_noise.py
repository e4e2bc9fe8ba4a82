"""crosswind noise: the list, ranks and signals of the load programs; under crosswind run."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from crosswind.profile import read_profile
from crosswind.tools.noise import PROGRAMS
from support.load_programs import LOAD, Seen, bare_environment, processes, run, wait_until
from support.preload import LIBRARY

CROSSWIND = [sys.executable, "-m", "crosswind.tools"]


def environment(library: Path = LIBRARY) -> dict[str, str]:
    """That of the programs, with the library that was built."""
    return {**bare_environment(), "CROSSWIND_LIBRARY": str(library)}


def noise(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The verb."""
    return run([*CROSSWIND, "noise", *map(str, arguments)], environment())


def test_without_a_name_the_programs_are_listed() -> None:
    done = noise()
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(PROGRAMS)
    for line, (name, stresses) in zip(lines, PROGRAMS.items(), strict=True):
        assert stresses in line
        for mpi in ("openmpi", "mpich"):
            assert (mpi in line) == (LOAD / f"load-{name}.{mpi}").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_runs_the_program_of_an_mpi(mpi: str, ranks: int) -> None:
    done = noise("cpu", "--mpi", mpi, "-n", ranks, "--", "--seconds", 0.2, "--seed", 5)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["program"], report["ranks"], report["seed"]) == ("load-cpu", ranks, 5)


def test_it_runs_under_the_profiler(mpi: str, tmp_path: Path) -> None:
    options = ["noise", "network", "--mpi", mpi, "-n", "2", "--", "--volume", "64M"]
    done = run([*CROSSWIND, "run", "-o", str(tmp_path / "p.xwp"), "--", *CROSSWIND, *options], environment())
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert Seen(read_profile(tmp_path / "p.xwp")).bytes_out("MPI_Sendrecv") == report["total"] == 2 * (64 << 20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_leaves_time_for_the_report(mpi: str, number: signal.Signals, tmp_path: Path) -> None:
    arguments = ["pattern", "--mpi", mpi, "-n", "2", "--", "--dir", str(tmp_path), "--volume", "0", "--seconds", "60"]
    verb = subprocess.Popen(
        [*CROSSWIND, "noise", *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(list(tmp_path.glob("*/rank?/data*"))) >= 2, "both write")
    os.kill(verb.pid, number)
    out, err = verb.communicate(timeout=30)
    assert verb.returncode == 0, err
    assert json.loads(out)["ended"] == "stopped"
    assert list(tmp_path.iterdir()) == []
    assert processes(str(tmp_path)) == []


def in_a_terminal(command: list[str], env: dict[str, str]) -> tuple[subprocess.Popen[str], int]:
    """Started in the foreground of a terminal, and our end of that."""
    ours, terminal = pty.openpty()
    started = subprocess.Popen(
        command, env=env, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    return started, ours


def test_ctrl_c_in_a_terminal_leaves_time_for_the_report(mpi: str, slow: dict[str, str], tmp_path: Path) -> None:
    """The terminal sends it to all of the foreground. Open MPI's launcher kills its ranks a second later, who take two
    here for what they are at.
    """
    arguments = ["pattern", "--mpi", mpi, "-n", "2", "--", "--flush", "--pattern", "write-seek", "--dir", str(tmp_path)]
    verb, terminal = in_a_terminal([*CROSSWIND, "noise", *arguments], {**environment(), **slow})
    wait_until(lambda: len(list(tmp_path.glob("*/rank?/data*"))) >= 2, "both write")
    os.write(terminal, b"\x03")
    out, err = verb.communicate(timeout=60)
    os.close(terminal)
    assert verb.returncode == 0, err
    assert json.loads(out)["ended"] == "stopped"
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_it_outlives_the_terminal(mpi: str) -> None:
    if mpi == "mpich":
        pytest.skip("a library of Debian's MPICH takes SIGHUP before main: what was ignored cannot be told")
    arguments = ["nohup", *CROSSWIND, "noise", "cpu", "--mpi", mpi, "-n", "2", "--", "--seconds", "61.25"]
    verb, terminal = in_a_terminal(arguments, environment())
    try:
        wait_until(lambda: len(processes("61.25")) == 2, "both ranks")
        os.close(terminal)
        time.sleep(1.5)
        assert len(processes("61.25")) == 2
    finally:
        verb.terminate()
        out, _ = verb.communicate(timeout=30)
    assert json.loads(out)["ended"] == "stopped"


def test_wrong_options_are_exit_code_2() -> None:
    assert noise("nope").returncode == 2
    assert noise("cpu", "-n", 0).returncode == 2
    assert noise("cpu", "--", "--nope").returncode == 2
    assert "Example: load-cpu" in noise("cpu", "--", "--help").stdout


def test_what_is_not_built_is_told(tmp_path: Path) -> None:
    library = tmp_path / "libcrosswind.so"
    shutil.copy(LIBRARY, library)
    without = run([*CROSSWIND, "noise"], environment(library))
    assert without.returncode == 1
    assert f"no load programs in {tmp_path}/load" in without.stderr
    (tmp_path / "load").mkdir()
    missing = run([*CROSSWIND, "noise", "gpubus"], environment(library))
    assert missing.returncode == 1
    assert "CUDA" in missing.stderr
    assert missing.stderr.count("\n") == 1
    assert "not built" in run([*CROSSWIND, "noise"], environment(library)).stdout
