"""Old detail goes, all else stays; collectors load meanwhile; PostgreSQL drops partitions."""

import threading

import numpy as np
import pytest
from sqlalchemy import func, select, text, update

from crosswind.db import DatabaseError, load_profile, queries, reading, retention, schema
from crosswind.db.connection import writing
from crosswind.db.details import get_totals
from crosswind.db.partitions import WIDTHS_NS, Partition, list_partitions, make_partitions, partition_of
from crosswind.db.retention import PruneStep, detail_before, prune_detail
from crosswind.db.summaries import LEAST_PROCESSES
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile

WEEK_SLICES = WIDTHS_NS["frame"] // SLICE_NS
RANKS = LEAST_PROCESSES  # that have a summary too
BEGIN = partition_of("frame", FIRST_SLICE * SLICE_NS).begin_ns // SLICE_NS  # the first slice of a week


def load_weeks(engine, weeks):
    """One job a week; their keys."""
    jobs = [
        make_lammps(job_id=str(w), first_slice=BEGIN + w * WEEK_SLICES + 5, n_segments=20, n_ranks=RANKS) for w in weeks
    ]
    return [load_profile(engine, job).job_key for job in jobs]


def begin_of_week(week):
    return (BEGIN + week * WEEK_SLICES) * SLICE_NS


def detail_rows(engine):
    with reading(engine) as conn:
        return {
            table.name: set(conn.execute(select(table.c.job_key).distinct()).scalars())
            for table in (schema.frame, schema.coverage, schema.summary, schema.segments)
        }


def background(engine, week):
    with reading(engine) as conn:
        return queries.get_background(conn, ["net", "fs:disk@node01"], None, BEGIN + week * WEEK_SLICES, 100, SLICE_NS)


def sums_of_job(conn, key):
    """What lists of jobs filter and sort by."""
    return conn.execute(select(schema.job_sums).where(schema.job_sums.c.job_key == key)).one()._asdict()


def test_old_detail_goes_and_all_else_stays(engine):
    old, new = load_weeks(engine, [0, 2])
    before = background(engine, 0)
    with reading(engine) as conn:
        foreseen = detail_before(conn, begin_of_week(2))
        totals, sums = get_totals(conn, old), sums_of_job(conn, old)
    steps = list(prune_detail(engine, begin_of_week(2)))
    assert (sum(s.jobs for s in steps), sum(s.n_bytes for s in steps)) == (foreseen.jobs, foreseen.n_bytes)
    assert (foreseen.jobs, foreseen.n_bytes > 1000) == (1, True)
    assert sum(s.partitions for s in steps) == foreseen.partitions
    assert detail_rows(engine) == {"frame": {new}, "coverage": {new}, "summary": {new}, "segments": {new}}
    with reading(engine) as conn:
        job = queries.get_job(conn, old)
        assert (job.job_id, job.detail, queries.get_job(conn, new).detail) == ("0", False, True)
        assert get_totals(conn, old).keys() == totals.keys()
        assert sums["fs_bytes"] > 0
        assert sums_of_job(conn, old) == sums
        assert len(queries.get_processes(conn, old)) == RANKS
        assert queries.get_frames(conn, old) == {}
        assert queries.get_covered(conn, old) is None
        with pytest.raises(DatabaseError, match="slices of job 0 were pruned: restore"):
            queries.get_profile(conn, old)
    for key, values in background(engine, 0).items():
        np.testing.assert_array_equal(values, before[key])
    assert list(prune_detail(engine, begin_of_week(2))) == []


def test_what_comes_late_of_a_pruned_job_changes_nothing(engine):
    load_weeks(engine, [0])
    list(prune_detail(engine, begin_of_week(1)))
    before = background(engine, 0)
    late = make_lammps(job_id="0", first_slice=BEGIN + 5, n_slices=20, n_segments=20)
    assert load_profile(engine, late).loaded is False
    for key, values in background(engine, 0).items():
        np.testing.assert_array_equal(values, before[key])


def test_a_transaction_is_bounded(engine, monkeypatch):
    """By jobs and by bytes; one job goes by itself however large it is."""
    load_weeks(engine, range(5))
    monkeypatch.setattr(retention, "_MOST_JOBS", 2)
    assert [s.jobs for s in prune_detail(engine, begin_of_week(3)) if s.jobs] == [2, 1]
    monkeypatch.setattr(retention, "_MOST_BYTES", 10)
    assert [s.jobs for s in prune_detail(engine, begin_of_week(5)) if s.jobs] == [1, 1]


def test_interrupted_it_leaves_whole_jobs_and_goes_on(engine, monkeypatch):
    load_weeks(engine, range(4))
    monkeypatch.setattr(retention, "_MOST_JOBS", 1)
    steps = prune_detail(engine, begin_of_week(4))
    next(steps)
    steps.close()
    with reading(engine) as conn:
        jobs = {job.key: job.detail for job in queries.list_jobs(conn)[0]}
        assert sorted(jobs.values()) == [False, True, True, True]
        assert all(queries.get_profile(conn, key).slices for key, detail in jobs.items() if detail)
    assert sum(s.jobs for s in prune_detail(engine, begin_of_week(4))) == 3


