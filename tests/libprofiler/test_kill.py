"""SIGKILL at any moment: the calls that had returned are in the profile, and every slice that was closed."""

import random
import subprocess
import time

import numpy as np
import pytest

from support.preload import PROGRAMS, environment, profile

KILLS = 40
SLICE_NS = 100_000_000


def kill_one(spool, truth, threads, seconds):
    truth.write_bytes(bytes(4096))
    options = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}
    program = subprocess.Popen([PROGRAMS / "kill_target", truth, str(threads)], env=environment(spool, options))
    time.sleep(seconds)
    program.kill()
    assert program.wait() == -9
    return int(np.frombuffer(truth.read_bytes(), dtype=np.uint64).sum())


@pytest.mark.parametrize("threads", [1, 5])
def test_nothing_that_was_counted_is_lost(threads, tmp_path):
    rng = random.Random(threads)
    truth = tmp_path / "truth"
    for i in range(KILLS // 2):
        spool = tmp_path / f"spool-{i}"
        spool.mkdir()
        finished = kill_one(spool, truth, threads, rng.uniform(0.03, 0.35))
        found = profile(spool)
        (process,) = found.processes
        assert process.state == "killed"
        calls = int(found.functions["write"][0, 0])
        # Each thread may have died between its call and its note. The call in which the process was published (its
        # first one here) is carried over at the end of the slice: a kill before that loses it.
        assert finished - threads <= calls <= finished + threads
        # A call adds to its group first, then to its function.
        assert 0 <= int(found.metric("posix_other_write_calls").sum()) - calls <= threads


def test_slices_lie_on_global_boundaries(tmp_path):
    spool, truth = tmp_path / "spool", tmp_path / "truth"
    spool.mkdir()
    begin = time.time_ns()
    kill_one(spool, truth, 1, 1.25)
    end = time.time_ns()
    found = profile(spool)
    assert found.slice_ns == SLICE_NS
    starts = found.slice_starts_ns
    assert begin - SLICE_NS < starts[0]
    assert starts[-1] < end
    assert np.all(starts % SLICE_NS == 0)
    covered = found.covered_ns[0]
    assert np.median(np.abs(covered[1:-2] - SLICE_NS)) < 0.2 * SLICE_NS  # whole slices, give or take late wake-ups
    assert np.all(found.metric("posix_other_write_calls")[0, 1:-2] > 0)
    cpu = found.metric("cpu_time")[0]
    assert np.all(cpu[1:-2] > 0)
    assert cpu.sum() < 1.1 * (end - begin)  # one thread
