"""Real processes in a PID namespace of their own (`unshare --pid --fork`): /proc of the collector has other pids."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crosswind.collector.once import collect_once
from crosswind.collector.spool import find_spools
from crosswind.collector.transport.outbox import look_at_steps
from crosswind.profile.lifecycle import SILENT_SLICES, Machine
from crosswind.profile.peek import peek
from support.preload import environment

SLICE_MS = 500  # of which some may be late on a busy machine
SLEEPER = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(100)"
UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


def wait_for(condition, seconds=20):
    """Until the condition holds; what it then is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def file_in(spool: Path) -> Path:
    """The spool file of the process."""
    (path,) = wait_for(lambda: find_spools(spool))
    return path


@pytest.fixture
def start(spool):
    """Start a process that sleeps, in a PID namespace of its own or in ours; what it takes for its pid."""
    started = []

    def make(*around):
        if around and (
            shutil.which("unshare") is None or subprocess.run([*around, "true"], capture_output=True).returncode
        ):
            pytest.skip("this machine allows no PID namespaces (a container without privileges?): run on one that does")
        options = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": f"{SLICE_MS}ms"}
        preload = [f"{k}={v}" for k, v in environment(spool, options).items() if k.startswith(("LD_", "CROSSWIND_"))]
        command = [*around, "env", *preload, sys.executable, "-S", "-c", SLEEPER]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True))
        return started[-1], int(started[-1].stdout.readline())

    yield make
    for process in started:
        process.stdout.close()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_process_of_another_namespace_runs_until_it_is_silent(start, spool, engine):
    process, pid_inside = start(*UNSHARE)
    seen = wait_for(lambda: peek(file_in(spool)))
    machine = Machine.this()
    assert (seen.pid, pid_inside) == (1, 1)
    assert seen.boot_id == machine.boot_id
    assert seen.slice_ns == SLICE_MS * 10**6
    assert 0 != seen.pid_namespace != machine.pid_namespace
    for _ in range(3):
        time.sleep(SILENT_SLICES * SLICE_MS / 2000)
        report = collect_once([spool], engine, include_running=True)
        assert (len(report.loaded), find_spools(spool)) == (1, [Path(seen.path)])
    process.kill()
    process.wait()
    assert collect_once([spool], engine).running == ["test"]
    time.sleep(SILENT_SLICES * SLICE_MS / 1000)
    report = collect_once([spool], engine)
    assert (report.running, len(report.loaded), find_spools(spool)) == ([], 1, [])


def test_a_process_of_another_namespace_that_is_stopped_still_runs(start, spool, engine):
    """By a debugger, or since the batch system suspended its job: it closes no slices, and its file stays where it
    goes on writing.
    """
    process, _ = start(*UNSHARE)
    seen = wait_for(lambda: peek(file_in(spool)))
    machine = Machine.this()
    wait_for(lambda: machine.runs(seen))
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(2 * SILENT_SLICES * SLICE_MS / 1000)
    assert not machine.knows_pid(seen)
    assert collect_once([spool], engine).running == ["test"]
    assert look_at_steps(spool, machine).finished == []
    assert find_spools(spool) == [Path(seen.path)]
    process.kill()
    process.wait()
    wait_for(lambda: not machine.runs(seen))
    assert collect_once([spool], engine).running == []


def test_a_process_of_our_namespace_is_gone_at_once(start, spool, engine):
    process, pid = start()
    seen = wait_for(lambda: peek(file_in(spool)))
    assert (seen.pid, seen.pid_namespace) == (pid, Machine.this().pid_namespace)
    assert collect_once([spool], engine).running == ["test"]
    process.kill()
    process.wait()
    report = collect_once([spool], engine)
    assert (report.running, len(report.loaded)) == ([], 1)
