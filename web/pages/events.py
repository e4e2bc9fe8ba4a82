"""Events of the site, kept by its staff: added, changed and taken away from the page of the system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import urlencode

from flask import Blueprint, abort, redirect, request, url_for
from marshmallow import EXCLUDE, Schema, ValidationError, fields, pre_load, validate
from werkzeug.wrappers import Response

from crosswind.db import DatabaseError
from crosswind.db.events import EVENT_KINDS, Event, event_by_id, remove_event, replace_event, store_events
from crosswind.web.database import connection, engine
from crosswind.web.identity import Role, require, viewer
from crosswind.web.joblist import Moment

__all__ = ["blueprint"]

blueprint = Blueprint("events", __name__)


class EventForm(Schema):
    """What the form says. back: where the viewer came from, as the query of the system's page."""

    class Meta:
        """The token against forged forms is checked before."""

        unknown = EXCLUDE

    kind = fields.String(required=True, validate=validate.OneOf(EVENT_KINDS))
    place = fields.String(load_default="", validate=validate.Length(max=256))
    begin = Moment(required=True)
    end = Moment()
    note = fields.String(load_default="", validate=validate.Length(max=1000))

    @pre_load
    def _strip(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        return {name: value.strip() for name, value in data.items() if value.strip()}


@blueprint.post("/system/events")
def add() -> Response:
    """Add an event."""
    require(Role.SUPPORT)
    event = _event()
    _stored(lambda: store_events(engine(), [event]))
    return _back(event)


@blueprint.post("/system/events/<int:number>")
def change(number: int) -> Response:
    """Change an event."""
    require(Role.SUPPORT)
    event = replace(_event(), cluster=_cluster_of(number))
    if not _stored(lambda: replace_event(engine(), number, event)):
        _gone(number)
    return _back(event)


@blueprint.post("/system/events/<int:number>/remove")
def remove(number: int) -> Response:
    """Take an event away."""
    require(Role.SUPPORT)
    if not remove_event(engine(), min(number, (1 << 63) - 1)):
        _gone(number)
    return redirect(url_for("system.index"), 303)


def _event() -> Event:
    try:
        form = EventForm().load(request.form.to_dict())
    except ValidationError as error:
        named = error.normalized_messages().items()
        abort(400, description="; ".join(f"{name}: {' '.join(map(str, texts))}" for name, texts in named)[:300])
    end_ns = form["end"] * 10**6 if "end" in form else None
    return Event("", form["kind"], form["place"], form["begin"] * 10**6, end_ns, viewer().name, form["note"])


def _cluster_of(number: int) -> str:
    stored = event_by_id(connection(), min(number, (1 << 63) - 1))
    if stored is None:
        _gone(number)
    return stored.event.cluster


def _gone(number: int) -> NoReturn:
    abort(404, description=f"There is no event {str(number)[:20]}; somebody may have taken it away.")


def _stored(change: Any) -> Any:  # noqa: ANN401
    """What the database refuses is the form's fault."""
    try:
        return change()
    except DatabaseError as error:
        abort(400, description=f"{str(error)[:300]}.")


def _back(event: Event) -> Response:
    """To the day of the event."""
    begin_ms = event.start_ns // 10**6
    end_ms = begin_ms if event.end_ns is None else event.end_ns // 10**6
    around = 3_600_000
    query = urlencode({"from": max(begin_ms - around, 0), "to": end_ms + around})
    return redirect(f"{url_for('system.index')}?{query}", 303)
