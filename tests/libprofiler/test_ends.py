"""Every way to end: exit status as without the library, all calls counted, and the profile says how it was.

The runs mostly wait, so they all go on at once, some at a time, while the tests look at them one after the other.
"""

import os
import signal
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from crosswind.profile import Profile, merge_directory
from support.mpi_runs import MPIS, Part, Run, program
from support.mpi_runs import run as run_mpi
from support.preload import PROGRAMS, environment, profile


@dataclass(frozen=True)
class End:
    """status: of the process. state: what the profile calls it, in a process with a file of its own."""

    how: str
    status: int
    state: str


ENDS = (
    End("return", 2, "clean"),
    End("exit", 3, "clean"),
    End("_exit", 4, "exited"),
    End("_Exit", 6, "exited"),
    End("quick_exit", 5, "exited"),
    End("abort", -signal.SIGABRT, "killed"),
    End("segv", -signal.SIGSEGV, "killed"),
    End("term", -signal.SIGTERM, "killed"),
    End("kill", -signal.SIGKILL, "killed"),
    End("pthread_exit", 0, "clean"),
)
STATES = {end.how: end.state for end in ENDS}
# A process that is older than two seconds, and one with short slices from its start.
PLAIN = {
    "two seconds old": ({}, 2600),
    "short slices": ({"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "200ms"}, 500),
}
PLAIN_AT_ONCE = 10
MPI_AT_ONCE = 3  # launchers


def truth_file(directory: Path) -> Path:
    truth = directory / "truth"
    truth.write_bytes(bytes(4096))
    return truth


def finished(directory: Path) -> list[int]:
    """The calls that each process, or rank, of a run had finished."""
    return np.frombuffer((directory / "truth").read_bytes(), dtype=np.uint64).astype(int).tolist()


def run_plain(directory: Path, how: str, ms: int, settings: dict[str, str]) -> int:
    """Exit status of a run under the library."""
    spool = directory / "spool"
    spool.mkdir(parents=True)
    command = [PROGRAMS / "ends_target", truth_file(directory), how, str(ms)]
    return subprocess.run(command, env=environment(spool, settings), timeout=60).returncode


def calls_of(found: Profile) -> list[int]:
    return found.functions["pwrite"][:, 0].tolist()


# --- a process ---


@pytest.fixture(scope="module")
def plain_runs(tmp_path_factory):
    """Exit status of each way and setting to come, and the directory of its run."""
    with ThreadPoolExecutor(PLAIN_AT_ONCE) as pool:
        directory = tmp_path_factory.mktemp("plain")
        yield {
            (end.how, setting): (pool.submit(run_plain, directory / setting / end.how, end.how, ms, settings),
                                 directory / setting / end.how)
            for setting, (settings, ms) in PLAIN.items()
            for end in ENDS
        }  # fmt: skip


@pytest.mark.parametrize("setting", PLAIN)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.how)
def test_end_of_a_process(end, setting, plain_runs, tmp_path):
    bare = [PROGRAMS / "ends_target", truth_file(tmp_path), end.how, "0"]
    assert subprocess.run(bare, timeout=60).returncode == end.status
    status, directory = plain_runs[end.how, setting]
    assert status.result() == end.status
    found = profile(directory / "spool")
    (process,) = found.processes
    assert process.state == end.state
    assert calls_of(found) == [finished(directory)[0]]
    assert int(found.metric("posix_other_write_calls")[0].sum()) == finished(directory)[0]


def test_no_call_is_lost_while_the_file_is_made(tmp_path):
    """A call may end in the very moment in which the helper carries the counts so far over. On a busy machine."""

    def lost(number: int) -> int:
        directory = tmp_path / str(number)
        assert run_plain(directory, "kill", 500, {"CROSSWIND_HELPER_AFTER": "100"}) == -signal.SIGKILL
        found = merge_directory(directory / "spool")  # none: so busy that there was no time for a file
        return finished(directory)[0] - calls_of(found[0])[0] if found else 0

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lost, range(96))) == 0


# --- a rank ---


@dataclass(frozen=True)
class RankRuns:
    """One way to end under one MPI: the only rank without and with the library, the last of two with it."""

    state: str
    bare: Future[Run] | None
    alone: Future[Run] | None
    beside: Future[Run]
    directory: Path


