"""Each process image counts for itself, from zero, however it came to be and however it ends."""

import shutil

import pytest

from support.preload import MODES, PROGRAMS, profile, run

SPOOL_FILES = MODES["own spool file"]


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    return request.param


def writes(found, of="posix_processes"):
    """write() calls and bytes of each process, in ascending order; and the processes' states in the same order."""
    rows = [
        (int(calls), int(out), process.state)
        for process, (calls, out, *_) in zip(found.processes, found.functions["write"], strict=True)
        if process.exe == of
    ]
    return sorted(rows)


@pytest.mark.parametrize(("how", "child"), [("fork", 20), ("raw", 20), ("vfork", 30), ("spawn", 30)])
def test_parent_and_child(how, child, tmp_path, mode):
    run([PROGRAMS / "posix_processes", how], tmp_path, extra=mode)
    assert writes(profile(tmp_path)) == [(10, 80, "clean"), (child, 8 * child, "clean")]


def test_end_without_destructors(tmp_path, mode):
    run([PROGRAMS / "posix_processes", "_exit"], tmp_path, extra=mode, status=3)
    assert writes(profile(tmp_path)) == [(50, 400, "exited")]


def test_killed(tmp_path):
    run([PROGRAMS / "posix_processes", "killed"], tmp_path, extra=SPOOL_FILES, status=-9)
    assert writes(profile(tmp_path)) == [(40, 320, "killed")]


def test_exec_makes_another_image(tmp_path, mode):
    shell = shutil.which("dash") or pytest.fail("dash is missing: apt install dash")
    run([shell, "-c", f"echo start >/dev/null; exec {PROGRAMS}/posix_processes leaf"], tmp_path, extra=mode)
    assert writes(profile(tmp_path)) == [(30, 240, "clean")]
