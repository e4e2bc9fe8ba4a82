"""Events that begin and end as somebody watches the nodes: which are in trouble now, which no longer are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Engine, select

from crosswind.db import schema
from crosswind.db.connection import reading
from crosswind.db.events import Event, store_events

__all__ = ["Trouble", "follow_troubles"]


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a node now. kind: of EVENT_KINDS. since_ns: UTC, None: since it was seen first."""

    kind: str
    node: str
    since_ns: int | None = None
    note: str = ""


def follow_troubles(
    engine: Engine, troubles: Iterable[Trouble], known: Collection[str], at_ns: int, *, source: str, cluster: str = ""
) -> int:
    """Begin an event for each trouble that is new and end those that are over; how many began or ended.

    known: the nodes that the source knew at at_ns (UTC); events of others are left alone, as are those of other
    sources. Saying the same again changes nothing. Raises DatabaseError.
    """
    e = schema.event.c
    columns = [e[name] for name in Event.__dataclass_fields__]
    still_open = select(*columns).where(e.cluster == cluster, e.source == source, e.end_ns.is_(None))
    with reading(engine) as conn:
        held = {(row.kind, row.place): Event(**row._asdict()) for row in conn.execute(still_open)}
    now = {(trouble.kind, trouble.node): trouble for trouble in troubles}
    began = [
        Event(cluster, t.kind, t.node, min(t.since_ns or at_ns, at_ns), source=source, note=t.note)
        for key, t in now.items()
        if key not in held
    ]
    over = [
        Event(cluster, event.kind, event.place, event.start_ns, max(at_ns, event.start_ns), source, event.note)
        for key, event in held.items()
        if key not in now and event.place in known
    ]
    if began or over:
        store_events(engine, [*began, *over])
    return len(began) + len(over)
