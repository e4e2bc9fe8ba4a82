"""Periods, intensity, bounds and seeds of the load programs."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from support.file_classes import class_of
from support.load_programs import SECOND, any_mpi, bare_environment, command, profiled, report_of, run, wait_until

SLICE = SECOND // 10
START_S = 0.6  # processor time that an MPI program takes to start


def test_nothing_is_written_in_silence(mpi: str, tmp_path: Path) -> None:
    """The profile's slices have bytes where the report says that it was active, and nowhere else."""
    report, seen = profiled(
        mpi, "pattern", tmp_path / "spool", "--chunk", "16k", "--seconds", 4, "--active", 0.5, "--silent", 1.5,
        "--volume", 0, "--dir", tmp_path, slice_length="100ms",
    )  # fmt: skip
    written = seen.course(f"posix_{class_of(tmp_path)}_write_bytes")
    begins = (seen.whole.first_slice + np.arange(written.size)) * seen.whole.slice_ns
    touched = np.zeros(written.size, dtype=bool)
    for begin, end in report["active_ns"]:
        # three slices of grace: the other rank, and what a late helper writes down after a boundary
        touched |= (begins + 4 * SLICE > begin) & (begins - 3 * SLICE < end)
    assert written.sum() == report["total"]
    assert not written[~touched].any()
    assert (~touched).sum() >= 5


@pytest.mark.parametrize(
    ("name", "options", "ranks"),
    [
        ("cpu", [], 2),
        ("node", ["--kind", "memory"], 1),
        ("node", ["--kind", "cache"], 1),
        ("network", ["--kind", "messages"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_periods_begin_together_and_rest_is_rest(name: str, options: list[str], ranks: int) -> None:
    report = report_of(
        command(any_mpi(), name, "--seconds", 2.2, "--active", 0.4, "--silent", 0.6, *options, ranks=ranks)
    )
    whole = [(begin, end) for begin, end in report["active_ns"] if begin - report["start_ns"] > SECOND // 10]
    assert len(whole) >= 2
    for begin, end in whole[:-1]:
        assert begin % SECOND < SECOND // 4  # late by no more than a busy machine makes it
        assert SECOND // 5 < end - begin < 95 * SECOND // 100  # a step on a busy machine may be long
    assert all(begin % SECOND < 4 * SECOND // 10 for begin, _ in report["active_ns"])
    active = sum(end - begin for begin, end in report["active_ns"])
    assert report["busy_ns"] <= ranks * active * 1.1 + SECOND // 20  # ranks differ in when they see an end


@pytest.mark.parametrize(("name", "intensity"), [("cpu", 0.25), ("cpu", 1), ("node", 0.5)])
def test_intensity_is_the_share_that_is_worked(name: str, intensity: float) -> None:
    """By its own clock, and by the processor time that the kernel has for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = report_of(command(any_mpi(), name, "--seconds", 2, "--intensity", intensity, ranks=1))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    share = report["busy_ns"] / sum(end - begin for begin, end in report["active_ns"])
    assert 0.85 * intensity < share < 1.15 * intensity
    assert after.ru_utime - before.ru_utime < report["busy_ns"] / SECOND + START_S


@pytest.mark.parametrize(
    ("name", "options"), [("cpu", []), ("node", ["--kind", "memory"]), ("node", ["--kind", "cache"])], ids=str
)
def test_the_profile_has_the_time_that_was_worked(name: str, options: list[str], tmp_path: Path) -> None:
    """And no more: resting takes no processor."""
    report, seen = profiled(any_mpi(), name, tmp_path / "spool", "--seconds", 2, "--intensity", 0.25, *options, ranks=2)
    worked, busy = seen.total("cpu_time") / SECOND, report["busy_ns"] / SECOND
    assert busy / 4 < worked < busy + 2 * START_S  # others may have a processor meanwhile; both ranks start
    assert worked < 0.8 * 2 * 2, "a quarter, not all of the time"


def test_an_intensity_that_is_hardly_any_ends_in_time() -> None:
    report = report_of(command(any_mpi(), "node", "--seconds", 0.5, "--intensity", 0.001, ranks=1))
    assert 0.5 <= (report["end_ns"] - report["start_ns"]) / SECOND < 1.5
    assert report["total"] > 0


@pytest.mark.parametrize(
    ("name", "options", "volume"),
    [("pattern", ["--chunk", "1M"], 8 << 20), ("metadata", [], 1600), ("cpu", [], 1 << 24), ("node", [], 1 << 28)],
)
def test_volume_bounds_what_a_rank_does(name: str, options: list[str], volume: int, tmp_path: Path) -> None:
    needs = ["--dir", tmp_path] if name in ("pattern", "metadata") else []
    report = report_of(command(any_mpi(), name, "--volume", volume, *options, *needs, ranks=1))
    assert report["ended"] == "volume"
    assert volume <= report["total"] < 1.1 * volume


def test_seconds_bound_a_run_without_volume(mpi: str, tmp_path: Path) -> None:
    report = report_of(
        command(mpi, "pattern", "--seconds", 1, "--volume", 0, "--chunk", "4k", "--keep", 2, "--dir", tmp_path)
    )
    assert report["ended"] == "time"
    assert 1 <= (report["end_ns"] - report["start_ns"]) / SECOND < 2
    assert len(report["per_second"]) in (1, 2)
    assert sum(report["per_second"]) == report["total"]


def first_bytes(directory: Path, seed: int) -> tuple[bytes, int]:
    """What a program writes first, and how many files it had at most while we looked."""
    directory.mkdir()
    arguments = command(
        any_mpi(), "pattern", "--chunk", "1k", "--seed", seed, "--dir", directory, "--seconds", 20, ranks=1
    )
    with subprocess.Popen(arguments, env=bare_environment(), stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: list(directory.glob("*/rank0/data*")), "a file")
            os.kill(process.pid, signal.SIGSTOP)
            files = list(directory.glob("*/rank0/data*"))
            content = next(data for path in files if len(data := path.read_bytes()) == 1024)
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.terminate()
    return content, len(files)


def test_the_same_seed_writes_the_same(tmp_path: Path) -> None:
    first, files = first_bytes(tmp_path / "a", 7)
    assert first == first_bytes(tmp_path / "b", 7)[0]
    assert first != first_bytes(tmp_path / "c", 8)[0]
    assert len(set(first)) > 100  # nothing that a file system compresses away
    assert 1 <= files <= 5  # --keep and the present one


def test_a_full_device_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    limited = ["sh", "-c", 'ulimit -f 32768; exec "$@"', "sh"]
    done = run([*limited, *command(any_mpi(), "pattern", "--chunk", "64M", "--dir", tmp_path, ranks=1)])
    assert done.returncode == 1
    assert "File too large" in done.stderr
    counts = json.loads(done.stdout)["counts"]
    assert (counts["bytes_out"], counts["write"]) == (32768 * 512, 2), "the first write was cut short"
    assert list(tmp_path.iterdir()) == []