RANK_ENDS = ("finalize", "MPI_Abort", *(end.how for end in ENDS))
# Threads of the MPI library go on: the process ends when its launcher kills it, the only rank never.
STAYS = "pthread_exit"
# MPI_Abort ends by _exit in Open MPI, by exit in MPICH.
ABORTED = {"openmpi": "exited", "mpich": "clean"}


def rank_state(how: str, mpi: str) -> str:
    return {**STATES, STAYS: "killed", "finalize": "clean", "MPI_Abort": ABORTED[mpi]}[how]


@pytest.fixture(scope="module", params=MPIS)
def rank_runs(request, tmp_path_factory):
    """The runs of each way to end under one MPI, to come."""
    mpi = request.param
    target = program("ends_target", mpi)
    settings = {"CROSSWIND_SLICE": "200ms", "CROSSWIND_JOB_ID": "t"}
    with ThreadPoolExecutor(MPI_AT_ONCE) as pool:

        def start(directory: Path, how: str, ranks: int, bare: bool = False) -> Future[Run]:
            directory.mkdir(parents=True)
            part = Part(ranks, [target, truth_file(directory), how, "300"], bare)
            return pool.submit(run_mpi, mpi, [part], directory / "spool", extra=settings)

        def start_all(directory: Path, how: str) -> RankRuns:
            alone = how != STAYS
            return RankRuns(
                state=rank_state(how, mpi),
                bare=start(directory / "bare", how, 1, bare=True) if alone else None,
                alone=start(directory / "alone", how, 1) if alone else None,
                beside=start(directory / "beside", how, 2),
                directory=directory,
            )

        directory = tmp_path_factory.mktemp(mpi)
        yield {how: start_all(directory / how, how) for how in RANK_ENDS}


def check_ranks(directory: Path, ranks: int) -> list[str]:
    """All calls of each rank were counted; their states."""
    (found,) = merge_directory(directory / "spool")
    assert [p.rank for p in found.processes] == list(range(ranks))
    assert calls_of(found) == finished(directory)[:ranks]
    return [p.state for p in found.processes]


@pytest.mark.parametrize("how", RANK_ENDS)
def test_end_of_a_rank(how, rank_runs):
    """The launcher's status is compared for the only rank. With others beside it, MPICH's depends on whose end it sees
    first: 9 for 28 of 300 jobs whose last rank returned 2 while the launcher killed the other one, 24 with the library.
    """
    runs = rank_runs[how]
    if how != STAYS:
        assert runs.alone.result().status == runs.bare.result().status
        assert check_ranks(runs.directory / "alone", 1) == [runs.state]
    runs.beside.result()
    last = check_ranks(runs.directory / "beside", 2)[-1]
    assert last == runs.state or (how == "MPI_Abort" and last == "killed")  # by its launcher, before it ends itself


# --- more than one process ---


def test_exec_replaces_a_published_process(tmp_path):
    assert run_plain(tmp_path / "run", "exec", 500, PLAIN["short slices"][0]) == 2
    found = profile(tmp_path / "run" / "spool")
    assert [p.state for p in found.processes] == ["replaced", "clean"]
    assert calls_of(found) == finished(tmp_path / "run")[:2]


def test_a_child_that_outlives_its_parent(tmp_path):
    begin = time.monotonic()
    assert run_plain(tmp_path / "run", "orphan", 700, PLAIN["short slices"][0]) == 5
    assert time.monotonic() - begin < 5
    time.sleep(1.5)  # the child goes on for 0.7 s
    found = profile(tmp_path / "run" / "spool")
    assert [p.state for p in found.processes] == ["clean", "exited"]
    assert calls_of(found) == finished(tmp_path / "run")[:2]


def test_kill_during_publication(tmp_path):
    """At any moment of its first milliseconds: no file, or one that can be read or says that it is unfinished."""
    spool, truth = tmp_path / "spool", truth_file(tmp_path)
    spool.mkdir()
    settings = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}
    for i in range(60):
        child = subprocess.Popen(
            [PROGRAMS / "ends_target", truth, "return", "300"], env=environment(spool, settings)
        )  # fmt: skip
        time.sleep(0.0005 + i * 0.0001)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    for found in merge_directory(spool):
        assert all("no header yet" in reason for _, reason in found.dropped_files), found.dropped_files
        assert {p.state for p in found.processes} <= {"killed"}
    rest = [name for name in os.listdir(spool) if not name.endswith((".xws", ".xwl"))]
    assert all(name.startswith(".making.") for name in rest), rest  # the collector removes what was never finished
