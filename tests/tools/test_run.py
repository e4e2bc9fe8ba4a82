"""`crosswind run`: nothing that it does may change what the program does."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crosswind.profile import read_profile
from crosswind.tools.profiling import PREFIX

pytestmark = pytest.mark.usefixtures("built")


def spools() -> set[Path]:
    return set(Path("/dev/shm").glob(f"{PREFIX}*"))


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_the_exit_code_is_the_programs(crosswind, tmp_path, code):
    before = spools()
    result = crosswind("run", "-o", "out.xwp", "--", "sh", "-c", f"exit {code}")
    assert result.returncode == code
    assert (tmp_path / "out.xwp").exists()
    assert spools() <= before, "the spool directory was not removed"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE])
def test_death_by_a_signal_is_passed_on(crosswind, tmp_path, number):
    result = crosswind("run", "-o", "out.xwp", "--", "sh", "-c", f"ls >/dev/null; kill -{number.value} $$")
    assert result.returncode == -number, result.stderr
    assert (tmp_path / "out.xwp").exists()


def test_a_shell_sees_128_and_the_signal(environment, tmp_path):
    script = f"{sys.executable} -m crosswind.tools run -o out.xwp -- sh -c 'kill -9 $$'; exit $?"
    result = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert result.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(("command", "code"), [("/nowhere/program", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_be_started(crosswind, tmp_path, command, code):
    before = spools()
    result = crosswind("run", command)
    assert result.returncode == code
    assert result.stderr.startswith(f"crosswind run: {command}: ")
    assert spools() <= before
    assert not list(tmp_path.glob("*.xwp"))


def test_output_and_input_are_untouched(environment, tmp_path):
    command = [sys.executable, "-m", "crosswind.tools", "run", "--", "sh", "-c", "cat; printf err >&2"]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, input=b"\x00bytes\xff", capture_output=True, timeout=60
    )
    assert result.stdout == b"\x00bytes\xff"
    assert result.stderr.startswith(b"err")
    assert result.stderr.count(b"\n") == 1, "one line says where the profile is"


def test_the_calls_of_a_known_program_are_in_the_profile(crosswind, tmp_path):
    """dd makes exactly as many reads and writes as it is told to."""
    result = crosswind("run", "-o", "dd.xwp", "--", "dd", "if=/dev/zero", f"of={tmp_path}/data", "bs=4096", "count=100")
    assert result.returncode == 0
    profile = read_profile(tmp_path / "dd.xwp")
    write = profile.functions["write"].sum(axis=0)
    assert write[1] >= 100 * 4096
    assert profile.functions["read"].sum(axis=0)[2] == 100 * 4096
    assert {p.exe for p in profile.processes} == {"dd"}


def test_the_preload_list_of_the_user_is_kept(crosswind, tmp_path, built):
    """Another library in LD_PRELOAD stays, behind ours; ours is not named twice."""
    extra = {"LD_PRELOAD": f"/usr/lib/x86_64-linux-gnu/libz.so.1:{built}"}
    if not Path("/usr/lib/x86_64-linux-gnu/libz.so.1").exists():
        pytest.skip("no libz to preload")
    result = crosswind("run", "sh", "-c", "echo $LD_PRELOAD", extra=extra)
    assert result.stdout == f"{built}:/usr/lib/x86_64-linux-gnu/libz.so.1\n"


def test_options_reach_the_library(crosswind, tmp_path):
    result = crosswind("run", "--slice", "500ms", "-o", "p.xwp", "--", "sleep", "2.6")
    assert result.returncode == 0
    profile = read_profile(tmp_path / "p.xwp")
    assert profile.slice_ns == 500_000_000
    assert profile.n_slices >= 5


def test_the_job_id_is_the_batch_systems_if_there_is_one(crosswind, tmp_path):
    crosswind("run", "sleep", "0.1", extra={"SLURM_JOB_ID": "4711"})
    assert read_profile(tmp_path / "crosswind-4711.xwp").job.id == "4711"


def test_a_job_id_names_no_other_directory_and_replaces_no_file(crosswind, tmp_path):
    hostile = {"CROSSWIND_JOB_ID": "../../evil name"}
    for _ in range(2):
        assert crosswind("run", "ls", extra=hostile).returncode == 0
    assert sorted(p.name for p in tmp_path.glob("*.xwp")) == [
        "crosswind-.._.._evil_name-2.xwp",
        "crosswind-.._.._evil_name.xwp",
    ]


def test_a_local_job_has_an_id_of_its_own(crosswind, tmp_path):
    crosswind("run", "ls")
    (path,) = tmp_path.glob("crosswind-local-*.xwp")
    assert read_profile(path).job.id == path.stem.removeprefix("crosswind-")


def test_a_place_that_cannot_be_written_is_found_before_the_program_runs(crosswind, tmp_path):
    result = crosswind("run", "-o", tmp_path / "nowhere" / "p.xwp", "--", "touch", "ran")
    assert result.returncode == 1
    assert not (tmp_path / "ran").exists()
    assert "-o" in result.stderr
    result = crosswind("run", "--spool", tmp_path / "nowhere", "--", "touch", "ran")
    assert result.returncode == 1
    assert not (tmp_path / "ran").exists()
    assert "--spool" in result.stderr


EXITS_ON_SIGNAL = """
import signal, sys
signal.signal(int(sys.argv[1]), lambda *_: sys.exit(33))
print('ready', flush=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_to_run_reaches_the_program_and_the_profile_is_written(environment, tmp_path, number):
    command = [sys.executable, "-m", "crosswind.tools", "run", "-o", "p.xwp", "--"]
    command += [sys.executable, "-c", EXITS_ON_SIGNAL, str(number.value)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 33
    assert (tmp_path / "p.xwp").exists()


COUNTS_INTERRUPTS = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print('ready', flush=True)
while not seen:
    time.sleep(0.01)
time.sleep(0.5)
print('interrupts', len(seen), flush=True)
"""
TAKES_THE_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_the_terminals_interrupt_reaches_the_program_once(environment, tmp_path):
    """Ctrl-C goes to the whole process group; passing it on as well would be a second one."""
    run = [sys.executable, "-m", "crosswind.tools", "run", "-o", "p.xwp", "--", sys.executable, "-c", COUNTS_INTERRUPTS]
    command = [sys.executable, "-c", TAKES_THE_TERMINAL, *run]
    leader, terminal = os.openpty()
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        _read_until(leader, b"ready")
        os.write(leader, b"\x03")
        assert b"interrupts 1" in _read_until(leader, b"interrupts ", more=1)
        _read_until(leader, b"p.xwp")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert (tmp_path / "p.xwp").exists()


def _read_until(terminal: int, mark: bytes, more: int = 0) -> bytes:
    """What the terminal shows up to `mark` and at least `more` bytes after it; fails after 30 s without."""
    output = b""
    deadline = time.monotonic() + 30
    while mark not in output or len(output.partition(mark)[2]) < more:
        readable, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"{mark!r} did not come; there was {output!r}"
        output += os.read(terminal, 4096)
    return output


def test_a_failed_merge_keeps_the_spool_files_and_the_exit_code(crosswind, tmp_path):
    """The program removes the directory that the profile should go to: there is no way to write it."""
    (tmp_path / "gone").mkdir()
    result = crosswind("run", "--spool", tmp_path, "-o", "gone/p.xwp", "--", "sh", "-c", "ls; rmdir gone; exit 3")
    assert result.returncode == 3
    (spool,) = tmp_path.glob(f"{PREFIX}*")
    assert list(spool.iterdir())
    assert str(spool) in result.stderr


def test_a_mistyped_option_is_wrong_usage(crosswind):
    result = crosswind("run", "--slcie", "4s", "--", "true")
    assert result.returncode == 2
    assert "--slcie" in result.stderr


def test_options_of_the_command_are_its_own(crosswind):
    assert crosswind("run", "-o", "x.xwp", "expr", "--version").stdout.startswith("expr ")
