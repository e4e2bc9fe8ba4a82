"""The background of switches and partitions, against plain sums; and taken back exactly when nodes moved meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import select

from crosswind.db import load_profile, queries, reading, schema, store
from crosswind.db.batch import BatchJob, store_batch_jobs
from crosswind.db.errors import RefusedProfile
from crosswind.db.topology import latest_topology, new_placement, store_topology, switch_paths
from support.profiles import make_profile, part_of

PATHS = {"a": ("leaf1", "top"), "b": ("leaf1", "top"), "c": ("leaf2", "top")}
RATES = {"mpi_p2p_bytes_out": 3e6, "posix_net_write_bytes": 1e6, "cpu_time": 9e8}


def make(job_id="1", **what):
    return make_profile(**{"job_id": job_id, "rates": RATES, "jitter": 0.2, "n_slices": 9, "functions": {}} | what)


def background(engine, profile, name, metric="mpi_p2p_bytes_out"):
    with reading(engine) as conn:
        got = queries.get_background(conn, [name], [metric], profile.first_slice, profile.n_slices, profile.slice_ns)
    return got[name, metric]


def below(profile, hosts, metric="mpi_p2p_bytes_out"):
    """What the processes on these hosts did, by a plain loop."""
    return sum(profile.slices[metric][i] for i, p in enumerate(profile.processes) if p.host in hosts)


def names_of(engine, job_id="1"):
    with reading(engine) as conn:
        return queries.resources_of_job(conn, queries.find_jobs(conn, job_id)[0].key)


def test_a_switch_has_the_traffic_of_the_nodes_below_it(engine):
    store_topology(engine, PATHS)
    one, other = make(hosts=("a", "c"), n_ranks=4), make("2", hosts=("b", "elsewhere"), n_ranks=4, seed=5)
    for profile in (one, other):
        load_profile(engine, profile)
    np.testing.assert_array_equal(background(engine, one, "net:switch@leaf1"), below(one, {"a"}) + below(other, {"b"}))
    np.testing.assert_array_equal(background(engine, one, "net:switch@leaf2"), below(one, {"c"}))
    np.testing.assert_array_equal(
        background(engine, one, "net"), one.slices["mpi_p2p_bytes_out"].sum(axis=0) + below(other, {"b", "elsewhere"})
    )
    assert {"net:switch@leaf1", "net:switch@leaf2", "net"} <= set(names_of(engine))
    assert "net:switch@leaf2" not in names_of(engine, "2")


def test_a_partition_has_what_its_jobs_did(engine):
    store_batch_jobs(engine, [BatchJob("1", "RUNNING", 1000, partition="batch", start_ns=1)])
    one, other = make(), make("2", seed=3)
    for profile in (one, other):
        load_profile(engine, profile)
    for metric in RATES:
        np.testing.assert_array_equal(
            background(engine, one, "partition@batch", metric), one.slices[metric].sum(axis=0)
        )
    assert not [name for name in names_of(engine, "2") if name.startswith("partition")]


def test_without_a_topology_nothing_is_new(engine):
    load_profile(engine, make(hosts=("a", "b")))
    assert not [name for name in names_of(engine) if ":switch" in name or "partition" in name]
    with reading(engine) as conn:
        assert latest_topology(conn, "") is None
        assert conn.execute(select(schema.job.c.topology_id, schema.job.c.partition)).one() == (None, "")


@pytest.mark.parametrize("moved", [{}, {"a": ("leaf2", "top")}, {"a": ("new",), "b": ("new",), "c": ("new",)}])
def test_a_job_stays_where_it_was_first_loaded(engine, moved):
    """Its parts come before and after nodes moved; then it is replaced by one without traffic: nothing remains."""
    store_topology(engine, PATHS)
    store_batch_jobs(engine, [BatchJob("1", "RUNNING", 1000, partition="batch", start_ns=1)])
    whole = make(hosts=("a", "b", "c"), n_ranks=6)
    load_profile(engine, part_of(whole, [0, 1]))
    store_topology(engine, PATHS | moved)
    store_batch_jobs(engine, [BatchJob("1", "RUNNING", 1000, run=0, partition="other", start_ns=1)])
    load_profile(engine, part_of(whole, [2, 3, 4, 5]))
    load_profile(engine, whole)
    np.testing.assert_array_equal(background(engine, whole, "net:switch@leaf1"), below(whole, {"a", "b"}))
    np.testing.assert_array_equal(background(engine, whole, "net:switch@leaf2"), below(whole, {"c"}))
    np.testing.assert_array_equal(background(engine, whole, "partition@batch"), below(whole, {"a", "b", "c"}))
    quiet = make(hosts=("a", "b", "c"), n_ranks=6, rates={"posix_net_write_bytes": 1e6}, n_slices=12)
    load_profile(engine, quiet)
    for name in ("net", "net:switch@leaf1", "net:switch@leaf2", "partition@batch"):
        assert not background(engine, whole, name).any(), name
    with reading(engine) as conn:
        left = select(schema.background.c.resource_id).join(
            schema.resource, schema.resource.c.id == schema.background.c.resource_id
        )
        assert conn.execute(left.where(schema.resource.c.name.like("net%"))).all() == []


def test_a_job_that_another_loader_placed_meanwhile(engine, monkeypatch):
    """This loader looked where the job is by a newer topology before another loaded a part of it by an older one."""
    whole = make(hosts=("a", "c"), n_ranks=4)
    store_topology(engine, {"a": ("new",), "c": ("new",)})
    with reading(engine) as conn:
        newer = new_placement(conn, "", ("1", "0", 1000), {"a", "c"})
    store_topology(engine, PATHS)
    load_profile(engine, part_of(whole, [0, 1]))
    monkeypatch.setattr(store.topology, "new_placement", lambda *_: newer)
    load_profile(engine, whole)
    np.testing.assert_array_equal(background(engine, whole, "net:switch@leaf1"), below(whole, {"a"}))
    np.testing.assert_array_equal(background(engine, whole, "net:switch@leaf2"), below(whole, {"c"}))
    assert not background(engine, whole, "net:switch@new").any()


def test_versions_are_kept_and_the_same_again_is_none(engine):
    assert store_topology(engine, PATHS)
    assert not store_topology(engine, dict(reversed(PATHS.items())))
    with reading(engine) as conn:
        first = latest_topology(conn, "")
    assert store_topology(engine, {"a": ("x",)})
    assert store_topology(engine, PATHS, cluster="other")
    with reading(engine) as conn:
        assert switch_paths(conn, first.id, ["a", "nobody"]) == {"a": ("leaf1", "top")}
        assert switch_paths(conn, latest_topology(conn, "").id, ["a"]) == {"a": ("x",)}
    with pytest.raises(RefusedProfile):
        store_topology(engine, {"a\0": ("x",)})
