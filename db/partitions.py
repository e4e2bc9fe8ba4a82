"""PostgreSQL keeps frames, of jobs and nodes, and background in partitions by time: old detail goes with its table.

A partition covers `WIDTHS_NS` from a multiple of it since `FIRST_NS`, and its name says when it begins:
frame_20261119. Everything before `FIRST_NS` shares one partition, so that absurd times in a user's file make no tables.
Partitions have no foreign keys: they come and go without a lock on any other table. SQLite has one table for all time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, text

from crosswind.db.connection import reading, writing
from crosswind.db.errors import DatabaseError

__all__ = [
    "WIDTHS_NS", "Partition", "drop_partition", "list_partitions", "make_partitions", "missing_partitions",
    "old_partitions", "partition_of",
]  # fmt: skip

_DAY_NS = 86400 * 10**9
FIRST_NS = 19723 * _DAY_NS  # 2024-01-01
WIDTHS_NS = {"frame": 7 * _DAY_NS, "node_frame": 7 * _DAY_NS, "background": 28 * _DAY_NS}
_PAST = "past"
_LOCK_S = 10


@dataclass(frozen=True)
class Partition:
    """Rows of `table` whose start_ns is in [begin_ns, end_ns); begin_ns None: from the begin of time."""

    table: str
    begin_ns: int | None
    end_ns: int

    @property
    def name(self) -> str:
        """The table that holds it."""
        if self.begin_ns is None:
            return f"{self.table}_{_PAST}"
        return f"{self.table}_{datetime.fromtimestamp(self.begin_ns // 10**9, UTC):%Y%m%d}"


def partition_of(table: str, start_ns: int) -> Partition:
    """The partition into which a row with this start_ns goes."""
    if start_ns < FIRST_NS:
        return Partition(table, None, FIRST_NS)
    width = WIDTHS_NS[table]
    begin = start_ns - (start_ns - FIRST_NS) % width
    return Partition(table, begin, begin + width)


def make_partitions(engine: Engine, table: str, starts_ns: Collection[int]) -> None:
    """Make the partitions that rows with these start_ns go into, where they are missing. Nothing to do on SQLite.

    It is a transaction of its own, before the one that loads: attaching a table waits for nobody who reads or writes.
    """
    with reading(engine) as conn:
        missing = missing_partitions(conn, table, starts_ns)
    if not missing:
        return
    with writing(engine) as conn:
        # Loaders that miss the same partition take turns; whoever comes second finds it there.
        conn.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"crosswind {table}"})
        for partition in sorted(missing - set(list_partitions(conn, table)), key=lambda p: p.end_ns):
            begin = "MINVALUE" if partition.begin_ns is None else str(partition.begin_ns)
            conn.execute(text(f"CREATE TABLE {partition.name} (LIKE {table} INCLUDING DEFAULTS INCLUDING STORAGE)"))
            conn.execute(
                text(
                    f"ALTER TABLE {table} ATTACH PARTITION {partition.name} "
                    f"FOR VALUES FROM ({begin}) TO ({partition.end_ns})"
                )
            )


def missing_partitions(conn: Connection, table: str, starts_ns: Collection[int]) -> set[Partition]:
    """The partitions that rows with these start_ns go into and that are not there; none on SQLite."""
    if conn.dialect.name != "postgresql" or not starts_ns:
        return set()
    return {partition_of(table, start) for start in {*starts_ns}} - set(list_partitions(conn, table))


def list_partitions(conn: Connection, table: str) -> list[Partition]:
    """The partitions that are there, oldest first; none on SQLite."""
    if conn.dialect.name != "postgresql":
        return []
    query = text(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
        "WHERE i.inhparent = to_regclass(:name)"
    )
    return sorted(
        (_named(table, name) for name in conn.execute(query, {"name": table}).scalars()), key=lambda p: p.end_ns
    )


def old_partitions(conn: Connection, table: str, before_ns: int) -> list[Partition]:
    """Those that end before a time, oldest first; the one of all before FIRST_NS is never one of them."""
    return [p for p in list_partitions(conn, table) if p.begin_ns is not None and p.end_ns <= before_ns]


def drop_partition(engine: Engine, partition: Partition, may_go: Callable[[Connection], bool]) -> bool:
    """Drop a partition if it may go when nobody else can write to its table. Whoever is loading into it fails and comes
    again. Raises DatabaseError when others keep the table locked for more than ten seconds.
    """
    try:
        with writing(engine) as conn:
            conn.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_S}s'"))
            conn.execute(text(f"LOCK TABLE {partition.table} IN ACCESS EXCLUSIVE MODE"))
            if may_go(conn):
                conn.execute(text(f"DROP TABLE {partition.name}"))
                return True
            return False
    except DatabaseError as error:
        raise DatabaseError(f"{error} (partition {partition.name} stays: run crosswind db prune again)") from error


def _named(table: str, name: str) -> Partition:
    suffix = name.removeprefix(f"{table}_")
    if suffix == _PAST:
        return Partition(table, None, FIRST_NS)
    begin = int(datetime.strptime(suffix, "%Y%m%d").replace(tzinfo=UTC).timestamp()) * 10**9
    return partition_of(table, begin)
