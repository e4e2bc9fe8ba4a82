"""What the jobs beside a job did, against plain sums over their profiles."""

import numpy as np
import pytest

from crosswind.db import load_profile, loads, reading
from crosswind.db.queries import find_jobs
from crosswind.db.retention import prune_detail
from crosswind.db.topology import store_topology
from support.profiles import FIRST_SLICE, make_profile

NET = ("mpi_p2p_bytes_out",)
METRICS = {"fs:disk": ("posix_disk_write_bytes",), "net": ("mpi_p2p_bytes_out",)}
RATES = {"posix_disk_write_bytes": 1e6, "mpi_p2p_bytes_out": 2e6, "cpu_time": 9e8}


def store(engine, **what):
    profile = make_profile(**{"rates": RATES, "jitter": 0.2, "n_slices": 10} | what)
    load_profile(engine, profile)
    return profile


def beside(engine, job_id, metrics=METRICS):
    with reading(engine) as conn:
        return loads.loads_beside(conn, find_jobs(conn, job_id)[0], metrics)


def test_loads_are_what_the_neighbour_did_on_the_shared_resource(engine):
    store(engine, job_id="1", hosts=("a", "c"))
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


def test_the_steps_of_a_job_are_no_neighbours_of_each_other(engine):
    store(engine, job_id="1", step="0", hosts=("a",), uid=7)
    store(engine, job_id="1", step="", hosts=("a",), uid=7)  # its batch script
    store(engine, job_id="1", step="0", hosts=("a",), uid=8)  # of somebody else: ids come again
    store(engine, job_id="2", step="0", hosts=("a",), uid=7)
    with reading(engine) as conn:
        mine = next(job for job in find_jobs(conn, "1", "0") if job.uid == 7)
        met = {(m.job.job_id, m.job.uid) for m in loads.jobs_beside(conn, mine, METRICS)}
    assert met == {("1", 8), ("2", 7)}


def test_a_job_on_one_node_meets_nobody_on_the_network(engine):
    store(engine, job_id="1", hosts=("a",))
    store(engine, job_id="2", hosts=("a", "b"))
    assert {load.resource for load in beside(engine, "1").loads} == {"fs:disk@a"}
    assert {load.resource for load in beside(engine, "2").loads} == {"fs:disk@a"}


def test_a_wide_job_is_looked_at_on_some_nodes_and_a_narrow_one_on_its_own(engine, monkeypatch):
    """A job of 512 nodes beside another would be thousands of series, and a minute of a processor."""
    monkeypatch.setattr(loads, "MAX_PLACES", 4)
    nodes = tuple(f"n{i:02}" for i in range(16))
    store(engine, job_id="1", hosts=nodes, n_ranks=16)
    store(engine, job_id="2", hosts=nodes, n_ranks=16, seed=4)
    store(engine, job_id="3", hosts=("n05",), n_ranks=1, mpi="", seed=5)
    found = {(load.job.job_id, load.resource) for load in beside(engine, "1").loads}
    assert found == {("2", f"fs:disk@n{i:02}") for i in (0, 4, 8, 12)} | {("2", "net"), ("3", "fs:disk@n05")}
    monkeypatch.setattr(loads, "MAX_MEETINGS", 1)
    assert sum(load.job.job_id == "2" for load in beside(engine, "1").loads) == 3


PATHS = {
    "a": ("leaf1", "island", "top"), "b": ("leaf1", "island", "top"), "c": ("leaf2", "island", "top"),
    "d": ("leaf3", "top"), "e": ("leaf3", "top"), "f": ("leaf4", "top"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("ab", "ab", {"net:switch@leaf1"}),  # what stays below one switch
        ("ab", "de", set()),  # different switches, and neither leaves its own
        ("ac", "de", set()),
        ("ac", "df", set()),  # below island, and through top: no switch is common
        ("ac", "bd", {"net", "net:switch@leaf1"}),
        ("ad", "cf", {"net"}),
        ("ad", "bc", {"net", "net:switch@leaf1"}),
        ("ax", "de", {"net"}),  # where x is plugged in nobody knows
    ],
)
def test_jobs_meet_on_the_switches_that_both_use(engine, one, other, shared):
    store_topology(engine, PATHS)
    first = store(engine, job_id="1", hosts=tuple(one), mpi="x")
    second = store(engine, job_id="2", hosts=tuple(other), mpi="x", seed=4)
    for job_id, profile in (("1", second), ("2", first)):
        found = {load.resource: load for load in beside(engine, job_id, {"net": NET, "net:switch": NET}).loads}
        assert set(found) == shared
        for name, load in found.items():
            below = [not name[10:] or PATHS.get(p.host, ("",))[0] == name[11:] for p in profile.processes]
            np.testing.assert_array_equal(load.values[NET[0]], profile.slices[NET[0]][below].sum(axis=0), err_msg=name)


def test_slices_of_another_length_keep_their_sum(engine):
    store(engine, job_id="1", hosts=("a", "b"))
    other = store(
        engine, job_id="2", hosts=("a", "b"), slice_ns=2_000_000_000, first_slice=2 * FIRST_SLICE + 3, n_slices=13
    )
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
    monkeypatch.setattr(loads, "MAX_HELD", 50)
    store(engine, job_id="1")
    for number in range(5):
        store(engine, job_id=f"n{number}", first_slice=FIRST_SLICE + number)
    found = beside(engine, "1")
    assert {load.job.job_id for load in found.loads} == {"n0"}
    assert found.left_out == 4
