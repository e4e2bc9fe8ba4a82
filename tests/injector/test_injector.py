"""The injector: what it says it added, what it added, and what the estimate finds of it."""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.mpi_runs import program
from support.preload import BUILD, LIBRARY

INJECTOR = BUILD / "libcrosswind-inject.so"
MPIS = ("openmpi", "mpich")
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def crosswind(directory: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`crosswind ARGUMENTS...` with the libraries that are tested."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD"))}
    mine = {"CROSSWIND_LIBRARY": str(LIBRARY), "CROSSWIND_INJECT_LIBRARY": str(INJECTOR), "CROSSWIND_DIGEST": "off"}
    command = [sys.executable, "-m", "crosswind.tools", *map(str, arguments)]
    return subprocess.run(
        command, cwd=directory, env={**clean, **mine, **ROOT_MAY}, capture_output=True, text=True, timeout=100
    )


def rounds(mpi: str, n: int, ranks: int = 2) -> list[str]:
    """The command that runs the test program."""
    more = ["--oversubscribe"] if mpi == "openmpi" else []
    return [f"mpirun.{mpi}", *more, "-n", str(ranks), str(program("injected_rounds", mpi)), str(n)]


def logs(directory: Path) -> dict[int, list[tuple[int, int, str]]]:
    """Rank -> (begin in UTC ns, what was added in ns, function)."""
    found = {}
    for path in directory.glob("*.csv"):
        with path.open() as file:
            found[int(path.name.split(".")[0])] = [(int(b), int(a), f) for b, a, f in csv.reader(file)]
    return found


@pytest.mark.parametrize("mpi", MPIS)
def test_chosen_calls_are_held_up_and_written_down(mpi, tmp_path):
    begin = time.time_ns()
    result = crosswind(
        tmp_path, "inject", "--functions", "MPI_Allreduce", "--mean", "4ms", "--deviation", "1ms",
        "--probability", "0.5", "--ranks", "1", "--log", "log", "--json", "--", *rounds(mpi, 100),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = logs(tmp_path / "log")
    assert list(found) == [1]
    delays = [added for _, added, _ in found[1]]
    assert {function for _, _, function in found[1]} == {"MPI_Allreduce"}
    assert 30 <= len(delays) <= 70
    assert 3e6 < sum(delays) / len(delays) < 8e6
    assert all(begin < at < time.time_ns() for at, _, _ in found[1])
    (said,) = json.loads(result.stderr[result.stderr.index("[") :])
    assert (said["rank"], said["delays"]) == (1, len(delays))
    assert said["seconds"] == pytest.approx(sum(delays) / 1e9)


def test_a_seed_repeats_a_run(tmp_path):
    command = ("--functions", "collectives,write", "--mean", "1ms", "--deviation", "300us", "--probability", "0.3")
    runs = []
    for seed, log in ((5, "a"), (5, "b"), (6, "c")):
        result = crosswind(tmp_path, "inject", *command, "--seed", seed, "--log", log, "--", *rounds("mpich", 60))
        assert result.returncode == 0, result.stderr
        runs.append({rank: [f for _, _, f in rows] for rank, rows in logs(tmp_path / log).items()})
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0] != runs[0][1]
    assert any("write" in functions for functions in runs[0].values())


def test_episodes_and_periods(tmp_path):
    options = ("--functions", "MPI_Allreduce", "--mean", "500us", "--deviation", "0us", "--probability", "1")
    for more, log in ((("--episodes", "0.3-0.6"), "e"), (("--period", "0.2s", "--duty", "0.5"), "p")):
        result = crosswind(tmp_path, "inject", *options, *more, "--log", log, "--", *rounds("mpich", 400, 1))
        assert result.returncode == 0, result.stderr
    (episode,) = logs(tmp_path / "e").values()
    assert 0.15e9 < episode[-1][0] - episode[0][0] < 0.31e9
    (periodic,) = logs(tmp_path / "p").values()
    pauses = [b[0] - a[0] for a, b in itertools.pairwise(periodic)]
    assert sum(pause > 0.09e9 for pause in pauses) >= 3


