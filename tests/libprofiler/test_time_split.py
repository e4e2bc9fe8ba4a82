"""Where the time went, slice by slice, against the program's own log."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from crosswind.profile import merge_directory
from crosswind.profile.store import write_profile
from crosswind.profile.timesplit import CATEGORIES, time_split
from crosswind.tools.cli import main
from support.mpi_runs import MPIS, run_program

SLICE_NS = 500_000_000
TOLERANCE_NS = 40_000_000  # a neighbour on the processor
# What the thread is in; computing, on a machine that others use too, it may have to wait for a processor.
STRETCHES = {"io": ("io_pipe",), "compute": ("computation", "idle"), "mpi": ("mpi_p2p",)}


def overlap(begin, end, starts):
    return np.clip(np.minimum(end, starts + SLICE_NS) - np.maximum(begin, starts), 0, None)


@pytest.mark.parametrize("mpi", MPIS)
def test_blocked_calls_lie_in_the_slices_they_block_in(mpi, tmp_path):
    settings = {"CROSSWIND_SLICE": "500ms", "CROSSWIND_JOB_ID": "test"}
    done = run_program("time_target", mpi, 2, tmp_path / "spool", extra=settings)
    stretches = {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, done.out.splitlines())}
    (found,) = merge_directory(tmp_path / "spool")
    row = next(i for i, p in enumerate(found.processes) if p.rank == 0)
    split = {name: values[row] for name, values in time_split(found).items()}
    tolerance_ns = TOLERANCE_NS + 1e6 * found.clock.late_max_ms  # a slice that ended late has time of the next one
    for name, (begin, end, _) in stretches.items():
        expected = overlap(begin, end, found.slice_starts_ns)
        inside = expected == SLICE_NS  # whole slices of the stretch
        assert np.count_nonzero(inside) >= 2
        measured = sum(split[category] for category in STRETCHES[name])
        if "idle" in STRETCHES[name]:  # without the threads of the MPI library itself
            measured -= found.covered_ns[row] * (np.maximum(found.metric("threads")[row], 1) - 1)
        assert np.all(np.abs(measured - expected)[inside] < tolerance_ns), (name, measured, expected)
        if name != "compute":
            assert measured.sum() == pytest.approx(end - begin, rel=0.05)
    begin, end, cpu_ns = stretches["compute"]
    computing = overlap(begin, end, found.slice_starts_ns)
    assert split["computation"][computing == SLICE_NS].sum() <= cpu_ns + tolerance_ns
    assert split["computation"][computing > 0].sum() >= cpu_ns - tolerance_ns
    whole = found.covered_ns[row] * np.maximum(found.metric("threads")[row], 1)
    assert np.all(np.abs(sum(split.values()) - whole) <= tolerance_ns)

    write_profile(found, tmp_path / "x.xwp")
    document = json.loads(CliRunner().invoke(main, ["show", str(tmp_path / "x.xwp"), "--json", "--slices"]).output)
    assert document["time_s"]["processes"]["io_pipe"][row] == pytest.approx(split["io_pipe"].sum() / 1e9)
    assert document["slices"]["time_s"]["mpi_p2p"][row] == pytest.approx((split["mpi_p2p"] / 1e9).tolist())
    text = CliRunner().invoke(main, ["show", str(tmp_path / "x.xwp")]).output
    assert CATEGORIES["io_pipe"] in text
