"""Opening: what is made, what is migrated, what is refused, and with which words."""

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import OperationalError

from crosswind.db import DatabaseError, access_schema, load_profile, open_database, queries, reading, schema
from crosswind.db.connection import VERSION_TABLE, writing
from crosswind.db.partitions import WIDTHS_NS
from support.profiles import make_lammps


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection", "ignore:autogenerate skipping metadata-specified")
def test_migrations_build_exactly_the_schema(engine):
    """Partitions are made as they are needed. SQLAlchemy does not see SQLite's indexes on expressions."""

    def belongs(_object, name, kind, reflected, _other):
        return not (kind == "table" and reflected and name.partition("_")[0] in WIDTHS_NS and "_" in name)

    load_profile(engine, make_lammps())
    with engine.connect() as conn:
        options = {"version_table": VERSION_TABLE, "include_object": belongs}
        context = MigrationContext.configure(conn, opts=options)
        assert "ix_job_duration" in indexes_of(conn, "job")
        assert access_schema.access_log.metadata is schema.metadata
        assert compare_metadata(context, schema.metadata) == []


def indexes_of(conn, table):
    catalogue = {"sqlite": "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = :t"}.get(
        conn.dialect.name, "SELECT indexname FROM pg_indexes WHERE tablename = :t AND schemaname = current_schema()"
    )
    return set(conn.execute(text(catalogue), {"t": table}).scalars())


def test_opening_again_keeps_what_is_there(url):
    first = open_database(url)
    with writing(first) as conn:
        conn.execute(schema.resource.insert(), [{"name": "net"}])
    again = open_database(url, create=False)
    with reading(again) as conn:
        assert conn.execute(schema.resource.select()).one().name == "net"
    first.dispose()
    again.dispose()


def test_many_at_once_make_one_schema(url):
    with ThreadPoolExecutor(8) as pool:
        engines = list(pool.map(lambda _: open_database(url), range(8)))
    with engines[0].connect() as conn:
        assert conn.execute(text(f"SELECT count(*) FROM {VERSION_TABLE}")).scalar_one() == 1
    for engine in engines:
        engine.dispose()


def test_who_opens_a_new_file_waits_until_it_may_be_switched_to_wal(tmp_path):
    """SQLite itself does not wait for this lock: with a busy timeout of a minute it says at once that it is locked."""
    path = tmp_path / "c.db"
    first = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    first.execute("CREATE TABLE t (x)")
    first.execute("DROP TABLE t")
    first.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_database, f"sqlite:///{path}")
        time.sleep(0.3)
        assert not opening.done()
        first.execute("COMMIT")
        opening.result(timeout=30).dispose()
    first.close()


def test_newer_database_names_the_way_out(url):
    engine = open_database(url)
    with writing(engine) as conn:
        conn.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(DatabaseError, match=r"newer Crosswind \(schema 9999.*run pip install --upgrade crosswind$"):
        open_database(url)


def test_foreign_database_is_left_alone(url):
    engine = open_database(url)
    with writing(engine) as conn:
        schema.metadata.drop_all(conn)
        conn.execute(text(f"DROP TABLE {VERSION_TABLE}"))
        conn.execute(text("CREATE TABLE wages (amount integer)"))
    engine.dispose()
    with pytest.raises(DatabaseError, match=r"no Crosswind database \(it has a table wages\).*--db$"):
        open_database(url)
    with engine.connect() as conn:
        assert inspect(conn).get_table_names() == ["wages"]
    engine.dispose()


