"""Names that the large tables hold as numbers, and statements in parts. Used by all that load."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from crosswind.db import queries, schema
from crosswind.profile.model import Column

__all__ = ["batches", "insert_missing", "metric_ids", "resource_ids"]

_BATCH = 1000  # rows or keys in one statement


def metric_ids(conn: Connection, columns: Collection[Column]) -> dict[Column, int]:
    """The ids of metrics; new ones get one."""
    known = queries.metric_ids(conn, columns)
    missing = sorted(set(columns) - known.keys(), key=lambda c: (c.name, c.id, c.unit, c.kind))
    if missing:
        new = [{"column_id": c.id, "name": c.name, "unit": c.unit, "kind": c.kind} for c in missing]
        conn.execute(insert_missing(conn, schema.metric), new)
        known |= queries.metric_ids(conn, missing)
    return known


def resource_ids(conn: Connection, names: Collection[str]) -> dict[str, int]:
    """The ids of resources; new ones get one."""
    known: dict[str, int] = {}
    for part in batches(sorted(names)):
        known |= queries.resource_ids(conn, part)
    missing = sorted(set(names) - known.keys())
    for part in batches(missing):
        conn.execute(insert_missing(conn, schema.resource), [{"name": name} for name in part])
        known |= queries.resource_ids(conn, part)
    return known


def insert_missing(conn: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that leaves alone what is there; PostgreSQL waits for a transaction that is making the same row."""
    dialect = sqlite if conn.dialect.name == "sqlite" else postgresql
    return dialect.insert(table).on_conflict_do_nothing()


def batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The items in parts that one statement can take."""
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
