"""Events of a site: what happened that jobs may have felt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects import postgresql, sqlite

from crosswind.db import schema
from crosswind.db.connection import writing
from crosswind.db.errors import DatabaseError

__all__ = ["EVENT_KINDS", "Event", "events_between", "store_events"]

EVENT_KINDS = ("reboot", "file_system", "network", "maintenance", "other")
_MAX_TEXT = 4096
_BATCH = 1000


@dataclass(frozen=True)
class Event:
    """Something that happened at a place: a node's name, a resource's name, or "" for the whole cluster.

    kind: one of EVENT_KINDS. [start_ns, end_ns) in UTC; end_ns None: it has not ended. source: who says so.
    """

    cluster: str
    kind: str
    place: str
    start_ns: int
    end_ns: int | None = None
    source: str = ""
    note: str = ""


def store_events(engine: Engine, events: Iterable[Event]) -> int:
    """Store events; how many were given. One of the same cluster, kind, place and start is brought up to date.

    Raises DatabaseError for a kind that is not known, a time that cannot be or text that a database cannot hold.
    """
    rows = [asdict(event) for event in events]
    for row in rows:
        _check_event(row)
    with writing(engine) as conn:
        query = (sqlite if conn.dialect.name == "sqlite" else postgresql).insert(schema.event)
        known = ["cluster", "kind", "place", "start_ns"]
        new = {name: query.excluded[name] for name in ("end_ns", "source", "note")}
        for at in range(0, len(rows), _BATCH):
            conn.execute(query.on_conflict_do_update(index_elements=known, set_=new), rows[at : at + _BATCH])
    return len(rows)


def events_between(
    conn: Connection, start_ns: int, end_ns: int, *, cluster: str | None = None, places: Collection[str] | None = None
) -> list[Event]:
    """What happened in [start_ns, end_ns), by its begin. places: only there, or in the whole cluster."""
    e = schema.event.c
    conditions = [e.start_ns < end_ns, (e.end_ns.is_(None)) | (e.end_ns > start_ns)]
    if cluster is not None:
        conditions.append(e.cluster == cluster)
    if places is not None:
        conditions.append(e.place.in_({"", *places}))
    columns = [e[name] for name in Event.__dataclass_fields__]
    query = select(*columns).where(*conditions).order_by(e.start_ns, e.kind, e.place)
    return [Event(**row._asdict()) for row in conn.execute(query)]


def _check_event(row: dict[str, Any]) -> None:
    _check_texts(row)
    if row["kind"] not in EVENT_KINDS:
        raise DatabaseError(f"no event is of the kind {row['kind'][:40]!r}: choose one of {', '.join(EVENT_KINDS)}")
    last = row["start_ns"] if row["end_ns"] is None else row["end_ns"]
    if not 0 <= row["start_ns"] <= last < 1 << 63:
        raise DatabaseError("an event ends before it begins, or lies outside the time that can be stored")


def _check_texts(row: dict[str, Any]) -> None:
    for value in row.values():
        if isinstance(value, str) and (len(value) > _MAX_TEXT or not value.isprintable()):
            raise DatabaseError(f"a text of an event is longer than {_MAX_TEXT} or not printable")
