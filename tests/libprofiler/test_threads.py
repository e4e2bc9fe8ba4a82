"""Threads: counts are exact however many come and go, and how many were at work agrees with their own clocks."""

import pytest

from support.preload import PROGRAMS, profile, run, summarize

SLICE = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "500ms"}
PROGRAM = PROGRAMS / "threads_target"


def measured(tmp_path, *arguments, extra=None):
    """CPU seconds, wall seconds and calls as the program says; the profile."""
    out = run([PROGRAM, *map(str, arguments)], tmp_path, extra={**SLICE, **(extra or {})})
    cpu, wall, calls = map(float, out.split())
    return cpu, wall, int(calls), profile(tmp_path)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("how", ["busy", "omp"])
def test_effective_threads(how, threads, tmp_path):
    """Four threads on two processors come to at most two effective ones; four share the work all the same."""
    cpu, wall, _, found = measured(
        tmp_path, how, threads, 2, *([6] if how == "busy" else []), extra={"OMP_NUM_THREADS": "3"}
    )
    (process,) = summarize(found)["processes"]
    at_work = process["threads"]
    assert at_work["effective"] == pytest.approx(cpu / wall, rel=0.05)
    assert threads * 0.5 <= at_work["average"] <= threads + 0.1  # processors may be shared unfairly for a while
    assert at_work["busiest"] <= threads + 1  # the main thread makes the others, in a short first slice
    assert (process["omp_num_threads"], at_work["asked"]) == ("3", 3)
    assert bool(at_work["remark"]) == (at_work["effective"] < 1.5)


def test_idle_threads_are_not_at_work(tmp_path):
    cpu, wall, _, found = measured(tmp_path, "busy", 0, 2, 50)
    at_work = summarize(found)["processes"][0]["threads"]
    assert found.metric("threads").max() == 51
    assert at_work["effective"] == pytest.approx(cpu / wall, abs=0.02)
    assert at_work["busiest"] is None or at_work["busiest"] <= 2  # making 50 threads may be 1 % of a slice's time


@pytest.mark.parametrize(("threads", "at_once"), [(20000, 20), (2000, 1000)])
@pytest.mark.parametrize("settings", [SLICE, {}], ids=["helper at once", "default"])
def test_threads_that_come_and_go_are_counted_exactly(settings, threads, at_once, tmp_path):
    out = run([PROGRAM, "flock", str(threads), str(at_once)], tmp_path, extra=settings)
    assert int(out.split()[2]) == 3 * threads
    found = profile(tmp_path)
    assert int(found.functions["write"][:, 0].sum()) == 3 * threads
    assert int(found.totals["posix_other_write_calls"].sum()) == 3 * threads
    assert int(found.totals["posix_other_write_bytes"].sum()) == 3 * threads
