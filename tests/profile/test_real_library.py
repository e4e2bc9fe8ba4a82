"""A real program under the real library: the reader finds what the program is known to have done."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from crosswind.profile import merge_directory, read_profile, write_profile

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("CROSSWIND_BUILD", ROOT / "build")) / "libcrosswind.so"
SLICE_NS = 500_000_000
# 30 writes of 1000 bytes in 3 s to a file of the given name; then it ends as the second argument says.
PROGRAM = """
import os, sys, time
out = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(30):
    os.write(out, bytes(1000))
    time.sleep(0.1)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
elif sys.argv[2] == "_exit":
    os._exit(3)
elif sys.argv[2] == "exec":
    os.execv("/bin/cat", ["cat", "/etc/hostname"])
"""


@pytest.fixture
def run(tmp_path):
    """Run a command under the library; its profile."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: run `make build`, or set CROSSWIND_BUILD")
    spool = tmp_path / "spool"
    spool.mkdir(mode=0o700)

    def run_under(*command):
        environment = {
            "PATH": "/usr/bin:/bin",
            "LD_PRELOAD": str(LIBRARY),
            "CROSSWIND_SPOOL": str(spool),
            "CROSSWIND_JOB_ID": "real",
            "CROSSWIND_SLICE": "500ms",
            "CROSSWIND_DIGEST": "off",
        }
        began = time.time_ns()
        subprocess.run(command, env=environment, check=False, timeout=60)
        [profile] = merge_directory(spool)
        assert began - 10**9 < profile.job.start_ns < profile.job.end_ns < time.time_ns() + 10**9
        return profile

    return run_under


def written(profile, row):
    """Bytes written to files of any class by a process, per slice."""
    names = [n for n in profile.slices if n.startswith("posix_") and n.endswith("_write_bytes")]
    return sum(profile.slices[n][row] for n in names)


@pytest.mark.parametrize(("end", "state"), [("return", "clean"), ("_exit", "exited"), ("kill", "killed")])
def test_nothing_that_was_counted_is_lost(run, tmp_path, end, state):
    profile = run(sys.executable, "-c", PROGRAM, tmp_path / "out", end)
    row = [p.state for p in profile.processes].index(state)
    process = profile.processes[row]
    assert written(profile, row).sum() == 30_000
    assert profile.functions["write"][row, :2].tolist() == [30, 30_000]
    life_s = (process.end_ns - process.start_ns) * 1e-9
    assert 2.9 < life_s < 10
    assert profile.covered_ns[row].sum() == pytest.approx(process.end_ns - process.start_ns, abs=0.1 * SLICE_NS)
    assert profile.partial[row] == (end == "kill")
    whole = profile.covered_ns[row] > 0.9 * SLICE_NS
    assert np.count_nonzero(whole) >= 4
    assert profile.clock.late_max_ms < 500
    write_profile(profile, tmp_path / "p.xwp")
    np.testing.assert_array_equal(read_profile(tmp_path / "p.xwp").covered_ns, profile.covered_ns)


def test_exec_ends_one_process_and_begins_another(run, tmp_path):
    profile = run(sys.executable, "-c", PROGRAM, tmp_path / "out", "exec")
    row = next(i for i, p in enumerate(profile.processes) if p.state == "replaced")
    assert profile.processes[row].exe.startswith("python")
    assert written(profile, row).sum() == 30_000
    [cat] = [p for p in profile.processes if p.exe == "cat"]
    assert cat.start_ns == profile.processes[row].end_ns


def test_short_processes_are_one_row(run):
    profile = run("/bin/sh", "-c", "for i in 1 2 3 4 5; do cat /etc/hostname > /dev/null; done")
    [cat] = [p for p in profile.processes if p.exe == "cat"]
    assert (cat.state, cat.count) == ("short", 5)
    row = profile.processes.index(cat)
    size = os.stat("/etc/hostname").st_size
    read = sum(v[row] for n, v in profile.totals.items() if n.endswith("read_bytes") and n.startswith("posix_"))
    assert read == 5 * size


def test_short_processes_without_room_are_counted(tmp_path):
    """The log may grow to 64 MiB, and as far as RLIMIT_FSIZE lets each process write."""
    spool = tmp_path / "spool"
    spool.mkdir(mode=0o700)
    env = {
        "PATH": "/usr/bin:/bin",
        "LD_PRELOAD": str(LIBRARY),
        "CROSSWIND_SPOOL": str(spool),
        "CROSSWIND_JOB_ID": "full",
    }

    def cat(limit: int | None = None) -> None:
        def set_limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        setting = {} if limit is None else {"preexec_fn": set_limit}
        done = subprocess.run(["cat", "/etc/hostname"], env=env, capture_output=True, timeout=60, **setting)
        assert (done.returncode, done.stderr) == (0, b"")

    cat()
    for limit in (20_000, 20_000, 0):
        cat(limit)
    (log,) = spool.iterdir()
    size = log.stat().st_size
    os.truncate(log, 64 << 20)
    cat()
    os.truncate(log, size)
    cat()
    (profile,) = merge_directory(spool)
    (row,) = profile.processes
    assert (row.exe, row.count) == ("cat", 2)
    assert profile.lost == {"short": 3}  # not the one that may write nothing at all: it cannot count either
