"""A backup is one state of the database while it is loaded into; vacuum gives space back; the numbers are right."""

import shutil
import sqlite3
import threading

import numpy as np
import pytest
from sqlalchemy import make_url

from crosswind.db import DatabaseError, load_profile, open_database, queries, reading
from crosswind.db import upkeep as upkeep_module
from crosswind.db.events import Event, events_between, store_events
from crosswind.db.retention import prune_detail
from crosswind.db.upkeep import backup_sqlite, get_info, vacuum
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile

FAR = 1 << 62


def make_job(number):
    return make_profile(job_id=str(number), n_ranks=8, n_slices=50, jitter=0.3, seed=number, user=f"u{number % 3}")


@pytest.fixture
def sqlite_engine(tmp_path):
    opened = open_database(f"sqlite:///{tmp_path}/c.db")
    yield opened
    opened.dispose()


def test_a_backup_is_one_state_while_collectors_load(sqlite_engine, tmp_path, monkeypatch):
    """Small steps with commits between them; every job in the copy is whole and the background is their sum."""
    monkeypatch.setattr(upkeep_module, "_PAGES", 5)
    for number in range(10):
        load_profile(sqlite_engine, make_job(number))
    stop, loaded = threading.Event(), []

    def load():
        while not stop.is_set():
            loaded.append(load_profile(sqlite_engine, make_job(10 + len(loaded))))

    loader = threading.Thread(target=load)
    steps = []
    try:
        backup_sqlite(sqlite_engine.url, tmp_path / "copy.db", lambda left, total: (
            steps.append((left, total)), loader.ident or loader.start(), stop.wait(0.002)
        ))  # fmt: skip
    finally:
        stop.set()
        loader.join()
    assert len(loaded) > 3, "nothing was loaded meanwhile: the test proves nothing"
    assert steps[-1][0] == 0
    assert [left for left, _ in steps] == sorted((left for left, _ in steps), reverse=True), "it started over"
    copy = open_database(f"sqlite:///{tmp_path}/copy.db", create=False)
    with reading(copy) as conn:
        jobs = queries.list_jobs(conn, limit=1000)[0]
        assert len(jobs) == 10, "the copy is of the moment at which it began"
        total = queries.get_background(conn, ["net"], ["mpi_p2p_calls"], FIRST_SLICE, 50, SLICE_NS)
        parts = [queries.get_profile(conn, job.key).slices["mpi_p2p_calls"].sum(axis=0) for job in jobs]
    np.testing.assert_array_equal(total["net", "mpi_p2p_calls"], np.sum(parts, axis=0))
    assert load_profile(copy, make_job(99)).loaded, "it can be used in the place of the original"
    copy.dispose()


def test_a_backup_replaces_nothing_and_leaves_no_half(sqlite_engine, tmp_path):
    there = tmp_path / "there.db"
    there.write_text("mine")
    with pytest.raises(DatabaseError, match=r"there\.db exists: name another file"):
        backup_sqlite(sqlite_engine.url, there)
    with pytest.raises(DatabaseError, match=r"nowhere/c\.db: .*No such file"):
        backup_sqlite(sqlite_engine.url, tmp_path / "nowhere" / "c.db")
    assert sorted(p.name for p in tmp_path.iterdir() if "copy" in p.name or ".part" in p.name) == []
    assert there.read_text() == "mine"


