"""`crosswind db`: the verbs a site runs, as it runs them."""

import json
import sqlite3
import time
from contextlib import closing

import pytest

from crosswind.db import load_profile, open_database, queries, reading
from support.profiles import SLICE_NS, make_lammps, make_profile

NOW = time.time_ns() // SLICE_NS
DAY = 86400 * 10**9 // SLICE_NS


@pytest.fixture
def url(tmp_path):
    """A database with a job of yesterday and one of 100 days ago."""
    engine = open_database(f"sqlite:///{tmp_path}/c.db")
    load_profile(engine, make_lammps(job_id="old", first_slice=NOW - 100 * DAY))
    load_profile(engine, make_profile(job_id="new", first_slice=NOW - DAY))
    engine.dispose()
    return f"sqlite:///{tmp_path}/c.db"


def test_prune_says_what_it_would_do_and_does_it(crosswind, url):
    def run(*arguments):
        result = crosswind("db", "prune", "--keep-detail", "90d", "--json", "--db", url, *arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    would = run("--dry-run")
    assert (would["jobs"], would["dry_run"], would["bytes"] > 1000) == (1, True, True)
    did = run()
    assert (did["jobs"], did["bytes"]) == (1, would["bytes"])
    assert run()["jobs"] == 0
    engine = open_database(url)
    with reading(engine) as conn:
        assert {job.job_id: job.detail for job in queries.list_jobs(conn)[0]} == {"old": False, "new": True}
    engine.dispose()


def test_backup_is_a_database(crosswind, url, tmp_path):
    assert crosswind("db", "backup", "copy.db", "--db", url).returncode == 0
    with closing(open_database(f"sqlite:///{tmp_path}/copy.db", create=False).raw_connection()) as copy:
        assert copy.execute("SELECT count(*) FROM job").fetchone() == (2,)
    again = crosswind("db", "backup", "copy.db", "--db", url)
    assert (again.returncode, again.stderr.strip()) == (1, "crosswind db: copy.db exists: name another file")


def test_info_vacuum_upgrade(crosswind, url):
    info = json.loads(crosswind("db", "info", "--json", "--db", url).stdout)
    assert (info["jobs"], info["jobs_with_detail"], info["backend"]) == (2, 2, "sqlite")
    text = crosswind("db", "info", "--db", url).stdout
    assert f"schema {info['schema_version']}" in text
    assert "2, of which 2 have their slices" in text
    assert " now" in crosswind("db", "vacuum", "--db", url).stdout
    assert crosswind("db", "upgrade", "--db", "sqlite:///new.db").stdout == f"schema {info['schema_version']}\n"


def test_events(crosswind, url):
    times = ("--from", "2026-11-21T08:00", "--to", "2026-11-21T12:00")
    assert crosswind("db", "event", "maintenance", *times, "--note", "new disks", "--db", url).returncode == 0
    (event,) = json.loads(crosswind("db", "event", "--json", "--db", url).stdout)
    assert (event["kind"], event["note"], event["place"]) == ("maintenance", "new disks", "")
    assert (event["end_ns"] - event["start_ns"]) == 4 * 3600 * 10**9
    assert event["start_ns"] == 1_795_248_000 * 10**9
    assert "new disks" in crosswind("db", "event", "--db", url).stdout
    refused = crosswind("db", "event", "fire", *times, "--db", url)
    assert refused.returncode == 1
    assert "no event is of the kind 'fire'" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prune", "--keep-detail", "90"], "write 90d"),
        (["prune"], "--keep-detail"),
        (["event", "reboot"], "needs its begin"),
        (["event", "--from", "yesterday"], "is no time"),
        (["burn"], "No such command"),
    ],
)
def test_wrong_usage(crosswind, url, arguments, words):
    result = crosswind("db", *arguments, "--db", url)
    assert result.returncode == 2
    assert words in result.stderr


def test_a_database_that_is_not_there_is_not_made(crosswind, tmp_path):
    result = crosswind("db", "info", "--db", "sqlite:///no.db")
    assert result.returncode == 1
    assert "there is no database" in result.stderr
    assert not (tmp_path / "no.db").exists()


def test_a_backup_before_an_upgrade_is_of_the_old_schema(crosswind, tmp_path):
    url = f"sqlite:///{tmp_path}/c.db"
    open_database(url).dispose()

    def schema_of(path):
        with closing(sqlite3.connect(path)) as conn:
            return conn.execute("SELECT version_num FROM crosswind_schema").fetchall()

    with closing(sqlite3.connect(tmp_path / "c.db")) as conn:
        conn.execute("UPDATE crosswind_schema SET version_num = '0005'")
        conn.commit()
    done = crosswind("db", "backup", "copy.db", "--db", url)
    assert done.returncode == 0, done.stderr
    assert schema_of(tmp_path / "copy.db") == schema_of(tmp_path / "c.db") == [("0005",)]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
