"""The jobs that a site screens: sums over steps with known numbers, runs without a profile, parts of one job."""

from dataclasses import replace

import numpy as np
import pytest

from crosswind.db import BatchJob, load_profile, reading
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.screening import jobs_since
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_writer

START = FIRST_SLICE * SLICE_NS
MINUTE = 15 * SLICE_NS


def screen(engine, since=0, **options):
    with reading(engine) as conn:
        return jobs_since(conn, since, **options)


def said(job_id, **changes):
    """What the batch system said of a job of two nodes with 8 cores each."""
    known = {
        "run": 0, "user": "bob", "name": "write", "start_ns": START, "end_ns": START + MINUTE, "hosts": ("n1", "n2"),
        "cpus": 16,
    }  # fmt: skip
    return BatchJob(job_id, "COMPLETED", 1001, **known | changes)


def test_sums_over_the_steps_of_a_job(engine):
    profiles = [make_writer(job_id="7", step="0"), make_writer(job_id="7", step="1")]
    keys = [load_profile(engine, profile).job_key for profile in profiles]
    store_batch_jobs(engine, [said("7")])
    link_steps(engine)
    (job,) = screen(engine)
    assert (job.job_id, job.user, job.name, job.state, job.cpus, job.hosts) == ("7", "bob", "write", "COMPLETED", 16, 2)
    assert sorted(job.steps) == sorted(keys)
    total = {name: sum(int(p.totals[name].sum()) for p in profiles) for name in profiles[0].totals}
    assert job.cpu_ns == total["cpu_time"] > 0
    assert job.bytes_moved == total["posix_disk_write_bytes"] > 0
    assert job.requests == total["posix_disk_write_calls"] > 0
    assert job.metadata_calls == total["posix_disk_meta_calls"] > 0
    assert job.opens == sum(int(p.functions["open"][:, 0].sum()) for p in profiles) > 0


def test_a_job_without_profile_and_a_profile_without_batch_system(engine):
    store_batch_jobs(engine, [said("8")])
    load_profile(engine, make_lammps(job_id="9"))
    without, alone = sorted(screen(engine), key=lambda job: job.job_id)
    assert (without.job_id, without.steps, without.cpu_ns) == ("8", [], 0)
    assert (alone.job_id, alone.cpus, alone.state, len(alone.steps)) == ("9", None, "finished", 1)


def test_parts_of_a_heterogeneous_job_are_one(engine):
    store_batch_jobs(engine, [said("10", het_job_id="10"), said("11", het_job_id="10", cpus=4, hosts=("n3",))])
    (job,) = screen(engine)
    assert (job.job_id, job.cpus, job.hosts) == ("10", 20, 3)


def test_runs_are_apart(engine):
    store_batch_jobs(engine, [said("7"), said("7", run=1, start_ns=START + MINUTE, end_ns=START + 2 * MINUTE)])
    load_profile(engine, make_writer(job_id="7", step="0"))
    load_profile(engine, make_writer(job_id="7", step="0-r1", first_slice=FIRST_SLICE + 15))
    link_steps(engine)
    assert [(job.run, len(job.steps)) for job in screen(engine)] == [(0, 1), (1, 1)]


@pytest.mark.parametrize(("since", "expected"), [(0, {"1", "2"}), (START, {"1", "2"}), (START + 1, {"2"})])
def test_since_and_user(engine, since, expected):
    store_batch_jobs(engine, [said("1"), said("2", start_ns=START + 5, user="eve")])
    assert {job.job_id for job in screen(engine, since)} == expected
    assert {job.job_id for job in screen(engine, since, user="eve")} == {"2"}
    assert screen(engine, since, user="nobody") == []


def test_interference_is_that_of_the_worst_step(engine):
    from crosswind.db import Evaluation

    for step, pct in (("0", 3.0), ("1", 12.5), ("2", None)):
        evaluation = None if pct is None else Evaluation({"interference_pct": pct})
        load_profile(engine, make_lammps(job_id="7", step=step, user="bob", uid=1001), evaluation=evaluation)
    store_batch_jobs(engine, [said("7")])
    link_steps(engine)
    (job,) = screen(engine)
    assert job.interference_pct == 12.5
    assert np.isclose(job.cpu_ns, 3 * make_lammps().totals["cpu_time"].sum())


@pytest.mark.parametrize("state", ["LOST", "REQUEUED", "RUNNING"])
def test_a_job_that_nobody_saw_end_ends_with_its_last_step(engine, state):
    """Only one that runs goes on until now; of one that was lost without a step no end is known."""
    for step, first in (("0", FIRST_SLICE), ("1", FIRST_SLICE + 15)):
        load_profile(engine, make_writer(job_id="7", step=step, first_slice=first))
    said_of = {name: replace(said(name, end_ns=None), state=state) for name in ("7", "8")}
    store_batch_jobs(engine, list(said_of.values()))
    link_steps(engine)
    with_steps, without = sorted(screen(engine), key=lambda job: job.job_id)
    assert with_steps.end_ns == (None if state == "RUNNING" else make_writer(first_slice=FIRST_SLICE + 15).job.end_ns)
    assert without.end_ns is None
    assert with_steps.runs == without.runs == (state == "RUNNING")
