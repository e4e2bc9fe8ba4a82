"""The report of the load programs: what it takes for work, and what becomes of it where nobody can have it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.load_programs import SECOND, any_mpi, bare_environment, command, run


def test_removing_files_is_no_work(slow: dict[str, str], tmp_path: Path) -> None:
    """A rate is what was done until the last file was closed."""
    options = ["--volume", 1 << 20, "--pattern", "write-seek", "--dir", tmp_path]
    done = run(command(any_mpi(), "pattern", *options, ranks=1), slow)
    report = json.loads(done.stdout)
    assert report["ended"] == "volume"
    assert (report["end_ns"] - report["start_ns"]) / SECOND < 1.5


@pytest.mark.parametrize("shared", [[], ["--shared"]])
def test_nothing_is_left_when_nobody_reads_the_report(shared: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    options = ["--volume", "1M", "--dir", str(tmp_path), *shared]
    done = subprocess.run(
        command(any_mpi(), "pattern", *options, ranks=1), env=bare_environment(), stdout=writer, timeout=30
    )
    os.close(writer)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(any_mpi(), "cpu", "--seconds", 0.1, ranks=1), env=bare_environment(), stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=30,
        )  # fmt: skip
    assert done.returncode == 1
    assert "cannot print the report: No space left on device" in done.stderr
