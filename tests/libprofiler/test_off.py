"""Switched off: no file, no thread, no changed call of MPI; the wrappers pass on, and programs do what they do."""

import os
import subprocess

import pytest

from crosswind.tools.library import preload
from support.mpi_runs import MPIS, Part, program
from support.mpi_runs import run as run_mpi
from support.preload import LIBRARY, PROGRAMS, environment

AT_ONCE = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}
OFF = {
    "disabled": {"CROSSWIND_DISABLE": "1"},
    "skipped by its user": {"CROSSWIND_SKIP": "nothing,posix_*,mpi_*,python3*,sleep"},
    "skipped by the site": {"CROSSWIND_SKIP": "nothing", "CROSSWIND_SKIP_SITE": "*"},
}
KNOWN_CALLS = ("posix_stdio", "posix_transfers", "posix_threads", "posix_signals", "posix_processes")


def outcome(command, env, cwd):
    cwd.mkdir()
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("name", KNOWN_CALLS)
def test_known_calls_leave_nothing(name, off, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    env = environment(spool, {**AT_ONCE, **OFF[off]})
    bare = {key: value for key, value in env.items() if key != "LD_PRELOAD"}
    command = [PROGRAMS / name]
    assert outcome(command, env, tmp_path / "off") == outcome(command, bare, tmp_path / "bare")
    assert os.listdir(spool) == []


@pytest.mark.parametrize("off", OFF)
def test_no_helper_thread(off, tmp_path):
    code = "import os, time; os.stat('/'); time.sleep(0.3); os.stat('/'); print(os.listdir('/proc/self/task'))"
    settings = {**AT_ONCE, "PYTHONDONTWRITEBYTECODE": "1"}
    for extra, threads in ((settings, 2), ({**settings, **OFF[off]}, 1)):
        out = subprocess.run(
            ["python3", "-c", code], env=environment(tmp_path, extra), capture_output=True, text=True, check=True
        )
        assert out.stdout.count(",") + 1 == threads, (extra, out)


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("mpi", MPIS)
def test_mpi_is_left_alone(mpi, off, tmp_path):
    command = [program("mpi_end", mpi), "return"]
    bare = run_mpi(mpi, [Part(2, command, bare=True)], tmp_path / "spool")
    done = run_mpi(mpi, [Part(2, command)], tmp_path / "spool", extra={**OFF[off], "CROSSWIND_DIGEST": "full"})
    assert (done.status, sorted(done.out.splitlines()), done.err) == (
        bare.status,
        sorted(bare.out.splitlines()),
        bare.err,
    )
    assert os.listdir(tmp_path / "spool") == []


def test_a_preload_of_the_user_is_kept():
    """ld.so takes both separators; the order stays, ours comes first, once."""
    assert preload(LIBRARY, None) == str(LIBRARY)
    assert preload(LIBRARY, "/a/one.so:/b/two.so  /c/three.so") == f"{LIBRARY}:/a/one.so:/b/two.so:/c/three.so"
    assert preload(LIBRARY, f":/a/one.so:{LIBRARY} ") == f"{LIBRARY}:/a/one.so"