def test_foreign_file_is_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no database at all\n" * 300)
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match=r"notes\.txt: file is not a database$"):
        open_database(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_missing_is_made_only_when_asked(tmp_path):
    path = tmp_path / "c.db"
    with pytest.raises(DatabaseError, match=r"there is no database .*crosswind collect --db"):
        open_database(f"sqlite:///{path}", create=False)
    assert not path.exists()
    sqlite3.connect(path).close()
    with pytest.raises(DatabaseError, match=r"is empty.*crosswind collect --db"):
        open_database(f"sqlite:///{path}", create=False)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("crosswind.db", "no database URL"),
        ("mysql://host/x", "no database URL"),
        ("http://[", "no database URL"),
        ("sqlite://", "needs a file"),
        ("sqlite:////nowhere/at/all/c.db", "mkdir -p /nowhere/at/all"),
        ("postgresql://u:secret@127.0.0.1:1/x", r"postgresql.*://u:\*\*\*@127\.0\.0\.1:1/x: connection failed"),
    ],
)
def test_bad_urls_in_one_line(bad, words):
    if bad.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'psycopg[binary]')")
    with pytest.raises(DatabaseError, match=words) as caught:
        open_database(bad)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_sqlite_settings(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/c.db")
    with engine.connect() as conn:
        assert conn.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert conn.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
        assert conn.exec_driver_sql("PRAGMA busy_timeout").scalar_one() >= 10_000


def test_readers_see_one_state_while_a_writer_commits(engine):
    with reading(engine) as reader:
        assert reader.execute(schema.resource.select()).all() == []
        with writing(engine) as writer:
            writer.execute(schema.resource.insert(), [{"name": "net"}])
        assert reader.execute(schema.resource.select()).all() == []


def test_a_failed_transaction_leaves_nothing(engine):
    def fail():
        with writing(engine) as conn:
            conn.execute(schema.resource.insert(), [{"name": "net"}])
            conn.execute(text("SELECT 1 FROM nowhere"))

    with pytest.raises(DatabaseError, match="nowhere"):
        fail()
    with engine.connect() as conn:
        assert conn.execute(schema.resource.select()).all() == []


def test_what_fails_while_reading_is_the_databases_error(engine):
    with pytest.raises(DatabaseError, match="nowhere"), reading(engine) as conn:
        conn.execute(text("SELECT 1 FROM nowhere"))


def test_second_sqlite_writer_waits_for_the_first(tmp_path):
    """BEGIN IMMEDIATE: a writer that can't get the lock says so before it has read anything."""
    engine = open_database(f"sqlite:///{tmp_path}/c.db")
    with writing(engine):
        impatient = sqlite3.connect(f"{tmp_path}/c.db", timeout=0, isolation_level=None)
        with pytest.raises((OperationalError, sqlite3.OperationalError), match="locked"):
            impatient.execute("BEGIN IMMEDIATE")
        impatient.close()


class TestReadersWithoutTheRightToWrite:
    """The dashboard and the commands need no more than to read."""

    def reads_as_nobody(self, url):
        """What a process of another user sees: the resources, or the one line of its DatabaseError."""
        if os.geteuid() != 0:
            pytest.skip("only root can become another user: run the tests as root")
        program = (
            "import os, sys\nfrom crosswind.db import DatabaseError, open_database, reading, schema\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "try:\n"
            "    with reading(open_database(sys.argv[1], create=False)) as conn:\n"
            "        names = schema.resource.select().with_only_columns(schema.resource.c.name)\n"
            "        print(*conn.execute(names).scalars())\n"
            "except DatabaseError as error:\n    print(error)"
        )
        done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @pytest.fixture
    def shared(self):
        """A database that anybody may read, in a folder in which only root may write."""
        with TemporaryDirectory(dir="/tmp") as folder:
            Path(folder).chmod(0o755)
            url = f"sqlite:///{folder}/c.db"
            engine = open_database(url)
            with writing(engine) as conn:
                conn.execute(schema.resource.insert(), [{"name": "net"}])
            yield url, engine
            engine.dispose()

    def test_read_it_while_a_collector_writes(self, shared):
        url, engine = shared
        with writing(engine) as conn:
            conn.execute(schema.resource.insert(), [{"name": "fs:net"}])
            assert self.reads_as_nobody(url) == "net"
        assert self.reads_as_nobody(url) == "net fs:net"

    def test_read_it_while_nobody_has_it_open(self, shared):
        url, engine = shared
        engine.dispose()
        assert sorted(p.name for p in Path(engine.url.database).parent.iterdir()) == ["c.db"]
        assert self.reads_as_nobody(url) == "net"

    def test_are_told_who_can_bring_an_older_one_up_to_date(self, shared):
        url, engine = shared
        with writing(engine) as conn:
            conn.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0001'"))
        told = self.reads_as_nobody(url)
        assert "is of an older Crosswind and may only be read" in told
        assert told.endswith(f"crosswind collect --db {url}")

    def test_a_reader_waits_for_no_writer(self, engine):
        """Opening a current database takes no lock that a loading collector holds."""
        with writing(engine) as conn:
            conn.execute(schema.resource.insert(), [{"name": "net"}])
            url = engine.url.render_as_string(hide_password=False)
            begin = time.monotonic()
            open_database(url, create=False).dispose()
            assert time.monotonic() - begin < 10

    @pytest.mark.parametrize("url", ["postgresql"], indirect=True)
    def test_a_user_of_postgresql_who_may_only_select(self, url):
        engine = open_database(url)
        name = url.rpartition("%3D")[2]
        with writing(engine) as conn:
            conn.execute(text(f"CREATE ROLE reader_{name} LOGIN"))
            conn.execute(text(f"GRANT USAGE ON SCHEMA {name} TO reader_{name}"))
            conn.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader_{name}"))
        reader = open_database(url.replace("tester@", f"reader_{name}@"), create=False)
        with reading(reader) as conn:
            assert queries.list_jobs(conn) == ([], 0)
        reader.dispose()
        engine.dispose()
