"""What a scope lets through, and how many jobs stand behind a sum: against jobs that were planted."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.db import BatchJob, load_profile, queries, reading
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.crowd import crowd_of, crowd_outside
from crosswind.db.scope import JobScope
from support.profiles import FIRST_SLICE, SLICE_NS, WRITER_RATES, make_profile

N = 12


def plant(engine, user, job_id, first=0, n=N, host="node01", step="0"):
    """A writer on a host in slices [first, first + n)."""
    profile = make_profile(
        job_id=job_id, step=step, user=user, uid=2000 + sum(user.encode()), command="w", n_ranks=1, mpi="",
        n_slices=n, first_slice=FIRST_SLICE + first, rates=WRITER_RATES, hosts=(host,),
    )  # fmt: skip
    return load_profile(engine, profile).job_key


def plant_mpi(engine, user, partition, first, n):
    """An MPI job of which the batch system has said in which partition it runs."""
    uid = 2000 + sum(user.encode())
    profile = make_profile(
        job_id=user, user=user, uid=uid, n_slices=n, first_slice=FIRST_SLICE + first, hosts=(f"{user}1",)
    )
    begin_ns = (FIRST_SLICE + first) * SLICE_NS
    store_batch_jobs(engine, [BatchJob(user, "RUNNING", uid, user=user, partition=partition, start_ns=begin_ns)])
    load_profile(engine, profile)


def seen(engine, scope):
    with reading(engine) as conn:
        jobs, total = queries.list_jobs(conn, scope=scope, order="id")
        assert total == len(jobs)
        assert all(queries.get_job(conn, job.key, scope) for job in jobs)
        return [job.job_id for job in jobs]


def test_a_scope_is_a_users_jobs_and_those_of_accounts(engine):
    for user, job_id in (("alice", "1"), ("alice", "2"), ("bob", "3"), ("carol", "4"), ("carol", "5")):
        plant(engine, user, job_id)
    with reading(engine) as conn:
        rows = queries.list_jobs(conn)[0]
    start = min(row.start_ns for row in rows)
    batch = [
        BatchJob(row.job_id, "COMPLETED", row.uid, user=row.user, account=account, start_ns=start)
        for row in rows
        for account in [{"3": "chem", "4": "bio"}.get(row.job_id)]
        if account
    ]
    store_batch_jobs(engine, batch)
    link_steps(engine)
    assert seen(engine, JobScope.EVERYTHING) == ["1", "2", "3", "4", "5"]
    assert seen(engine, JobScope(user="alice")) == ["1", "2"]
    assert seen(engine, JobScope(user="alice", accounts=("chem",))) == ["1", "2", "3"]
    assert seen(engine, JobScope(accounts=("bio", "none"))) == ["4"]
    assert seen(engine, JobScope(user="ali")) == []
    assert seen(engine, JobScope(user="ALICE")) == []
    assert seen(engine, JobScope(user="%")) == []
    assert seen(engine, JobScope()) == [], "nobody sees nothing"


def test_the_empty_name_is_nobody(engine):
    """A file may name no user; who has no name does not own it."""
    plant(engine, "", "1")
    assert seen(engine, JobScope(user="")) == []
    assert seen(engine, JobScope.EVERYTHING) == ["1"]


def crowd(engine, scope, names=("fs:disk@node01",), first=0, n=N, slice_ns=SLICE_NS):
    with reading(engine) as conn:
        return crowd_of(conn, scope, names, FIRST_SLICE * SLICE_NS // slice_ns + first, n, slice_ns)


def test_jobs_out_of_scope_are_counted_where_they_fill_a_slice(engine):
    plant(engine, "alice", "1")
    plant(engine, "bob", "2", 0, 6)
    plant(engine, "carol", "3", 3, 6)
    found = crowd(engine, JobScope(user="alice"))
    assert found.together.tolist() == [1, 1, 1, 2, 2, 2, 1, 1, 1, 0, 0, 0]
    assert found.least.tolist() == found.together.tolist()
    assert crowd(engine, JobScope(user="bob")).together.tolist() == [1, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 1]
    assert crowd(engine, JobScope.EVERYTHING).together.tolist() == [0] * N


def test_the_steps_of_a_job_are_one_job(engine):
    plant(engine, "alice", "1")
    for step, (first, n) in enumerate([(0, 6), (0, 3), (2, 4), (8, 2)]):
        plant(engine, "bob", "2", first, n, step=str(step))
    assert crowd(engine, JobScope(user="alice")).together.tolist() == [1] * 6 + [0] * 2 + [1] * 2 + [0] * 2


def test_a_job_that_only_touches_a_long_slice_does_not_count(engine):
    """Else the long slice minus the short ones in it would be the load of the jobs in the rest alone."""
    for user, n in (("bob", 3), ("carol", 3), ("dave", 12)):
        plant(engine, user, user, 0, n)
    plant(engine, "alice", "1")
    whole = crowd(engine, JobScope(user="alice"), n=3, slice_ns=4 * SLICE_NS)
    parts = crowd(engine, JobScope(user="alice"))
    assert parts.together.tolist() == [3, 3, 3] + [1] * 9
    assert whole.together.tolist() == [1, 1, 1]
    shown_parts = ~parts.is_smaller_than(3)
    shown_whole = ~whole.is_smaller_than(3)
    assert not (shown_whole & ~shown_parts.reshape(3, 4).all(axis=1)).any()


def test_a_resource_that_is_only_touched_has_too_few(engine):
    """On node02 dave began within the slice: his load is in the sum over both nodes, so the sum is withheld there."""
    for user in ("bob", "carol", "erin"):
        plant(engine, user, user)
    plant(engine, "dave", "4", 5, 2, host="node02")
    both = crowd(engine, JobScope(user="alice"), ("fs:disk@node01", "fs:disk@node02"), n=3, slice_ns=4 * SLICE_NS)
    assert both.together.tolist() == [3, 3, 3]
    assert both.least.tolist() == [3, 1, 3]
    assert both.is_smaller_than(3).tolist() == [False, True, False]


def test_a_resource_with_too_few_withholds_the_sum_with_others(engine):
    """On node02 dave is alone: the sum over both nodes minus that over node01 would be his."""
    for user in ("bob", "carol", "erin"):
        plant(engine, user, user)
    plant(engine, "dave", "4", 6, 6, host="node02")
    both = crowd(engine, JobScope(user="alice"), ("fs:disk@node01", "fs:disk@node02"))
    assert both.together.tolist() == [3] * 6 + [4] * 6
    assert both.least.tolist() == [3] * 6 + [1] * 6
    assert both.is_smaller_than(3).tolist() == [False] * 6 + [True] * 6
    assert not crowd(engine, JobScope(user="alice")).is_smaller_than(3).any()


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_slow_truth(engine, seed):
    random = np.random.default_rng(seed)
    planted = []
    for number in range(12):
        first, user = int(random.integers(0, N - 1)), "abc"[random.integers(0, 3)]
        n, host = int(random.integers(1, N - first + 1)), f"node0{random.integers(1, 4)}"
        plant(engine, user, f"{user}{number // 2}", first, n, host, step=str(number))
        planted.append((user, f"{user}{number // 2}", first, n, f"fs:disk@{host}"))
    names = ("fs:disk@node01", "fs:disk@node02")
    found = crowd(engine, JobScope(user="a"), names)
    for at in range(N):
        there = [
            (u, j, name) for u, j, first, n, name in planted if u != "a" and name in names and first <= at < first + n
        ]
        assert found.together[at] == len({(user, job) for user, job, _ in there})
        counts = [len({job for _, job, name in there if name == each}) for each in names]
        assert found.least[at] == min([count for count in counts if count], default=0)


def test_jobs_outside_of_a_part_are_counted(engine):
    """The whole system less a partition is the load of whoever is outside of it."""
    for user, first, n in (("bob", 0, N), ("carol", 0, N), ("dave", 0, N)):
        plant_mpi(engine, user, "batch", first, n)
    plant_mpi(engine, "erin", "gpu", 3, 4)
    scope = JobScope(user="alice")
    with reading(engine) as conn:
        asked = (FIRST_SLICE, N, SLICE_NS)
        assert crowd_of(conn, scope, ("partition@batch",), *asked).together.tolist() == [3] * N
        assert crowd_outside(conn, scope, ("partition@batch",), *asked).tolist() == [0] * 3 + [1] * 4 + [0] * 5
        assert crowd_outside(conn, scope, ("partition@batch", "partition@gpu"), *asked).tolist() == [0] * N
        assert crowd_outside(conn, scope, ("net",), *asked).tolist() == [0] * N
        assert crowd_outside(conn, JobScope(user="erin"), ("partition@batch",), *asked).tolist() == [0] * N


def test_users_can_be_counted_instead_of_jobs(engine):
    for number in range(3):
        plant(engine, "bob", f"b{number}")
    plant(engine, "carol", "c", 6, 6)
    with reading(engine) as conn:
        asked = (conn, JobScope(user="alice"), ("fs:disk@node01",), FIRST_SLICE, N, SLICE_NS)
        assert crowd_of(*asked).together.tolist() == [3] * 6 + [4] * 6
        assert crowd_of(*asked, by_user=True).together.tolist() == [1] * 6 + [2] * 6
        assert crowd_of(*asked, by_user=True).least.tolist() == [1] * 6 + [2] * 6
