"""Loading: what goes in comes out, again changes nothing, parts and later versions add up, bad ones stay out."""

import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from crosswind.db import Evaluation, RefusedProfile, load_profile, queries, reading, resources, schema
from crosswind.profile.model import Clock, Column
from support.profiles import SLICE_NS, make_lammps, make_profile, make_writer, part_of

from .comparing import assert_same_profile


def stored(engine, key):
    with reading(engine) as conn:
        return queries.get_profile(conn, key)


def contents(engine):
    """Every row of every table, in an order that does not depend on how it came there."""
    with reading(engine) as conn:
        return {t.name: sorted(map(repr, conn.execute(select(t)))) for t in schema.metadata.sorted_tables}


def background(engine, profile, names):
    with reading(engine) as conn:
        return queries.get_background(conn, names, None, profile.first_slice, profile.n_slices, profile.slice_ns)


def rows_taken(profile, rows):
    """The part of a profile that one node would deliver: some of its processes, without segments."""
    return replace(part_of(profile, rows), segments=None)


def cut(profile, n_slices):
    """A profile as it was when it had run for n_slices: the version of a running job."""
    running = tuple(
        replace(p, state="running", end_ns=profile.job.start_ns + n_slices * profile.slice_ns)
        for p in profile.processes
    )
    slices = {n: v[:, :n_slices] for n, v in profile.slices.items()}
    return replace(
        profile,
        processes=running,
        n_slices=n_slices,
        slices=slices,
        covered_ns=profile.covered_ns[:, :n_slices],
        totals={n: v.sum(axis=1) for n, v in slices.items()},
        segments=None,
    )


def test_what_goes_in_comes_out(engine):
    for profile in (make_lammps(hosts=("a", "b")), make_writer(), make_profile(job_id="3", killed_rank=1, n_ranks=5)):
        assert_same_profile(stored(engine, load_profile(engine, profile).job_key), profile)


def test_all_zero_metrics_take_no_room(engine):
    profile = make_profile(rates={"cpu_time": 1e9}, functions={})
    empty = replace(profile, slices={**profile.slices, "rss": np.zeros_like(profile.covered_ns)})
    key = load_profile(engine, empty).job_key
    with reading(engine) as conn:
        assert conn.execute(select(func.count()).select_from(schema.frame)).scalar_one() == 1
        assert list(queries.get_frames(conn, key)) == ["cpu_time"]
    assert not stored(engine, key).metric("rss").any()
    with pytest.raises(KeyError):
        stored(engine, key).metric("no_such_metric")


def test_loading_again_changes_nothing(engine):
    profile = make_lammps()
    first = load_profile(engine, profile, evaluation=Evaluation({"interference_pct": 7.5}))
    before = contents(engine)
    again = load_profile(engine, profile, evaluation=Evaluation({"interference_pct": 7.5}))
    assert (first.loaded, again.loaded, again.job_key) == (True, False, first.job_key)
    assert load_profile(engine, profile).loaded is False, "no estimate given: the one that is there stays"
    assert contents(engine) == before


def test_estimate_can_come_later(engine):
    profile = make_lammps()
    load_profile(engine, profile)
    assert load_profile(engine, profile, evaluation=Evaluation({"interference_pct": 7.5, "class": "low"})).loaded
    with reading(engine) as conn:
        assert queries.list_jobs(conn)[0][0].estimate == {"interference_pct": 7.5, "class": "low"}


def test_longer_version_replaces_the_shorter_and_never_the_other_way(engine):
    whole = make_lammps()
    only = load_profile(engine, cut(whole, 5))
    assert only.slices == 5
    load_profile(engine, cut(whole, 10))
    final = load_profile(engine, whole)
    assert (final.loaded, final.job_key, final.slices) == (True, only.job_key, 15)
    before = contents(engine)
    assert load_profile(engine, cut(whole, 10)).loaded is False
    assert contents(engine) == before
    assert_same_profile(stored(engine, final.job_key), whole)
    got = background(engine, whole, ["fs:disk@node01"])
    np.testing.assert_array_equal(
        got["fs:disk@node01", "posix_disk_write_bytes"], whole.slices["posix_disk_write_bytes"].sum(axis=0)
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0, 1, 2)])
def test_parts_of_a_step_add_up_in_any_order(engine, order):
    """Three nodes deliver their own processes, each at its time, one of them twice."""
    whole = make_profile(hosts=("a", "b", "c"), n_ranks=6, jitter=0.1, functions={"write": (5, 6, 7, 8)})
    parts = [rows_taken(whole, rows) for rows in ((0, 1), (2, 3), (4, 5))]
    for part in order:
        key = load_profile(engine, parts[part]).job_key
    got = stored(engine, key)
    where = {(p.host, p.pid): i for i, p in enumerate(whole.processes)}
    rows = [where[p.host, p.pid] for p in got.processes]
    assert sorted(rows) == list(range(6))
    for name, values in whole.slices.items():
        np.testing.assert_array_equal(got.metric(name), values[rows], err_msg=name)
    np.testing.assert_array_equal(got.covered_ns, whole.covered_ns[rows])
    np.testing.assert_array_equal(got.functions["write"], whole.functions["write"][rows])
    np.testing.assert_array_equal(got.totals["rss"], whole.totals["rss"][rows])
    for host in "abc":
        np.testing.assert_array_equal(
            background(engine, whole, [f"cpu@{host}"])[f"cpu@{host}", "cpu_time"],
            resources.share_of(f"cpu@{host}", whole.slices["cpu_time"], [p.host for p in whole.processes]),
        )


