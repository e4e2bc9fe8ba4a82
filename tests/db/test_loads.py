"""What the jobs beside a job did, against plain sums over their profiles."""

import numpy as np
import pytest

from crosswind.db import load_profile, loads, reading
from crosswind.db.queries import find_jobs
from crosswind.db.retention import prune_detail
from support.profiles import FIRST_SLICE, make_profile

METRICS = {"fs:disk": ("posix_disk_write_bytes",), "net": ("mpi_p2p_bytes_out",)}
RATES = {"posix_disk_write_bytes": 1e6, "mpi_p2p_bytes_out": 2e6, "cpu_time": 9e8}


def store(engine, **what):
    profile = make_profile(**{"rates": RATES, "jitter": 0.2, "n_slices": 10} | what)
    load_profile(engine, profile)
    return profile


def beside(engine, job_id):
    with reading(engine) as conn:
        return loads.loads_beside(conn, find_jobs(conn, job_id)[0], METRICS)


def test_loads_are_what_the_neighbour_did_on_the_shared_resource(engine):
    store(engine, job_id="1", hosts=("a",))
    other = store(engine, job_id="2", hosts=("a", "b"), first_slice=FIRST_SLICE + 4, uid=7)
    found = {load.resource: load for load in beside(engine, "1").loads}
    assert set(found) == {"fs:disk@a", "net"}
    on_a = other.slices["posix_disk_write_bytes"][[p.host == "a" for p in other.processes]].sum(axis=0)
    np.testing.assert_array_equal(found["fs:disk@a"].values["posix_disk_write_bytes"], [0] * 4 + list(on_a[:6]))
    sent = other.slices["mpi_p2p_bytes_out"].sum(axis=0)
    np.testing.assert_array_equal(found["net"].values["mpi_p2p_bytes_out"], [0] * 4 + list(sent[:6]))
    assert found["net"].job.job_id == "2"


def test_jobs_elsewhere_or_at_another_time_are_no_neighbours(engine):
    store(engine, job_id="1", hosts=("a",), mpi="", rates={"posix_disk_write_bytes": 1e6})
    store(engine, job_id="2", hosts=("b",), mpi="", rates={"posix_disk_write_bytes": 1e6})
    store(engine, job_id="3", hosts=("a",), mpi="", rates={"posix_disk_write_bytes": 1e6}, first_slice=FIRST_SLICE + 10)
    assert beside(engine, "1").loads == ()


def test_slices_of_another_length_keep_their_sum(engine):
    store(engine, job_id="1")
    other = store(engine, job_id="2", slice_ns=2_000_000_000, first_slice=2 * FIRST_SLICE + 3, n_slices=13)
    found = {load.resource: load for load in beside(engine, "1").loads}
    values = found["net"].values["mpi_p2p_bytes_out"]
    assert values.sum() == other.slices["mpi_p2p_bytes_out"].sum()
    assert values[0] == 0
    assert values[8:].sum() == 0


def test_too_many_jobs_are_counted(engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loads, "MAX_JOBS", 2)
    store(engine, job_id="1")
    for number, late in enumerate((0, 9, 3)):
        store(engine, job_id=f"n{number}", first_slice=FIRST_SLICE + late)
    found = beside(engine, "1")
    assert {load.job.job_id for load in found.loads} == {"n0", "n2"}
    assert found.left_out == 1


def test_large_and_pruned_jobs_are_counted_and_not_decoded(engine, monkeypatch: pytest.MonkeyPatch):
    store(engine, job_id="1")
    store(engine, job_id="large", n_ranks=9)
    store(engine, job_id="pruned", first_slice=FIRST_SLICE - 4)
    with reading(engine) as conn:
        (pruned,) = find_jobs(conn, "pruned")
    list(prune_detail(engine, pruned.end_ns + 1))
    store(engine, job_id="small", n_ranks=1)
    monkeypatch.setattr(loads, "MAX_FRAME", 8 * 8 * 10)
    found = beside(engine, "1")
    assert {load.job.job_id for load in found.loads} == {"small"}
    assert found.left_out == 2


def test_what_is_held_of_all_jobs_is_bounded(engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loads, "MAX_HELD", 100)
    store(engine, job_id="1")
    for number in range(5):
        store(engine, job_id=f"n{number}", first_slice=FIRST_SLICE + number)
    found = beside(engine, "1")
    assert {load.job.job_id for load in found.loads} == {"n0"}
    assert found.left_out == 4