def test_processes_without_a_rank_only_if_asked_for(tmp_path):
    command = ("--functions", "posix", "--mean", "20ms", "--probability", "1")
    quiet = crosswind(tmp_path, "inject", *command, "--", "cat", "/etc/hostname")
    assert "no call was held up" in quiet.stderr
    held = crosswind(tmp_path, "inject", *command, "--without-rank", "--", "cat", "/etc/hostname")
    assert "delays" in held.stderr
    assert held.stdout == quiet.stdout == Path("/etc/hostname").read_text()


def test_the_exit_code_is_the_programs(tmp_path):
    assert crosswind(tmp_path, "inject", "--", "sh", "-c", "exit 7").returncode == 7
    assert crosswind(tmp_path, "inject", "--", "no-such-program").returncode == 127
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "0.1.csv").write_text("")
    assert "logs of an earlier run" in crosswind(tmp_path, "inject", "--log", "used", "--", "true").stderr


@pytest.mark.parametrize("mpi", MPIS)
def test_the_estimate_finds_what_was_injected(mpi, tmp_path):
    """A busy machine adds more by itself: so the loss is bounded from below, and the delays must lie in what is hit."""
    result = crosswind(
        tmp_path, "inject", "--functions", "MPI_Allreduce", "--mean", "20ms", "--deviation", "4ms", "--probability",
        "0.05", "--seed", 3, "--log", "log", "--", sys.executable, "-m", "crosswind.tools", "run", "-o", "x.xwp", "--",
        *rounds(mpi, 600),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    delays = [(begin, added) for rows in logs(tmp_path / "log").values() for begin, added, _ in rows]
    most = max(sum(added for _, added, _ in rows) for rows in logs(tmp_path / "log").values()) / 1e9
    found = json.loads(crosswind(tmp_path, "estimate", "x.xwp", "--json").stdout)
    assert found["segments"] >= 600
    assert found["interference_s"] > 0.8 * most
    intervals = json.loads(crosswind(tmp_path, "export", "x.xwp", "--what", "untrusted", "--format", "json").stdout)
    hit = [any(i["begin_us"] <= (at + added) / 1e3 <= i["end_us"] + 2e3 for i in intervals) for at, added in delays]
    assert sum(hit) > 0.9 * len(hit)


def test_what_cannot_be_held_up_is_wrong_use(tmp_path):
    for option, value, word in (
        ("--functions", "MPI_Allreduc", "cannot hold up MPI_Allreduc"),
        ("--functions", "", "no function to hold up"),
        ("--ranks", "one", "'one' is not of the form 0,3"),
        ("--ranks", "0, 3", "' 3' is not of the form 0,3"),
        ("--episodes", "10", "'10' is not of the form 10-20,40-50"),
        ("--episodes", ",".join(["1-2"] * 65), "65 entries, 64 are possible"),
    ):
        result = crosswind(tmp_path, "inject", option, value, "--", "touch", "ran")
        assert result.returncode in (1, 2), value
        assert word in result.stderr
        assert not (tmp_path / "ran").exists()


FORKS = """
import os
os.write(1, b"parent\\n")
if os.fork() == 0:
    os.write(1, b"child\\n")
    os.write(1, b"child\\n")
    os._exit(0)
os.wait()
"""


def test_a_forked_child_has_a_log_of_its_own(tmp_path):
    result = crosswind(
        tmp_path, "inject", "--functions", "write", "--without-rank", "--mean", "1ms", "--deviation", "0us",
        "--probability", "1", "--log", "log", "--json", "--", sys.executable, "-c", FORKS,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "parent\nchild\nchild\n")
    said = json.loads(result.stderr[result.stderr.index("[") :])
    assert sorted(one["delays"] for one in said) == [1, 2]
    assert {f"-1.{one['pid']}.csv" for one in said} == {path.name for path in (tmp_path / "log").iterdir()}
