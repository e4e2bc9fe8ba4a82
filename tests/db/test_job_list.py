"""The list of jobs and what the pages beside it ask, on both databases: every filter, order and kind of line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from crosswind.db import BatchJob, load_profile, reading, timespace
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.disturbing import read_losses, read_movers, read_traffic
from crosswind.db.errors import DatabaseError
from crosswind.db.events import Event, event_by_id, remove_event, replace_event, store_events, stored_events
from crosswind.db.job_list import (
    ORDERS,
    SHOWN,
    all_job_lines,
    distinct_values,
    job_lines,
    job_lines_by_key,
    newest_data_ns,
)
from crosswind.db.scope import JobScope
from crosswind.db.sums import SUMS, SUSPICIOUS_RATES
from crosswind.tools.evaluation import evaluate
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile

NET = {"posix_net_write_calls": 50, "posix_net_write_bytes": 50_000_000, "cpu_time": 500_000_000}
START_NS, END_NS = FIRST_SLICE * SLICE_NS, (FIRST_SLICE + 15) * SLICE_NS
EVERY_FILTER = {
    "user": "alice", "account": "chem", "partition": "batch", "command": "LMP", "job_id": "1", "state": "finished",
    "nodes_from": 1, "nodes_to": 9, "ranks_from": 1, "ranks_to": 9, "started_from": 0, "started_to": END_NS,
    "ran_from": 0, "ran_to": END_NS, "duration_from": 1, "duration_to": 10**15, "interference_from": 0.0,
    "interference_to": 100.0, "interference_above": -1.0, "interference_below": 100.0, "told": True, "volume_from": 0,
    "volume_to": 1 << 62, "idle_from": 0.0, "idle_to": 1.0, "keys": [1, 2, 3],
}  # fmt: skip


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """alice's lmp (job 1, two hosts, in the batch system), bob's writer (2), and job 9, which has no profile."""
    lammps = make_lammps(job_id="1", hosts=("n1", "n2"))
    load_profile(engine, lammps, evaluation=evaluate(lammps))
    load_profile(engine, make_profile(job_id="2", user="bob", uid=7, command="writer", rates=NET, factor={}))
    known = {"account": "chem", "partition": "batch", "start_ns": START_NS}
    store_batch_jobs(
        engine,
        [
            BatchJob("1", "COMPLETED", 1000, user="alice", cpus=4, **known),
            BatchJob("9", "FAILED", 1000, user="alice", name="bare", hosts=("a", "b", "c"), end_ns=END_NS, **known),
        ],
    )
    link_steps(engine)
    return engine


@pytest.mark.parametrize("shown", SHOWN)
def test_every_order_of_every_kind_of_line(filled: Engine, shown: str) -> None:
    expected = {"profiled": {"1", "2"}, "unprofiled": {"9"}, "all": {"1", "2", "9"}}[shown]
    with reading(filled) as conn:
        for order in [sign + name for name in ORDERS for sign in ("", "-")]:
            lines, total = job_lines(conn, shown=shown, order=order)
            assert {line.job_id for line in lines} == expected, order
            assert total == len(expected)
            assert [line.job_id for line in all_job_lines(conn, 99, shown=shown, order=order)] == [
                line.job_id for line in lines
            ]
        assert len(list(all_job_lines(conn, 1, shown=shown))) == 1


@pytest.mark.parametrize("shown", SHOWN)
def test_every_filter_is_a_statement(filled: Engine, shown: str) -> None:
    with reading(filled) as conn:
        found = job_lines(conn, shown=shown, **EVERY_FILTER)[0]
        assert [line.job_id for line in found] == ([] if shown == "unprofiled" else ["1"])
        for name, value in EVERY_FILTER.items():
            job_lines(conn, shown=shown, **{name: value})
        for pattern in ("any", "small requests", "many opens", "metadata storm"):
            assert job_lines(conn, shown=shown, pattern=pattern)[1] == 0


def test_numbers_of_lines(filled: Engine) -> None:
    with reading(filled) as conn:
        lines = {line.job_id: line for line in job_lines(conn, shown="all")[0]}
        one, two, bare = lines["1"], lines["2"], lines["9"]
        assert (one.n_hosts, one.account, one.partition, one.batch_state) == (2, "chem", "batch", "COMPLETED")
        assert one.idle_share == pytest.approx(0.5, abs=0.05)
        assert (two.fs_bytes, two.account, two.idle_share) == (2 * 60 * 50_000_000, "", None)
        assert (bare.key, bare.n_hosts, bare.fs_bytes, bare.interference_pct) == (None, 3, None, None)
        assert newest_data_ns(conn) == END_NS
        assert distinct_values(conn, "account", JobScope.EVERYTHING) == ["chem"]


def test_scope_holds_for_every_kind_of_line(filled: Engine) -> None:
    with reading(filled) as conn:
        for scope, seen in (
            (JobScope(user="alice"), {"1", "9"}),
            (JobScope(user="bob"), {"2"}),
            (JobScope(user="bob", accounts=("chem",)), {"1", "2", "9"}),
            (JobScope(), set()),
        ):
            lines, total = job_lines(conn, shown="all", scope=scope)
            assert {line.job_id for line in lines} == seen
            assert total == len(seen)
            keys = [line.key for line in job_lines(conn)[0]]
            assert {line.job_id for line in job_lines_by_key(conn, keys, scope)} == seen - {"9"}
        assert distinct_values(conn, "account", JobScope(user="bob")) == []


def test_what_the_ranking_reads(filled: Engine) -> None:
    with reading(filled) as conn:
        movers = read_movers(conn, START_NS, END_NS, JobScope.EVERYTHING)
        assert movers.moved_bytes.tolist() == [2 * 60 * 50_000_000]
        assert read_movers(conn, START_NS, END_NS, JobScope(user="alice")).key.size == 0
        assert read_traffic(conn, FIRST_SLICE, 15, SLICE_NS).sum() == 2 * 60 * 50_000_000
        assert read_losses(conn, FIRST_SLICE, 15, SLICE_NS).per_slice_ns.shape == (15,)


def test_what_the_grid_reads(filled: Engine) -> None:
    with reading(filled) as conn:
        jobs = timespace.placed_jobs(conn, START_NS, END_NS, JobScope.EVERYTHING)
        assert [job.job_id for job in jobs] == ["1", "2"]
        blocks = list(timespace.per_host(conn, jobs, ["cpu_time"], START_NS, END_NS))
        sums = {
            block.job.job_id: dict(zip(block.hosts, block.values.sum(axis=1).tolist(), strict=True)) for block in blocks
        }
        assert sums["2"] == {"node01": 2 * 15 * 2_000_000_000}
        assert sums["1"].keys() == {"n1", "n2"}
        assert list(timespace.per_host(conn, jobs, ["cpu_time"], END_NS, 2 * END_NS)) == []
        assert timespace.shared_resources(conn, {"partition", "net:switch"}) == []
        assert timespace.first_job_ns(conn, JobScope(user="bob")) == START_NS


def test_events_are_kept(engine: Engine) -> None:
    store_events(engine, [Event("", "reboot", "n1", 100, 200), Event("", "other", "", 100)])
    with reading(engine) as conn:
        first = next(one for one in stored_events(conn, 0, 1000) if one.event.kind == "reboot")
        assert event_by_id(conn, first.id) == first
    assert replace_event(engine, first.id, Event("", "reboot", "n2", 100, 300))
    with pytest.raises(DatabaseError, match="already"):
        replace_event(engine, first.id, Event("", "other", "", 100))
    assert not replace_event(engine, 10**6, Event("", "network", "", 5))
    assert remove_event(engine, first.id)
    assert not remove_event(engine, first.id)
    with reading(engine) as conn:
        assert [one.event.kind for one in stored_events(conn, 0, 1000)] == ["other"]


def test_absurd_counts_of_one_user_leave_the_list_to_all_others(filled: Engine) -> None:
    """Numbers come from users' files: their sums are the largest there is, and no product of them may be too large."""
    absurd = make_profile(job_id="3", user="eve", uid=9, n_ranks=3, rates=NET, factor={})
    most = np.full(3, 1 << 62)
    totals = {
        name: most for name in (*SUMS["fs_requests"], *SUMS["fs_metadata_calls"], "cpu_time") if name in absurd.totals
    }
    functions = {name: np.full_like(values, 1 << 62) for name, values in absurd.functions.items()}
    load_profile(filled, replace(absurd, totals={**absurd.totals, **totals}, functions=functions))
    store_batch_jobs(filled, [BatchJob("3", "COMPLETED", 9, user="eve", cpus=1 << 20, start_ns=START_NS)])
    link_steps(filled)
    with reading(filled) as conn:
        for shown in SHOWN:
            for order in ORDERS:
                job_lines(conn, shown=shown, order=order)
            for name, value in EVERY_FILTER.items():
                job_lines(conn, shown=shown, **{name: value})
            for pattern in ("any", *SUSPICIOUS_RATES):
                found = job_lines(conn, shown=shown, pattern=pattern)[0]
                assert {line.job_id for line in found} <= {"3"}