def test_second_program_of_a_step_lengthens_it(engine):
    """Two mpiruns one after the other in one step, loaded when each had ended: the second does not hide the first."""
    first = make_profile(n_slices=4)
    second = make_profile(n_slices=6, first_slice=first.first_slice + 10, command="post", seed=3)
    load_profile(engine, first)
    key = load_profile(engine, second).job_key
    got = stored(engine, key)
    assert (got.first_slice, got.n_slices, len(got.processes)) == (first.first_slice, 16, 4)
    assert (got.job.start_ns, got.job.end_ns) == (first.job.start_ns, second.job.end_ns)
    np.testing.assert_array_equal(got.metric("cpu_time")[:2, :4], first.slices["cpu_time"])
    np.testing.assert_array_equal(got.metric("cpu_time")[2:, 10:], second.slices["cpu_time"])
    assert not got.metric("cpu_time")[2:, :10].any()


def test_steps_users_and_clusters_are_kept_apart(engine):
    keys = {
        load_profile(engine, make_profile(**who), cluster=cluster).job_key
        for who in ({}, {"step": "1"}, {"uid": 1001, "user": "bob"}, {"job_id": "1001_2"})
        for cluster in ("", "east")
    }
    assert len(keys) == 8


def test_taking_back_uses_what_was_added(engine, monkeypatch):
    """A row that the table of resources gains later is not taken back from where it never was."""
    whole = make_lammps()
    with monkeypatch.context() as patch:
        patch.setitem(resources.FEEDS, "cpu", ("run_delay",))
        load_profile(engine, cut(whole, 5))
    load_profile(engine, whole)
    np.testing.assert_array_equal(
        background(engine, whole, ["cpu@node01"])["cpu@node01", "cpu_time"], whole.slices["cpu_time"].sum(axis=0)
    )


def test_same_slices_of_other_length_are_refused(engine):
    load_profile(engine, make_profile())
    other = make_profile(slice_ns=SLICE_NS // 2, first_slice=880_000_100, seed=9)
    with pytest.raises(RefusedProfile, match=r"job 1001\.0: is loaded with slices of 4 s, this part has 2 s"):
        load_profile(engine, other)


def hostile(change):
    return change(make_profile())


def without_slices(profile, slice_ns):
    """Slices that are none may have any length: who looks for the longest finds it."""
    none = np.zeros((len(profile.processes), 0), dtype=np.int64)
    return replace(profile, slices={}, totals={}, covered_ns=none, first_slice=0, n_slices=0, slice_ns=slice_ns)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: replace(p, processes=()), "no process"),
        (lambda p: replace(p, job=replace(p.job, user="a\0b")), "no characters"),
        (lambda p: replace(p, job=replace(p.job, command="\udcff")), "no characters"),
        (lambda p: replace(p, job=replace(p.job, id="x" * 5000)), "longer than"),
        (lambda p: replace(p, job=replace(p.job, uid=1 << 70)), "negative or too large"),
        (lambda p: replace(p, n_slices=1 << 23), "slices of 4 s; at most"),
        (lambda p: replace(p, slice_ns=60 * 86400 * 10**9), "60 days"),
        (lambda p: replace(p, first_slice=time.time_ns() // SLICE_NS + 100_000), "future"),
        (lambda p: replace(p, job=replace(p.job, end_ns=1 << 61)), "day in the future"),
        (
            lambda p: replace(p, processes=(replace(p.processes[0], start_ns=1 << 61), *p.processes[1:])),
            "in the future",
        ),
        (lambda p: replace(p, processes=(replace(p.processes[0], start_ns=0), *p.processes[1:])), "lasts more than"),
        (lambda p: replace(p, job=replace(p.job, start_ns=0)), "lasts more than the 60 days"),
        (lambda p: replace(p, first_slice=-1), "no possible"),
        (lambda p: without_slices(p, slice_ns=1 << 62), "no possible"),
        (lambda p: replace(p, segments=replace(make_lammps().segments, places=("a\0b",))), "no characters"),
        (lambda p: replace(p, slices={**p.slices, "rss": p.slices["rss"][:, 1:]}), "rss is an array of int64"),
        (lambda p: replace(p, slices={**p.slices, "rss": p.slices["rss"] - (1 << 40)}), "rss is negative"),
        (lambda p: replace(p, slices={**p.slices, "x": p.slices["rss"]}), "does not describe"),
        (lambda p: replace(p, columns=(*p.columns, Column(9, "rss", "B", "gauge"))), "twice"),
        (lambda p: replace(p, clock=Clock(max_error_us=float("nan"))), "no numbers"),
    ],
)
def test_hostile_profiles_are_refused_in_one_line(engine, change, words):
    before = contents(engine)
    with pytest.raises(RefusedProfile, match=words) as caught:
        load_profile(engine, hostile(change))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert contents(engine) == before


