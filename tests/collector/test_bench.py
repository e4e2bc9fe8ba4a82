"""`make bench-collector` with a small job; files that are copied say what those do that are written slice by slice."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crosswind.profile.spool import read_spool
from support.growing import GrowingSpool
from support.spools import SpoolBuilder

BENCH = Path(__file__).parents[2] / "tools" / "bench" / "collector.py"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_refresh_of_a_long_job(kind, request):
    if kind == "postgresql":
        request.getfixturevalue("postgresql_server")  # skips where there is none
    command = [sys.executable, BENCH, "--refresh", "12x120", *(["--postgresql"] if kind == "postgresql" else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    names = ("history", "refresh_cpu", "refresh_elapsed", "refresh_elapsed_max", "memory_peak")
    assert [line["name"] for line in lines] == [f"collector_{kind}_12x120_{name}" for name in names]
    assert all(line["value"] > 0 for line in lines)


def test_what_is_no_size_is_refused():
    done = subprocess.run([sys.executable, BENCH, "--refresh", "12"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write PROCESSESxSLICES" in done.stderr


def test_copied_slices_are_as_if_the_process_had_closed_them(tmp_path):
    first, second, third = (GrowingSpool(tmp_path, SpoolBuilder(pid=pid, job_id="1")) for pid in (1, 2, 3))
    for index in (first.builder.start_ns // first.builder.slice_ns + i for i in range(6)):
        for process in (first, third):
            process.grow(index, 3 + index % 4, {"rss": 7 + index % 3})
        if index % 2:
            second.copy(first)
    second.copy(first)
    written, copied = read_spool(third.path), read_spool(second.path)
    assert copied.problems == written.problems == ()
    assert (copied.pid, written.pid) == (2, 3)
    for name in ("index", "begin_ns", "end_ns", "record", "column", "value"):
        np.testing.assert_array_equal(getattr(copied.slices, name), getattr(written.slices, name), err_msg=name)
    np.testing.assert_array_equal(copied.words, written.words)
    assert second.values == third.values
