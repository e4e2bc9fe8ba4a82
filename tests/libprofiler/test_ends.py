"""Every way to end: exit status as without the library, all calls counted, and the profile says how it was."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

import numpy as np
import pytest

from crosswind.profile import merge_directory
from support.mpi_runs import MPIS, Part, program
from support.mpi_runs import run as run_mpi
from support.preload import PROGRAMS, environment, profile

RANKS = 2


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
# A process that is older than two seconds, and one with short slices from its start.
PLAIN = {
    "two seconds old": ({}, 2600),
    "short slices": ({"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "200ms"}, 500),
}


def truth_file(tmp_path):
    truth = tmp_path / "truth"
    truth.write_bytes(bytes(4096))
    return truth


def finished(truth):
    return np.frombuffer(truth.read_bytes(), dtype=np.uint64).astype(int)


def run_plain(tmp_path, how, ms, settings):
    """Exit status of a run under the library."""
    spool = tmp_path / "spool"
    spool.mkdir(exist_ok=True)
    command = [PROGRAMS / "ends_target", truth_file(tmp_path), how, str(ms)]
    return subprocess.run(command, env=environment(spool, settings), timeout=60).returncode


def writes_of(found, row):
    return int(found.functions["write"][row, 0])


@pytest.mark.parametrize("setting", PLAIN)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.how)
def test_end_of_a_plain_process(end, setting, tmp_path):
    settings, ms = PLAIN[setting]
    bare = [PROGRAMS / "ends_target", truth_file(tmp_path), end.how, "0"]
    assert subprocess.run(bare, timeout=60).returncode == end.status
    assert run_plain(tmp_path, end.how, ms, settings) == end.status
    found = profile(tmp_path / "spool")
    (process,) = found.processes
    assert process.state == end.state
    assert writes_of(found, 0) == finished(tmp_path / "truth")[0]
    assert int(found.metric("posix_other_write_calls")[0].sum()) == finished(tmp_path / "truth")[0]


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("how", ["finalize", "MPI_Abort", *(end.how for end in ENDS)])
def test_end_of_a_rank(how, mpi, tmp_path):
    """What the launcher exits with depends on which rank's end it sees first; that it fails or not does not."""
    truth, spool = truth_file(tmp_path), tmp_path / "spool"
    command = [program("ends_target", mpi), truth, how, "300"]
    bare = run_mpi(mpi, [Part(RANKS, command, bare=True)], spool)
    truth.write_bytes(bytes(4096))
    done = run_mpi(mpi, [Part(RANKS, command)], spool, extra={"CROSSWIND_SLICE": "200ms", "CROSSWIND_JOB_ID": "t"})
    assert (done.status == 0) == (bare.status == 0)
    (found,) = merge_directory(spool)
    assert [p.rank for p in found.processes] == [0, 1]
    for rank, process in enumerate(found.processes):
        at_least = finished(truth)[rank]
        assert at_least <= writes_of(found, rank) <= at_least + LIBRARY_WRITES, (rank, process.state)
    last = found.processes[-1].state
    expected = {end.how: end.state for end in ENDS} | {"finalize": "clean"}
    if how == "pthread_exit":  # threads of the MPI library keep the process alive until the launcher ends it
        expected[how] = last
    assert last == expected.get(how, last)
    assert last in ("clean", "exited", "killed")


LIBRARY_WRITES = 200  # an MPI library writes too, to its peers


def test_exec_replaces_a_published_process(tmp_path):
    assert run_plain(tmp_path, "exec", 500, PLAIN["short slices"][0]) == 2
    found = profile(tmp_path / "spool")
    assert [p.state for p in found.processes] == ["replaced", "clean"]
    assert [writes_of(found, row) for row in range(2)] == finished(tmp_path / "truth")[:2].tolist()


def test_a_child_that_outlives_its_parent(tmp_path):
    begin = time.monotonic()
    assert run_plain(tmp_path, "orphan", 700, PLAIN["short slices"][0]) == 5
    assert time.monotonic() - begin < 5
    time.sleep(1.5)  # the child goes on for 0.7 s
    found = profile(tmp_path / "spool")
    assert [p.state for p in found.processes] == ["clean", "exited"]
    assert [writes_of(found, row) for row in range(2)] == finished(tmp_path / "truth")[:2].tolist()


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