def test_names_are_data_and_not_sql(engine):
    name = "x'; DROP TABLE job; --\u202e<script>"
    key = load_profile(engine, make_profile(job_id=name, user=name, command=name, hosts=(name,))).job_key
    with reading(engine) as conn:
        assert queries.get_job(conn, key).user == name
        assert queries.resources_of_job(conn, key) == sorted(
            [f"{k}@{name}" for k in ("cpu", "fs:disk", "mem")] + ["net"]
        )
        assert queries.list_jobs(conn, command="%")[1] == 0


def test_concurrent_loaders_of_the_same_and_of_other_steps(engine):
    """Eight threads load the same twelve versions in different orders: the result is that of one loader."""
    whole = [make_profile(job_id=str(i), jitter=0.2, seed=i, first_slice=440_000_000 + 7 * i) for i in range(4)]
    versions = [cut(p, n) for p in whole for n in (5, 11)] + whole
    orders = [np.random.default_rng(i).permutation(len(versions)) for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda order: [load_profile(engine, versions[i]) for i in order], orders))
    with reading(engine) as conn:
        assert queries.list_jobs(conn)[1] == 4
        total = queries.get_background(conn, ["cpu@node01"], ["cpu_time"], 440_000_000, 60, SLICE_NS)
    expected = np.zeros(60, dtype=np.int64)
    for i, p in enumerate(whole):
        expected[7 * i : 7 * i + 15] += p.slices["cpu_time"].sum(axis=0)
    np.testing.assert_array_equal(total["cpu@node01", "cpu_time"], expected)


LOADER = """
import sys
sys.path.insert(0, sys.argv[2])
from support.profiles import make_profile
from crosswind.db import load_profile, open_database
engine = open_database(sys.argv[1])
print("ready", flush=True)
for i in range(1000):
    load_profile(engine, make_profile(job_id=str(i % 40), n_ranks=8, n_slices=20 + i // 40, jitter=0.3, seed=i % 40))
"""


def test_killed_loaders_leave_whole_jobs_only(url, engine):
    """kill -9 at ten moments: every job that is there is there with its background, and a rerun goes on."""
    for delay in np.linspace(0.01, 0.4, 10):
        command = [sys.executable, "-c", LOADER, url, str(Path(__file__).parents[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(delay)
            child.kill()
        check_background_is_the_sum_of_the_jobs(engine)
    with reading(engine) as conn:
        assert queries.list_jobs(conn)[1] > 0
    last = make_profile(job_id="0", n_ranks=8, n_slices=90, jitter=0.3, seed=0)
    assert load_profile(engine, last).loaded
    check_background_is_the_sum_of_the_jobs(engine)


def check_background_is_the_sum_of_the_jobs(engine):
    expected = np.zeros(100, dtype=np.int64)
    with reading(engine) as conn:
        for row in queries.list_jobs(conn, limit=1000)[0]:
            frame = queries.get_frames(conn, row.key, ["cpu_time"])["cpu_time"]
            assert frame.values.shape == (row.n_processes, row.n_slices) == queries.get_covered(conn, row.key).shape
            expected[: row.n_slices] += frame.values.sum(axis=0)
        total = queries.get_background(conn, ["cpu@node01"], ["cpu_time"], 440_000_000, 100, SLICE_NS)
    np.testing.assert_array_equal(total["cpu@node01", "cpu_time"], expected)


def test_parts_that_lie_decades_apart_are_refused_before_there_are_arrays_of_them(engine):
    """As when the clock of a node began in 1970."""
    load_profile(engine, make_profile(first_slice=1000))
    tracemalloc.start()
    try:
        with pytest.raises(RefusedProfile, match=r"job 1001\.0: it spans 439999"):
            load_profile(engine, make_profile(seed=4))
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_what_is_said_of_a_file_with_every_look_does_not_pile_up(engine):
    """Of two nodes one has ended; the file of the other has more that is wrong each time."""
    whole = make_profile(n_ranks=2, hosts=("n1", "n2"), n_slices=9)
    load_profile(engine, replace(part_of(whole, [0]), dropped_files=(("a", "is a copy"),)))
    for n in range(3, 9):
        part = replace(cut(part_of(whole, [1]), n), dropped_files=(("b", f"{n} records dropped"),))
        key = load_profile(engine, part).job_key
    assert stored(engine, key).dropped_files == (("a", "is a copy"), ("b", "8 records dropped"))
