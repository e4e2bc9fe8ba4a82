"""`crosswind jobs`: what it lists, in which order, and that hostile names do no harm."""

import json
import time

import pytest

from crosswind.db import BatchJob, open_database
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.store import load_profile
from support.profiles import SLICE_NS, make_writer

S = 10**9


@pytest.fixture
def url(tmp_path):
    """Three jobs of an hour ago: a busy one, one that only opens files, one without a profile."""
    start = (time.time_ns() - 3600 * S) // SLICE_NS
    engine = open_database(f"sqlite:///{tmp_path}/crosswind.db")
    busy = {"cpu_time": 900_000_000, "posix_disk_write_calls": 10, "posix_disk_write_bytes": 10**8}
    stormy = {"cpu_time": 100_000_000, "posix_net_meta_calls": 2000}
    for job_id, rates, functions in (("1", busy, {}), ("2", stormy, {"open": (400, 0, 0, 1000)})):
        load_profile(
            engine,
            make_writer(job_id=job_id, first_slice=start, n_slices=30, rates=rates, functions=functions, factor=None),
        )
    known = {"run": 0, "start_ns": start * SLICE_NS, "end_ns": start * SLICE_NS + 120 * S, "hosts": ("n1",), "cpus": 1}
    store_batch_jobs(
        engine,
        [BatchJob(str(i), "COMPLETED", 1001, user=f"u{i}", name="\x1b[31mred\n", **known) for i in (1, 2)]
        + [BatchJob("3", "CANCELLED", 1001, user="u3", **known)],
    )
    link_steps(engine)
    engine.dispose()
    return f"sqlite:///{tmp_path}/crosswind.db"


def listed(crosswind, url, *options):
    done = crosswind("jobs", "--db", url, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("sort", "order"), [("waste", "213"), ("pattern", "213"), ("io", "123")])
def test_order(crosswind, url, sort, order):
    document = listed(crosswind, url, "--sort", sort)
    assert [job["job_id"] for job in document["jobs"]][: len(order) - 1] == list(order[:-1])
    assert (document["total"], document["profiled"]) == (3, 2)


def test_figures(crosswind, url):
    jobs = {job["job_id"]: job for job in listed(crosswind, url)["jobs"]}
    assert jobs["1"]["waste"]["idle_share"] == pytest.approx(0.1)
    assert jobs["2"]["waste"]["idle_core_h"] == pytest.approx(0.9 * 120 / 3600)
    assert {p["name"]: p["value"] for p in jobs["2"]["patterns"]} == {"many opens": 400, "metadata storm": 2000}
    assert jobs["1"]["patterns"] == []
    assert (jobs["3"]["waste"], jobs["3"]["steps"], jobs["3"]["elapsed_s"]) == (None, [], 120)


def test_since_user_and_limit(crosswind, url):
    assert [job["job_id"] for job in listed(crosswind, url, "--user", "u2")["jobs"]] == ["2"]
    assert listed(crosswind, url, "--since", "30m")["total"] == 0
    assert len(listed(crosswind, url, "--limit", "1")["jobs"]) == 1
    wrong = crosswind("jobs", "--db", url, "--since", "yesterday")
    assert wrong.returncode == 2
    assert "write 90m, 24h, 7d or 2w" in wrong.stderr


def test_table(crosswind, url):
    done = crosswind("jobs", "--db", url, "--sort", "pattern")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[1].split()[:2] == ["2", "u2"]
    assert "many opens (400/s), metadata storm (2000/s)" in lines[1]
    assert "CANCELLED, no profile" in done.stdout
    assert "\x1b" not in done.stdout
    assert lines[-1] == "3 of 3 jobs, 2 with a profile"
