"""Opening a database: connection settings, the check of what it is, and its migration to this version's schema."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import SQLITE_BUSY
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError as SqliteError
from sqlite3 import connect as connect_sqlite
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from crosswind.db.errors import DatabaseError

__all__ = ["VERSION_TABLE", "one_writer", "open_database", "reading", "writing"]

VERSION_TABLE = "crosswind_schema"  # its name is what tells a Crosswind database from any other
BUSY_S = 60
_MIGRATION_LOCK = 0x63726F7377696E64  # "croswind": PostgreSQL's advisory lock for migrations
_WRITES = "crosswind_writes"


def open_database(url: str, create: bool = True) -> Engine:
    """An engine for a database of this version's schema; an older one is migrated in place.

    url: sqlite:///FILE or postgresql://USER@HOST/NAME. create: make the tables (and SQLite's file) where there are
    none. Who only reads (create=False) needs no right to write, unless the schema is an older one. Raises
    DatabaseError, one line with the way out, when the database is missing, foreign, newer or can't be reached.
    """
    parsed = _parse(url)
    shown = parsed.render_as_string(hide_password=True)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    if is_sqlite:
        _check_sqlite_file(parsed, create)
    read_only = is_sqlite and not create and not _may_write(parsed)
    engine = _read_only_engine(parsed) if read_only else _engine(parsed)
    try:
        if not _is_current(engine, shown, create):
            if read_only:
                raise DatabaseError(
                    f"{shown} is of an older Crosswind and may only be read: who may write there brings it up to date "
                    f"with crosswind collect --db {shown}"
                )
            with writing(engine) as conn:
                _bring_to_head(conn, shown, create)
    except DatabaseError:
        engine.dispose()
        raise
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: committed at the end, rolled back by an exception.

    SQLite takes its one write lock at once. Raises DatabaseError for what the database cannot do.
    """
    with _explained(engine), engine.connect().execution_options(**{_WRITES: True}) as conn, conn.begin():
        yield conn


def one_writer(conn: Connection, lock: int) -> None:
    """Within `writing`: whoever takes the same lock waits until this transaction ends. SQLite has one writer anyway."""
    if conn.dialect.name == "postgresql":
        conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads and sees one state of the database throughout. Raises DatabaseError for what the
    database cannot do.
    """
    level = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with _explained(engine), engine.connect().execution_options(**level) as conn, conn.begin():
        yield conn


@contextmanager
def _explained(engine: Engine) -> Iterator[None]:
    """What the driver raises in the block becomes a DatabaseError."""
    try:
        yield
    except DBAPIError as error:
        raise DatabaseError(f"{engine.url.render_as_string()}: {_first_line(error.orig)}") from error


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        backend = ""
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise DatabaseError("this is no database URL: write sqlite:///FILE or postgresql://USER@HOST/NAME")
    if backend == "sqlite":
        return parsed
    return parsed.set(drivername="postgresql+psycopg")


def _check_sqlite_file(url: URL, create: bool) -> None:
    if not url.database or url.database == ":memory:":
        raise DatabaseError("an SQLite database needs a file: write sqlite:///FILE (four slashes for an absolute path)")
    path = Path(url.database)
    if not path.parent.is_dir():
        raise DatabaseError(
            f"there is no directory {path.parent} for the database: make it with mkdir -p {path.parent}"
        )
    if not create and not path.exists():
        raise DatabaseError(
            f"there is no database {path}: load one with crosswind collect --db sqlite:///{path} --spool DIR"
        )


def _engine(url: URL) -> Engine:
    arguments: dict[str, Any] = {"json_serializer": partial(json.dumps, allow_nan=False)}
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_S}, **arguments)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return create_engine(url, pool_pre_ping=True, **arguments)
    except ModuleNotFoundError:
        raise DatabaseError("PostgreSQL needs one more package: pip install 'crosswind[postgresql]'") from None


def _may_write(url: URL) -> bool:
    """Whether this user may write to an SQLite file, and to its folder, where the write-ahead log lies."""
    path = Path(url.database or "")
    return all(os.access(p, os.W_OK, effective_ids=True) for p in (path, path.parent))


def _read_only_engine(url: URL) -> Engine:
    """An engine on an SQLite file for users that may not write. Each transaction opens the file anew."""
    path = Path(url.database or "").absolute()
    engine = create_engine(url, creator=partial(_connect_read_only, path), poolclass=NullPool)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connect_read_only(path: Path) -> SqliteConnection:
    """While anybody has the database open for writing its log is there to be read; else the file is all there is."""
    for mode in ("mode=ro", "immutable=1"):
        connection = connect_sqlite(
            f"{path.as_uri()}?{mode}", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_schema")
        except SqliteError:
            connection.close()
            if mode != "mode=ro" or Path(f"{path}-wal").exists():
                raise
        else:
            return connection
    raise AssertionError("one of the modes has returned or raised")


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 (the driver's own type)
    """Readers do not block the writer (WAL), foreign keys hold, and SQLAlchemy, not the driver, begins transactions."""
    connection.isolation_level = None
    _switch_to_wal(connection)
    for pragma in ("synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _switch_to_wal(connection: SqliteConnection) -> None:
    """The first one to open a new file makes it a WAL database, under a lock that SQLite does not wait for: of several
    that open it at once all but one are told that it is locked. So we wait.
    """
    give_up = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except SqliteError as error:
            if error.sqlite_errorcode & 0xFF != SQLITE_BUSY or time.monotonic() > give_up:
                raise
        time.sleep(random.uniform(0.001, 0.02))  # noqa: S311


def _begin_sqlite(conn: Connection) -> None:
    """A writer takes the lock before it reads: a reader that turns writer fails when another wrote meanwhile."""
    conn.exec_driver_sql("BEGIN IMMEDIATE" if conn.get_execution_options().get(_WRITES) else "BEGIN")


def _is_current(engine: Engine, shown: str, create: bool) -> bool:
    """Whether the database is there in this version's schema. Only reads. Raises DatabaseError, see _revision."""
    script = _script()
    with reading(engine) as conn:
        return _revision(conn, script, shown, create) == script.get_current_head()


def _bring_to_head(conn: Connection, shown: str, create: bool) -> None:
    """Check what the database is and migrate it. One process at a time: SQLite by the write lock, PostgreSQL by an
    advisory one.
    """
    one_writer(conn, _MIGRATION_LOCK)
    script = _script()
    if _revision(conn, script, shown, create) != script.get_current_head():
        config = _alembic()
        config.attributes["connection"] = conn
        command.upgrade(config, "head")


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    return config


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_alembic())


def _revision(conn: Connection, script: ScriptDirectory, shown: str, create: bool) -> str | None:
    """The schema's version; None: no tables yet. Raises DatabaseError for a database that is not ours to open."""
    tables = set(inspect(conn).get_table_names())
    if VERSION_TABLE not in tables:
        if tables:
            raise DatabaseError(
                f"{shown} is no Crosswind database (it has a table {min(tables)}): name another one with --db"
            )
        if not create:
            raise DatabaseError(f"{shown} is empty: load it with crosswind collect --db {shown} --spool DIR")
    current = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE}).get_current_revision()
    if current is not None and current not in {revision.revision for revision in script.walk_revisions()}:
        raise DatabaseError(
            f"{shown} is of a newer Crosswind (schema {current}, this one knows up to {script.get_current_head()}): "
            "run pip install --upgrade crosswind"
        )
    return current


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
