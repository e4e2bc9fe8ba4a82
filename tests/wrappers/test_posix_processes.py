"""Each process image counts for itself, from zero, however it came to be and however it ends."""

import shutil

import pytest

from support.preload import MODES, PROGRAMS, profile, run

SPOOL_FILES = MODES["own spool file"]
SHORT = MODES["log of short processes"]


def writes(found, of="posix_processes"):
    """write() calls, bytes out and state of each process; ascending."""
    rows = [
        (int(calls), int(out), process.state)
        for process, (calls, out, *_) in zip(found.processes, found.functions["write"], strict=True)
        if process.exe == of
    ]
    return sorted(rows)


@pytest.mark.parametrize(("how", "child"), [("fork", 20), ("raw", 20), ("vfork", 30), ("spawn", 30)])
def test_parent_and_child(how, child, tmp_path):
    run([PROGRAMS / "posix_processes", how], tmp_path, extra=SPOOL_FILES)
    assert writes(profile(tmp_path)) == [(10, 80, "clean"), (child, 8 * child, "clean")]


@pytest.mark.parametrize(("how", "child"), [("fork", 20), ("raw", 20), ("vfork", 30), ("spawn", 30)])
def test_parent_and_child_that_live_shortly(how, child, tmp_path):
    run([PROGRAMS / "posix_processes", how], tmp_path, extra=SHORT)
    found = profile(tmp_path)
    assert writes(found) == [(10 + child, 80 + 8 * child, "short")]
    assert [p.count for p in found.processes] == [2]


def test_end_without_destructors(tmp_path):
    run([PROGRAMS / "posix_processes", "_exit"], tmp_path, extra=SPOOL_FILES, status=3)
    assert writes(profile(tmp_path)) == [(50, 400, "exited")]


def test_short_life_that_ends_without_destructors(tmp_path):
    run([PROGRAMS / "posix_processes", "_exit"], tmp_path, extra=SHORT, status=3)
    assert writes(profile(tmp_path)) == [(50, 400, "short")]


def test_killed(tmp_path):
    run([PROGRAMS / "posix_processes", "killed"], tmp_path, extra=SPOOL_FILES, status=-9)
    assert writes(profile(tmp_path)) == [(40, 320, "killed")]


def test_exec_makes_another_image(tmp_path):
    shell = shutil.which("dash") or pytest.fail("dash is missing: apt install dash")
    run([shell, "-c", f"echo start >/dev/null; exec {PROGRAMS}/posix_processes leaf"], tmp_path, extra=SHORT)
    assert writes(profile(tmp_path)) == [(30, 240, "short")]
