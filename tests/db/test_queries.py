"""Questions that pages and verbs ask, on a few jobs whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from crosswind.db import Evaluation, load_profile, queries, reading
from support.profiles import SLICE_NS, make_lammps, make_profile, make_writer

from .comparing import assert_same_segments


@pytest.fixture
def conn(engine):
    first = 440_000_000
    for i, (user, command, pct) in enumerate(
        [("a", "lmp", 5.0), ("b", "Lmp_mpi", None), ("a", "100%", 50.0), ("c", "x_y", 0.0)]
    ):
        profile = make_profile(
            job_id=str(i), user=user, command=command, n_slices=10 + i, first_slice=first + 100 * i, n_ranks=4 - i
        )
        evaluation = None if pct is None else Evaluation({"interference_pct": pct})
        load_profile(engine, profile, evaluation=evaluation)
    with reading(engine) as connection:
        yield connection


def ids(result):
    return [job.job_id for job in result]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("-start", "3210"),
        ("start", "0123"),
        ("-end", "3210"),
        ("-duration", "3210"),
        ("duration", "0123"),
        ("ranks", "3210"),
        ("-ranks", "0123"),
        ("id", "0123"),
        ("-interference", "2031"),
        ("interference", "3021"),
        ("user", "0213"),
    ],
)
def test_orders(conn, order, expected):
    jobs, total = queries.list_jobs(conn, order=order)
    assert ("".join(ids(jobs)), total) == (expected, 4)


def test_unknown_order_names_the_known(conn):
    with pytest.raises(ValueError, match="choose one of start, end, duration"):
        queries.list_jobs(conn, order="-start; DROP TABLE job")


def test_filters_and_pages(conn):
    assert ids(queries.list_jobs(conn, user="a")[0]) == ["2", "0"]
    assert ids(queries.list_jobs(conn, command="LMP")[0]) == ["1", "0"]
    assert ids(queries.list_jobs(conn, command="%")[0]) == ["2"], "a percent sign is itself"
    assert ids(queries.list_jobs(conn, command="_")[0]) == ["3", "1"], "and so is an underscore"
    assert queries.list_jobs(conn, user="nobody") == ([], 0)
    page, total = queries.list_jobs(conn, limit=2, offset=1)
    assert (ids(page), total) == (["2", "1"], 4)


def test_a_row_says_what_the_profile_says(engine):
    profile = make_lammps(hosts=("n1", "n2"), killed_rank=1)
    profile = replace(profile, lost={"slices": 3})
    key = load_profile(engine, profile, evaluation=Evaluation({"class": "low"})).job_key
    with reading(engine) as conn:
        row = queries.get_job(conn, key)
        assert queries.get_job(conn, key + 1) is None
    assert (row.key, row.job_id, row.step, row.user, row.uid) == (key, "1001", "0", "alice", 1000)
    assert (row.hosts, row.ranks, row.n_processes, row.state) == (("n1", "n2"), 2, 2, "killed")
    assert (row.start_ns, row.end_ns) == (profile.job.start_ns, profile.job.end_ns)
    assert (row.slice_ns, row.first_slice, row.n_slices) == (SLICE_NS, 440_000_000, 15)
    assert (row.command, row.mpi, row.lost, row.estimate) == ("lmp", "openmpi", {"slices": 3}, {"class": "low"})


@pytest.mark.parametrize(
    ("states", "expected"),
    [(("clean", "clean"), "finished"), (("clean", "running"), "running"), (("killed", "exited"), "killed")],
)
def test_state_of_a_job(engine, states, expected):
    profile = make_profile()
    processes = tuple(replace(p, state=s) for p, s in zip(profile.processes, states, strict=True))
    key = load_profile(engine, replace(profile, processes=processes)).job_key
    with reading(engine) as conn:
        assert queries.get_job(conn, key).state == expected
        assert [p.state for p in queries.get_processes(conn, key)] == list(states)


def test_everything_under_a_job(engine):
    profile = make_lammps(hosts=("n1", "n2"))
    key = load_profile(engine, profile).job_key
    with reading(engine) as conn:
        assert tuple(queries.get_processes(conn, key)) == profile.processes
        frames = queries.get_frames(conn, key, ["cpu_time", "rss", "no_such"])
        assert frames.keys() == {"cpu_time", "rss"}
        assert (frames["rss"].unit, frames["rss"].first_slice, frames["rss"].slice_ns) == ("B", 440_000_000, SLICE_NS)
        np.testing.assert_array_equal(frames["cpu_time"].values, profile.slices["cpu_time"])
        assert queries.get_frames(conn, key).keys() == profile.slices.keys()
        np.testing.assert_array_equal(queries.get_covered(conn, key), profile.covered_ns)
        assert_same_segments(queries.get_segments(conn, key), profile.segments)
        functions = queries.get_functions(conn, key)
        assert functions.keys() == profile.functions.keys()
        np.testing.assert_array_equal(functions["MPI_Send"], profile.functions["MPI_Send"])
        assert queries.resources_of_job(conn, key) == [
            "cpu@n1", "cpu@n2", "fs:disk@n1", "fs:disk@n2", "mem@n1", "mem@n2", "net",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "n", "begin", "end"), [(0, 4, 0, 4), (3, None, 3, 15), (9, 99, 9, 15), (20, 1, 15, 15)]
)
def test_a_range_of_slices(engine, first, n, begin, end):
    profile = make_lammps()
    key = load_profile(engine, profile).job_key
    with reading(engine) as conn:
        frame = queries.get_frames(conn, key, ["cpu_time"], first, n)["cpu_time"]
        assert frame.first_slice == profile.first_slice + begin
        np.testing.assert_array_equal(frame.values, profile.slices["cpu_time"][:, begin:end])
        np.testing.assert_array_equal(queries.get_covered(conn, key, first, n), profile.covered_ns[:, begin:end])


def test_nothing_under_a_job_that_is_not_there(conn):
    assert queries.get_frames(conn, 99) == {}
    assert queries.get_functions(conn, 99) == {}
    assert queries.get_processes(conn, 99) == queries.resources_of_job(conn, 99) == []
    assert queries.get_covered(conn, 99) is queries.get_segments(conn, 99) is queries.get_profile(conn, 99) is None


def test_who_ran_then_and_there(engine):
    lammps, writer = make_lammps(), make_writer(first_slice=440_000_010)
    load_profile(engine, lammps)
    load_profile(engine, writer)
    end = lammps.job.end_ns
    with reading(engine) as conn:
        assert ids(queries.jobs_overlapping(conn, 0, end)) == ["1001", "1002"]
        assert ids(queries.jobs_overlapping(conn, end, end + 1)) == ["1002"], "the end does not belong to a job"
        assert ids(queries.jobs_overlapping(conn, 0, end, "net")) == ["1001"]
        assert ids(queries.jobs_overlapping(conn, 0, end, "fs:disk@node01")) == ["1001", "1002"]
        assert queries.jobs_overlapping(conn, 0, end, "fs:net") == []
        assert ids(queries.find_jobs(conn, "1002")) == ["1002"]
        assert queries.find_jobs(conn, "1002", step="7") == []
