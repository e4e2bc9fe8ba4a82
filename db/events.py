"""Events of a site: what happened that jobs may have felt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crosswind.db import schema
from crosswind.db.connection import one_writer, reading, writing
from crosswind.db.errors import DatabaseError
from crosswind.db.one_of import one_of

__all__ = [
    "EVENT_KINDS", "Event", "StoredEvent", "event_by_id", "events_between", "note_boot", "remove_event",
    "replace_event", "store_events", "stored_events",
]  # fmt: skip

EVENT_KINDS = ("reboot", "node_down", "file_system", "network", "maintenance", "other")
_MAX_TEXT = 4096
_BOOT = "boot "
_BATCH = 1000
_BOOT_LOCK = 0x6377626F6F74  # "cwboot": PostgreSQL's advisory lock for who notes boots
MAX_SHOWN = 500  # events of one stretch of time


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
    with writing(engine) as conn:
        return _store(conn, events)


def _store(conn: Connection, events: Iterable[Event]) -> int:
    rows = [asdict(event) for event in events]
    for row in rows:
        _check_event(row)
    query = (sqlite if conn.dialect.name == "sqlite" else postgresql).insert(schema.event)
    known = ["cluster", "kind", "place", "start_ns"]
    new = {name: query.excluded[name] for name in ("end_ns", "source", "note")}
    for at in range(0, len(rows), _BATCH):
        conn.execute(query.on_conflict_do_update(index_elements=known, set_=new), rows[at : at + _BATCH])
    return len(rows)


def note_boot(engine: Engine, node: str, boot_id: str, booted_ns: int, *, cluster: str = "") -> bool:
    """Store that a node booted, once for each boot id; whether it is new. booted_ns: UTC, which agents know to a second
    or two. Raises DatabaseError.
    """
    event = Event(cluster, "reboot", node, booted_ns, booted_ns, source="agent", note=f"{_BOOT}{boot_id}")
    e = schema.event.c
    same = (e.cluster == cluster, e.kind == event.kind, e.place == node, e.note == event.note)
    known = select(e.id).where(*same).limit(1)
    with reading(engine) as conn:  # which is the answer nearly always, and takes no lock
        if conn.execute(known).first() is not None:
            return False
    with writing(engine) as conn:
        one_writer(conn, _BOOT_LOCK)  # the times of two looks may differ: no constraint tells that they are one boot
        if conn.execute(known).first() is not None:
            return False
        _store(conn, [event])
    return True


def events_between(
    conn: Connection, start_ns: int, end_ns: int, *, cluster: str | None = None, places: Collection[str] | None = None
) -> list[Event]:
    """What happened in [start_ns, end_ns), by its begin. places: only there, or in the whole cluster."""
    e = schema.event.c
    conditions = [e.start_ns < end_ns, (e.end_ns.is_(None)) | (e.end_ns > start_ns)]
    if cluster is not None:
        conditions.append(e.cluster == cluster)
    if places is not None:
        conditions.append(one_of(e.place, {"", *places}))
    columns = [e[name] for name in Event.__dataclass_fields__]
    query = select(*columns).where(*conditions).order_by(e.start_ns, e.kind, e.place)
    return [Event(**row._asdict()) for row in conn.execute(query)]


@dataclass(frozen=True)
class StoredEvent:
    """An event that is in the database, under its number there."""

    id: int
    event: Event


def stored_events(conn: Connection, start_ns: int, end_ns: int) -> list[StoredEvent]:
    """As events_between, with their numbers; at most MAX_SHOWN, the newest."""
    e = schema.event.c
    columns = [e[name] for name in Event.__dataclass_fields__]
    query = (
        select(e.id, *columns)
        .where(e.start_ns < end_ns, (e.end_ns.is_(None)) | (e.end_ns > start_ns))
        .order_by(e.start_ns.desc(), e.id.desc())
        .limit(MAX_SHOWN)
    )
    return [StoredEvent(row[0], Event(*row[1:])) for row in conn.execute(query)]


def event_by_id(conn: Connection, number: int) -> StoredEvent | None:
    """The event of that number, or None."""
    e = schema.event.c
    row = conn.execute(
        select(e.id, *(e[name] for name in Event.__dataclass_fields__)).where(e.id == number)
    ).one_or_none()
    return None if row is None else StoredEvent(row[0], Event(*row[1:]))


def replace_event(engine: Engine, number: int, event: Event) -> bool:
    """Put another event in the place of the one of that number; False: there is none. Raises DatabaseError as
    store_events, and where there is one of the same kind, place and begin already.
    """
    row = asdict(event)
    _check_event(row)
    with writing(engine) as conn:
        e = schema.event.c
        same = (e.cluster == event.cluster, e.kind == event.kind, e.place == event.place, e.start_ns == event.start_ns)
        if conn.execute(select(e.id).where(*same, e.id != number)).first() is not None:
            raise DatabaseError(
                "there is such an event already: of the same kind, at the same place, with the same begin"
            )
        return conn.execute(update(schema.event).where(e.id == number).values(**row)).rowcount > 0


def remove_event(engine: Engine, number: int) -> bool:
    """Take an event away; False: there is none of that number."""
    with writing(engine) as conn:
        return conn.execute(delete(schema.event).where(schema.event.c.id == number)).rowcount > 0


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
