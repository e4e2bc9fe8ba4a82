"""What a site does with a whole database: look at it, back it up, give freed space back."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from alembic.runtime.migration import MigrationContext
from sqlalchemy import URL, Connection, Engine, func, select, text
from sqlalchemy.exc import DBAPIError

from crosswind.db import schema
from crosswind.db.connection import VERSION_TABLE, reading
from crosswind.db.errors import DatabaseError

__all__ = ["DatabaseInfo", "backup_sqlite", "get_info", "vacuum"]

_PAGES = 4096  # copied between two looks at the progress


@dataclass(frozen=True)
class DatabaseInfo:
    """A database in numbers. free_bytes: inside the file, for new rows (SQLite); jobs_with_detail: not pruned.

    first_ns, last_ns: begin of the first and end of the last job, UTC; None: no jobs. table_bytes: PostgreSQL's own
    count, with indexes; SQLite keeps none.
    """

    backend: str
    schema_version: str
    n_bytes: int
    free_bytes: int
    jobs: int
    jobs_with_detail: int
    nodes: int
    events: int
    first_ns: int | None
    last_ns: int | None
    table_bytes: dict[str, int]


def get_info(engine: Engine) -> DatabaseInfo:
    """The numbers of a database."""
    with reading(engine) as conn:
        j = schema.job.c
        jobs, detailed, first, last = conn.execute(
            select(func.count(), func.count().filter(j.detail), func.min(j.start_ns), func.max(j.end_ns))
        ).one()
        n_bytes, free, tables = _sizes(conn)
        return DatabaseInfo(
            backend=conn.dialect.name,
            schema_version=MigrationContext.configure(
                conn, opts={"version_table": VERSION_TABLE}
            ).get_current_revision()
            or "",
            n_bytes=n_bytes,
            free_bytes=free,
            jobs=jobs,
            jobs_with_detail=detailed,
            nodes=conn.execute(select(func.count()).select_from(schema.node)).scalar_one(),
            events=conn.execute(select(func.count()).select_from(schema.event)).scalar_one(),
            first_ns=first,
            last_ns=last,
            table_bytes=tables,
        )


def _sizes(conn: Connection) -> tuple[int, int, dict[str, int]]:
    """Bytes of the database, those that are free in it, and those of each table where the server knows."""
    if conn.dialect.name == "sqlite":
        page, pages, free = (
            int(conn.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_size", "page_count", "freelist_count")
        )
        return page * pages, page * free, {}
    query = text(
        "SELECT c.relname, sum(pg_total_relation_size(t.relid)) FROM pg_class c, pg_partition_tree(c.oid) t "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "GROUP BY c.relname ORDER BY c.relname"
    )
    plain = text(
        "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT c.relispartition"
    )
    tables = {name: int(size) for name, size in conn.execute(plain)}
    tables |= {name: int(size) for name, size in conn.execute(query)}
    return sum(tables.values()), 0, dict(sorted(tables.items()))


def backup_sqlite(url: URL, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """Copy an SQLite database as it is at this moment, while others load. The file appears whole or not at all.

    The database is not migrated: what is backed up before an upgrade is the old schema. Only the owner may read the
    copy. progress: is told the pages that are left and all of them. Raises DatabaseError where the database is not
    SQLite or not there, the target exists, or what was copied is damaged.
    """
    if url.get_backend_name() != "sqlite":
        raise DatabaseError("this makes backups of SQLite only: PostgreSQL's own tool is pg_dump -Fc DATABASE -f FILE")
    source = Path(url.database or "")
    if not source.is_file():
        raise DatabaseError(f"{source} is no file: give --db sqlite:///FILE of a database that exists")
    if target.exists():
        raise DatabaseError(f"{target} exists: name another file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _copy(source, part, progress)
        os.replace(part, target)
    except (OSError, sqlite3.Error) as error:
        raise DatabaseError(f"{target}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _copy(source: Path, target: Path, progress: Callable[[int, int], None] | None) -> None:
    """The transaction that is held open keeps all steps of the copy at one state, so that no commit starts it over."""
    opened = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    copy = sqlite3.connect(target, isolation_level=None)
    try:
        opened.execute("BEGIN")
        opened.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        opened.backup(copy, pages=_PAGES, progress=_progress(progress), sleep=0.0)
        (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DatabaseError(f"the copy is damaged ({verdict}): check the disk and {source}")
    finally:
        copy.close()
        opened.close()


def _progress(told: Callable[[int, int], None] | None) -> Callable[[int, int, int], None] | None:
    return None if told is None else lambda _status, left, total: told(left, total)


def vacuum(engine: Engine) -> None:
    """Give freed space back to the disk (SQLite: writes the file anew, and needs as much space again; collectors wait
    meanwhile) and bring the planner's statistics up to date.
    """
    try:
        with engine.connect() as conn:
            if engine.dialect.name == "sqlite":
                driver = conn.connection.driver_connection  # SQLAlchemy would begin a transaction, which VACUUM refuses
                for command in ("VACUUM", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    driver.execute(command).fetchall()  # type: ignore[union-attr]
            else:
                conn.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("VACUUM ANALYZE")
    except (DBAPIError, sqlite3.Error) as error:
        raise DatabaseError(f"{engine.url.render_as_string()}: {str(error).splitlines()[0]}") from error
