"""When a job lost time: stored with it when it is loaded, kept when it grows, refused when it is damaged."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import func, select, update

from crosswind.db import DatabaseError, Evaluation, load_profile, queries, reading, schema
from crosswind.db.connection import writing
from crosswind.db.details import get_lost_time, has_segments
from crosswind.db.evaluation import MAX_STRETCHES, LostTime, Stretches
from crosswind.db.store import store_evaluation
from support.profiles import FIRST_SLICE, make_lammps, make_writer


def lost_time(per_slice, n_stretches=2, first_slice=FIRST_SLICE) -> LostTime:
    """Stretch i lasts from second i to i + 0.5 and loses i ms."""
    number = np.arange(n_stretches, dtype=np.int64)
    stretches = Stretches(number * 10**9, number * 10**9 + 5 * 10**8, number * 10**6, number + 1, number)
    return LostTime(first_slice, np.asarray(per_slice, dtype=np.int64), stretches, n_stretches)


def evaluation(per_slice, **options) -> Evaluation:
    return Evaluation({"interference_pct": 5.0}, lost_time(per_slice, **options))


def stored(engine, key):
    with reading(engine) as conn:
        return get_lost_time(conn, key)


def test_what_was_found_comes_back(engine):
    key = load_profile(engine, make_lammps(), evaluation=evaluation([0, 7, 2**40])).job_key
    found = stored(engine, key)
    assert (found.first_slice, found.n_stretches) == (FIRST_SLICE, 2)
    assert found.per_slice_ns.tolist() == [0, 7, 2**40]
    assert found.stretches.begin_ns.tolist() == [0, 10**9]
    assert found.stretches.end_ns.tolist() == [5 * 10**8, 15 * 10**8]
    assert found.stretches.lost_ns.tolist() == [0, 10**6]
    assert (found.stretches.segments.tolist(), found.stretches.hit.tolist()) == ([1, 2], [0, 1])


def test_of_very_many_stretches_those_that_lost_most_are_kept_in_order(engine):
    key = load_profile(engine, make_lammps(), evaluation=evaluation([0], n_stretches=MAX_STRETCHES + 5)).job_key
    found = stored(engine, key)
    assert (found.n_stretches, found.stretches.n) == (MAX_STRETCHES + 5, MAX_STRETCHES)
    assert found.stretches.lost_ns.tolist() == [10**6 * i for i in range(5, MAX_STRETCHES + 5)]


def test_the_same_again_changes_nothing_and_another_replaces_it(engine):
    profile = make_lammps()
    assert load_profile(engine, profile, evaluation=evaluation([1, 2])).loaded
    assert not load_profile(engine, profile, evaluation=evaluation([1, 2])).loaded
    assert not load_profile(engine, profile).loaded
    again = load_profile(engine, profile, evaluation=evaluation([1, 3]))
    assert again.loaded
    assert stored(engine, again.job_key).per_slice_ns.tolist() == [1, 3]


def test_it_stays_with_the_segments_that_stay(engine):
    """A part of the job that comes later has no segments: what was found of those that are there is still true."""
    whole = make_lammps()
    late = replace(make_writer(job_id=whole.job.id, user=whole.job.user, uid=whole.job.uid), segments=None)
    late = replace(late, job=replace(late.job, step=whole.job.step))
    key = load_profile(engine, whole, evaluation=evaluation([1, 2])).job_key
    assert load_profile(engine, late).loaded
    assert stored(engine, key).per_slice_ns.tolist() == [1, 2]
    with reading(engine) as conn:
        job = queries.get_job(conn, key)
    assert (job.estimate, job.n_processes) == ({"interference_pct": 5.0}, 3)


@pytest.mark.parametrize(
    ("first", "n", "expected"),
    [(0, 4, [1, 2, 3, 0]), (-2, 4, [0, 0, 1, 2]), (1, 2, [2, 3]), (10, 2, [0, 0]), (-9, 2, [0, 0])],
)
def test_it_is_laid_on_the_slices_of_a_job_that_grew(first, n, expected):
    assert lost_time([1, 2, 3]).in_slices(FIRST_SLICE + first, n).tolist() == expected


def test_it_goes_with_its_job_and_with_its_estimate(engine):
    key = load_profile(engine, make_lammps(), evaluation=evaluation([1])).job_key
    with reading(engine) as conn:
        digest = queries.get_digest(conn, key)
    assert store_evaluation(engine, key, None, digest)
    assert stored(engine, key) is None
    assert not store_evaluation(engine, key, evaluation([1]), "of another content")
    assert stored(engine, key) is None
    assert store_evaluation(engine, key, evaluation([1]), digest)
    with writing(engine) as conn:
        conn.execute(schema.job.delete().where(schema.job.c.key == key))
        assert conn.execute(select(func.count()).select_from(schema.lost_time)).scalar_one() == 0


def test_jobs_without_segments_are_told_apart(engine):
    keys = [load_profile(engine, profile).job_key for profile in (make_lammps(), make_writer())]
    with reading(engine) as conn:
        assert [has_segments(conn, key) for key in keys] == [True, False]
        assert [get_lost_time(conn, key) for key in keys] == [None, None]


@pytest.mark.parametrize(
    "damage",
    [{"per_slice": b""}, {"per_slice": b"\1rubbish"}, {"stretches": b"\2"}, {"n_slices": 2**31 - 1}, {"n_slices": -1},
     {"n_stored": MAX_STRETCHES + 1}, {"n_stored": 1}],
    ids=str,
)  # fmt: skip
def test_damage_is_a_clear_error(engine, damage):
    key = load_profile(engine, make_lammps(), evaluation=evaluation([1, 2, 3])).job_key
    with writing(engine) as conn:
        conn.execute(update(schema.lost_time).values(**damage))
    with pytest.raises(DatabaseError, match="damaged"):
        stored(engine, key)
