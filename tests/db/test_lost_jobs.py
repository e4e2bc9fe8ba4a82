"""Running steps whose nodes are not heard of any more: ended, kept, and back as soon as something comes."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import event, select, text, update

from crosswind.db import BatchJob, load_profile, lost_jobs, queries, reading, schema
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.connection import writing
from crosswind.db.lost_jobs import LOST, mark_lost, note_heard
from support.profiles import FIRST_SLICE, SLICE_NS, make_writer

HOUR = 3600 * 10**9
START = FIRST_SLICE * SLICE_NS


def running(n=15, job_id="7", **changes):
    """A job that ran when it was last seen, n slices after its start."""
    profile = make_writer(job_id=job_id, n_slices=n, **changes)
    return replace(profile, processes=tuple(replace(p, state="running") for p in profile.processes))


def states(engine, key):
    with reading(engine) as conn:
        return queries.get_job(conn, key).state, {p.state for p in queries.get_processes(conn, key)}


def frames(engine, key):
    with reading(engine) as conn:
        return {name: frame.values for name, frame in queries.get_frames(conn, key).items()}


@pytest.fixture
def job(engine):
    """The key of a running job, and when it was last seen."""
    profile = running()
    return load_profile(engine, profile).job_key, profile.job.end_ns


def test_silence_ends_a_running_step_and_its_slices_stay(engine, job):
    key, seen_ns = job
    before = frames(engine, key)
    assert mark_lost(engine, HOUR, seen_ns + HOUR) == []
    assert states(engine, key) == ("running", {"running"})
    (lost,) = mark_lost(engine, HOUR, seen_ns + HOUR + 1)
    assert (lost.key, lost.job_id, lost.step, lost.end_ns) == (key, "7", "0", seen_ns)
    assert states(engine, key) == (LOST, {LOST})
    after = frames(engine, key)
    assert before.keys() == after.keys()
    assert all(np.array_equal(values, after[name]) for name, values in before.items())
    assert mark_lost(engine, HOUR, seen_ns + 2 * HOUR) == [], "once"


def test_one_that_a_collector_sees_run_is_silent_and_not_lost(engine, job):
    key, seen_ns = job
    step = ("7", "0", make_writer(job_id="7").job.uid)
    assert note_heard(engine, {step}, seen_ns, seen_ns + 10) == 0, "it was heard of just now"
    for hours in (1, 2, 3):
        now_ns = seen_ns + hours * HOUR
        assert note_heard(engine, {step, ("8", "0", 0)}, now_ns - HOUR // 4, now_ns) == 1
        assert mark_lost(engine, HOUR, now_ns + HOUR) == []
    assert note_heard(engine, {step}, seen_ns + 4 * HOUR, seen_ns + HOUR) == 1
    assert mark_lost(engine, HOUR, seen_ns + 4 * HOUR) == [], "what a slow clock says takes nothing back"
    assert note_heard(engine, {step}, now_ns + HOUR, now_ns + HOUR, cluster="red") == 0
    assert [lost.key for lost in mark_lost(engine, HOUR, seen_ns + 4 * HOUR + 1)] == [key]
    assert note_heard(engine, {step}, seen_ns + 9 * HOUR, seen_ns + 9 * HOUR) == 0, "only loading takes that back"


def test_a_step_with_long_slices_may_be_silent_for_some_of_them(engine):
    profile = running(slice_ns=24 * HOUR, first_slice=1000)
    load_profile(engine, profile)
    assert mark_lost(engine, HOUR, profile.job.end_ns + 50 * HOUR) == []
    assert len(mark_lost(engine, HOUR, profile.job.end_ns + 73 * HOUR)) == 1


def test_what_ended_is_left_alone(engine):
    profile = make_writer(job_id="8")
    key = load_profile(engine, profile).job_key
    assert mark_lost(engine, HOUR, profile.job.end_ns + 10 * HOUR) == []
    assert states(engine, key)[0] == "finished"


def test_processes_that_ended_keep_their_end(engine):
    profile = running(hosts=("n1", "n2"), n_ranks=2)
    profile = replace(profile, processes=(replace(profile.processes[0], state="clean"), *profile.processes[1:]))
    key = load_profile(engine, profile).job_key
    mark_lost(engine, HOUR, profile.job.end_ns + 2 * HOUR)
    assert states(engine, key) == (LOST, {"clean", LOST})


@pytest.mark.parametrize(
    ("state", "is_ended"), [("RUNNING", False), ("SUSPENDED", False), ("LOST", True), ("COMPLETED", True)]
)
def test_the_batch_system_knows_better_as_long_as_it_says_that_the_job_runs(engine, state, is_ended):
    profile = running()
    load_profile(engine, profile)
    store_batch_jobs(engine, [BatchJob("7", state, profile.job.uid, run=0, start_ns=START, hosts=("n1",))])
    assert link_steps(engine) == 1
    assert bool(mark_lost(engine, HOUR, profile.job.end_ns + 2 * HOUR)) == is_ended


def test_other_clusters_are_left_alone(engine):
    profile = running()
    load_profile(engine, profile, cluster="red")
    assert mark_lost(engine, HOUR, profile.job.end_ns + 2 * HOUR, cluster="blue") == []
    assert len(mark_lost(engine, HOUR, profile.job.end_ns + 2 * HOUR, cluster="red")) == 1


def test_one_that_is_heard_of_again_runs_again(engine, job):
    key, seen_ns = job
    mark_lost(engine, HOUR, seen_ns + 2 * HOUR)
    load_profile(engine, running(n=20))
    assert states(engine, key) == ("running", {"running"})
    mark_lost(engine, HOUR, seen_ns + 4 * HOUR)
    load_profile(engine, running(n=18))
    assert states(engine, key) == (LOST, {LOST}), "an older delivery brings nothing back"
    ended = make_writer(job_id="7", n_slices=20)
    load_profile(engine, ended)
    assert states(engine, key) == ("finished", {p.state for p in ended.processes})


def test_the_background_has_each_count_once_whatever_happened(engine, job):
    key, seen_ns = job
    mark_lost(engine, HOUR, seen_ns + 2 * HOUR)
    load_profile(engine, make_writer(job_id="7", n_slices=20))
    with reading(engine) as conn:
        resources = queries.resources_of_job(conn, key)
        metric = "posix_disk_write_bytes"
        background = queries.get_background(conn, resources, [metric], FIRST_SLICE, 20, SLICE_NS)
    own = frames(engine, key)[metric].sum(axis=0)
    found = [values for (name, _), values in background.items() if name.startswith("fs:disk")]
    assert len(found) == 1
    assert np.array_equal(found[0], own)


def test_one_that_is_seen_to_run_meanwhile_is_not_lost(postgresql, monkeypatch):
    profile = running()
    key = load_profile(postgresql, profile).job_key
    now_ns = profile.job.end_ns + 2 * HOUR
    looks = []

    def then_it_is_seen(conn, *args):
        found = silent(conn, *args)
        looks.append(len(found))
        if len(looks) == 2:
            assert note_heard(postgresql, {("7", "0", profile.job.uid)}, now_ns, now_ns) == 1
        return found

    silent = lost_jobs._silent
    monkeypatch.setattr(lost_jobs, "_silent", then_it_is_seen)
    assert mark_lost(postgresql, HOUR, now_ns) == []
    assert looks == [1, 1]
    assert states(postgresql, key)[0] == "running"


def test_one_whose_end_is_loaded_meanwhile_is_not_lost(postgresql, monkeypatch):
    """Between the look and the lock; on SQLite nobody can come in between."""
    profile = running()
    key = load_profile(postgresql, profile).job_key
    looks = []

    def then_it_ends(conn, *args):
        found = silent(conn, *args)
        looks.append(len(found))
        if len(looks) == 2:
            load_profile(postgresql, make_writer(job_id="7"))
        return found

    silent = lost_jobs._silent
    monkeypatch.setattr(lost_jobs, "_silent", then_it_ends)
    assert mark_lost(postgresql, HOUR, profile.job.end_ns + 2 * HOUR) == []
    assert looks == [1, 1]
    assert states(postgresql, key)[0] == "finished"


def test_what_is_seen_to_run_is_locked_in_the_order_of_keys(postgresql):
    """As what is lost is, wherever the rows lie: else two collectors could wait for each other in a circle."""

    def as_they_lie(connection, _record):
        connection.execute("SET enable_indexscan = off")
        connection.commit()

    postgresql.dispose()
    event.listen(postgresql, "connect", as_they_lie)
    profiles = [running(job_id=job_id) for job_id in ("7", "8")]
    first, second = (load_profile(postgresql, profile).job_key for profile in profiles)
    seen = {(profile.job.id, profile.job.step, profile.job.uid) for profile in profiles}
    now_ns = max(profile.job.end_ns for profile in profiles) + HOUR
    key = schema.job.c.key
    with writing(postgresql) as conn:  # now its row is the last one
        conn.execute(update(schema.job).where(key == first).values(end_ns=schema.job.c.end_ns - 1))
    waits = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~* 'job'")
    with ThreadPoolExecutor(1) as pool:
        with writing(postgresql) as conn:
            conn.execute(select(key).where(key == first).with_for_update())
            noting = pool.submit(note_heard, postgresql, seen, now_ns, now_ns)
            give_up = time.monotonic() + 20
            while not conn.execute(waits).scalar_one() and time.monotonic() < give_up:
                time.sleep(0.02)
            assert not noting.done()
            conn.execute(select(key).where(key == second).with_for_update(nowait=True))
        assert noting.result(timeout=20) == 2