def test_a_backup_is_the_owner_s_alone(sqlite_engine, tmp_path):
    backup_sqlite(sqlite_engine.url, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(DatabaseError, match=r"gone\.db is no file"):
        backup_sqlite(make_url(f"sqlite:///{tmp_path}/gone.db"), tmp_path / "other.db")


def test_a_damaged_database_is_no_backup(sqlite_engine, tmp_path):
    for number in range(5):
        load_profile(sqlite_engine, make_job(number))
    sqlite_engine.dispose()
    path = tmp_path / "c.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    broken = bytearray(path.read_bytes())
    broken[len(broken) // 2 : len(broken) // 2 + 8192] = b"\xff" * 8192
    path.write_bytes(broken)
    with pytest.raises(DatabaseError, match=r"damaged|malformed"):
        backup_sqlite(sqlite_engine.url, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_postgresql_is_told_its_own_tool(postgresql, tmp_path):
    with pytest.raises(DatabaseError, match=r"pg_dump -Fc"):
        backup_sqlite(postgresql.url, tmp_path / "c.db")


def test_pg_dump_and_restore_keep_everything(postgresql_server, postgresql, tmp_path):
    """The way that docs/operations.md names."""
    import subprocess

    if shutil.which("pg_dump") is None:
        pytest.skip("pg_dump is not installed (apt-get install postgresql-client)")
    job = make_lammps(n_segments=20)
    key = load_profile(postgresql, job).job_key
    name = postgresql.url.query["options"].rpartition("=")[2]
    server = f"{postgresql_server}/postgres"
    dump = tmp_path / "crosswind.dump"
    subprocess.run(["pg_dump", "-Fc", "-n", name, "-f", dump, server], check=True, timeout=60)
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE")
    subprocess.run(["pg_restore", "-d", server, dump], check=True, timeout=60)
    postgresql.dispose()
    with reading(postgresql) as conn:
        assert queries.get_profile(conn, key).slices.keys() == job.slices.keys()
    assert load_profile(postgresql, make_job(5)).loaded


def test_vacuum_gives_space_back(engine):
    for number in range(20):
        load_profile(engine, make_job(number))
    list(prune_detail(engine, FAR))
    before = get_info(engine)
    vacuum(engine)
    after = get_info(engine)
    assert (after.jobs, after.free_bytes) == (20, 0)
    if before.backend == "sqlite":
        assert before.free_bytes > 0.5 * before.n_bytes
        assert after.n_bytes < 0.7 * before.n_bytes


def test_vacuum_says_why_it_cannot(sqlite_engine, monkeypatch):
    with sqlite3.connect(sqlite_engine.url.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with sqlite_engine.connect() as conn:
            conn.connection.driver_connection.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(DatabaseError, match="locked"):
            vacuum(sqlite_engine)
    other.close()


def test_numbers(engine):
    assert (get_info(engine).jobs, get_info(engine).first_ns) == (0, None)
    first, second = make_job(1), make_lammps(job_id="2", first_slice=FIRST_SLICE + 1000)
    load_profile(engine, first)
    list(prune_detail(engine, FAR))
    load_profile(engine, second)
    store_events(engine, [Event("", "reboot", "node01", 5)])
    info = get_info(engine)
    assert (info.jobs, info.jobs_with_detail, info.events) == (2, 1, 1)
    assert (info.first_ns, info.last_ns) == (first.job.start_ns, second.job.end_ns)
    assert info.n_bytes > 50_000
    if info.backend == "postgresql":
        assert info.table_bytes["frame"] > 8192, "with its partitions"
        assert {"background", "job"} <= info.table_bytes.keys()
        assert not [name for name in info.table_bytes if name.startswith("frame_")]


def test_events_are_kept_once_and_found_by_time_and_place(engine):
    reboot = Event("c", "reboot", "node01", 100, 200, "agent")
    slow = Event("c", "file_system", "fs:net", 150, None, "admin", "an OST is being rebuilt")
    planned = Event("c", "maintenance", "", 1000, 2000)
    assert store_events(engine, [reboot, slow, planned]) == 3
    store_events(engine, [reboot, Event("c", "maintenance", "", 1000, 3000)])
    with reading(engine) as conn:
        assert events_between(conn, 0, 150) == [reboot]
        assert events_between(conn, 200, 300) == [slow], "the end does not belong to it, and one without goes on"
        assert events_between(conn, 2500, 2600, places=["node02"]) == [Event("c", "maintenance", "", 1000, 3000)]
        assert events_between(conn, 0, 5000, cluster="other") == []


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event("", "fire", "", 0), "no event is of the kind 'fire': choose one of reboot"),
        (Event("", "other", "", 5, 4), "ends before it begins"),
        (Event("", "other", "", -1), "outside the time"),
        (Event("", "other", "", 1 << 63), "outside the time"),
        (Event("", "other", "a\nb", 1), "not printable"),
        (Event("", "other", "", 1, note="x" * 5000), "longer than"),
    ],
)
def test_impossible_events_are_refused(engine, event, words):
    with pytest.raises(DatabaseError, match=words):
        store_events(engine, [Event("", "other", "", 1), event])
    with reading(engine) as conn:
        assert events_between(conn, 0, FAR) == []