def test_collectors_load_meanwhile(engine, monkeypatch):
    """Old and new jobs are loaded while everything old goes again and again: the background stays their exact sum."""
    monkeypatch.setattr(retention, "_MOST_JOBS", 1)
    jobs = [
        make_profile(job_id=str(i), first_slice=BEGIN + (i % 4) * WEEK_SLICES, n_slices=20, jitter=0.3, seed=i)
        for i in range(24)
    ]
    failures = []

    def load():
        for job in jobs:
            for _ in range(200):  # a partition that is dropped at this moment: as the collector does, once more
                try:
                    load_profile(engine, job)
                    break
                except DatabaseError as error:
                    failures.append(str(error))

    loader = threading.Thread(target=load)
    loader.start()
    while loader.is_alive():
        list(prune_detail(engine, begin_of_week(2)))
        loader.join(0.02)
    list(prune_detail(engine, begin_of_week(2)))
    assert all("partition" in failure for failure in failures), failures
    with reading(engine) as conn:
        assert queries.list_jobs(conn)[1] == 24
        kept = {job.job_id for job in queries.list_jobs(conn, limit=100)[0] if job.detail}
    assert kept == {str(i) for i in range(24) if i % 4 >= 2}
    for week in range(4):
        total = background(engine, week)["net", "mpi_p2p_calls"][:20]
        expected = np.sum([job.slices["mpi_p2p_calls"].sum(axis=0) for job in jobs[week::4]], axis=0)
        np.testing.assert_array_equal(total, expected)


def test_partitions_are_dropped_when_nobody_needs_them(postgresql):
    engine = postgresql
    load_weeks(engine, [0, 1])
    long_job = make_profile(job_id="long", first_slice=BEGIN + WEEK_SLICES - 100, n_slices=300)
    load_profile(engine, long_job)  # begins in week 0, ends in week 1
    assert list(prune_detail(engine, begin_of_week(1)))[-1] == PruneStep(1, pytest.approx(1, abs=1e9), 0)
    assert len(partitions(engine)) == 2, "the long job keeps the first"
    steps = list(prune_detail(engine, begin_of_week(2)))
    assert [s.partitions for s in steps if s.partitions] == [1, 1]
    assert partitions(engine) == []
    assert load_profile(engine, make_lammps(job_id="new", first_slice=BEGIN + 7)).loaded, "made anew"
    assert partitions(engine) == [partition_of("frame", begin_of_week(0))]


def test_a_job_that_comes_in_last_keeps_its_partition(postgresql, monkeypatch):
    load_weeks(postgresql, [0])
    dropping = retention._drop
    late = []

    def load_and_drop(engine, partition):
        late.append(load_profile(engine, make_lammps(job_id="late", first_slice=BEGIN + 7)).job_key)
        return dropping(engine, partition)

    monkeypatch.setattr(retention, "_drop", load_and_drop)
    assert [s.partitions for s in prune_detail(postgresql, begin_of_week(1))] == [0]
    with reading(postgresql) as conn:
        assert queries.get_profile(conn, late[0]).slices


def test_absurd_times_make_no_tables(postgresql):
    make_partitions(postgresql, "frame", {0, 1, 10**17, 10**18})
    make_partitions(postgresql, "frame", {5})
    assert [p.name for p in partitions(postgresql)] == ["frame_past"]
    assert list(prune_detail(postgresql, begin_of_week(9))) == [], "what has no begin is never dropped"


@pytest.mark.parametrize("table", WIDTHS_NS)
def test_partitions_cover_time_without_gaps(table):
    last = partition_of(table, 0)
    for _ in range(60):
        following = partition_of(table, last.end_ns)
        assert following.begin_ns == last.end_ns == partition_of(table, following.end_ns - 1).begin_ns
        last = following
    assert partition_of(table, last.end_ns - 1) == last == Partition(table, last.begin_ns, last.end_ns)


def test_frames_of_a_job_are_read_from_one_partition(postgresql):
    keys = load_weeks(postgresql, range(6))
    with reading(postgresql) as conn:
        conn.execute(text("SET LOCAL enable_seqscan = off"))
        plan = explain(conn, select(schema.frame.c.data).where(
            schema.frame.c.job_key == keys[2], schema.frame.c.start_ns == begin_of_week(2) + 5 * SLICE_NS
        ))  # fmt: skip
    assert plan.count("frame_2") == plan.count("frame_2025") >= 1
    assert "Append" not in plan


def explain(conn, query):
    sql = query.compile(conn, compile_kwargs={"literal_binds": True})
    return "\n".join(conn.execute(text(f"EXPLAIN {sql}")).scalars())


def partitions(engine):
    with reading(engine) as conn:
        return list_partitions(conn, "frame")


def test_the_count_of_jobs_is_right_where_none_is_old(engine):
    load_weeks(engine, [0])
    with writing(engine) as conn:
        assert detail_before(conn, begin_of_week(0)) == PruneStep(0, 0)
        assert conn.execute(select(func.count()).select_from(schema.job).where(schema.job.c.detail)).scalar_one() == 1


def test_a_job_that_grows_before_it_is_locked_keeps_its_detail(postgresql, monkeypatch):
    load_weeks(postgresql, [0])
    still_old = retention._still_old

    def grown(conn, candidates, before_ns):
        with writing(postgresql) as other:
            other.execute(update(schema.job).values(end_ns=begin_of_week(9)))
        return still_old(conn, candidates, before_ns)

    monkeypatch.setattr(retention, "_still_old", grown)
    assert sum(step.jobs for step in prune_detail(postgresql, begin_of_week(1))) == 0
    with reading(postgresql) as conn:
        assert all(job.detail for job in queries.list_jobs(conn)[0])
