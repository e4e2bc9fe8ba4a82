"""A viewer's own tokens of the API: made, shown once, revoked."""

from __future__ import annotations

import time
from http import HTTPStatus

from flask import Blueprint, Response, abort, make_response, redirect, render_template, request, url_for
from marshmallow import ValidationError, fields, validate

from crosswind.db import DatabaseError
from crosswind.db.audit import LogLine, write_line
from crosswind.db.tokens import SCOPES, create_token, revoke_token, tokens
from crosswind.web.database import connection, engine
from crosswind.web.identity import address_of_client, viewer
from crosswind.web.schemas import FormArguments

__all__ = ["blueprint"]

blueprint = Blueprint("tokens", __name__)

DAY_NS = 86400 * 10**9
LIFETIMES_D = (7, 30, 90, 365)


class _NewToken(FormArguments):
    """The form."""

    name = fields.String(required=True, validate=validate.Length(1, 100))
    days = fields.Integer(required=True, validate=validate.OneOf(LIFETIMES_D))
    scopes = fields.List(
        fields.String(validate=validate.OneOf(list(SCOPES))), required=True, validate=validate.Length(1)
    )


@blueprint.get("/tokens")
def index() -> str:
    """The list, and the form for another."""
    return _page()


@blueprint.post("/tokens")
def make() -> Response:
    """Make a token and show its secret, this once."""
    _not_alone()
    form = request.form
    try:
        wanted = _NewToken().load({**form.to_dict(), "scopes": form.getlist("scopes")})
    except ValidationError:
        return make_response(_page(problem="Name the token and choose what it may read."), HTTPStatus.BAD_REQUEST)
    now_ns, owner = time.time_ns(), viewer().name
    try:
        number, secret = create_token(
            engine(),
            owner=owner,
            name=wanted["name"],
            scopes=wanted["scopes"],
            now_ns=now_ns,
            lifetime_ns=wanted["days"] * DAY_NS,
        )
    except DatabaseError as error:
        return make_response(_page(problem=str(error)), HTTPStatus.BAD_REQUEST)
    _log("token made", wanted["name"], now_ns)
    return make_response(_page(secret=secret, made=number))


@blueprint.post("/tokens/<int:number>/revoke")
def revoke(number: int) -> Response:
    """Let one of the viewer's own tokens open nothing any more."""
    _not_alone()
    now_ns = time.time_ns()
    revoked = revoke_token(engine(), min(number, (1 << 63) - 1), now_ns, viewer().name)
    if revoked is None:
        abort(HTTPStatus.NOT_FOUND, description="You have no token of that number in force.")
    _log("token revoked", revoked.name, now_ns)
    return make_response(redirect(url_for("tokens.index"), HTTPStatus.SEE_OTHER))


def _page(*, secret: str = "", made: int = 0, problem: str = "") -> str:
    asks = viewer()
    mine = [] if asks.single else tokens(connection(), asks.name)
    return render_template(
        "tokens.html",
        tokens=mine,
        now_ns=time.time_ns(),
        scopes=SCOPES,
        lifetimes=LIFETIMES_D,
        secret=secret,
        made=made,
        problem=problem,
    )


def _not_alone() -> None:
    if viewer().single:
        abort(HTTPStatus.BAD_REQUEST, description="One person at this machine needs no token: the API is open to it.")


def _log(action: str, name: str, now_ns: int) -> None:
    asks = viewer()
    write_line(
        engine(), LogLine(now_ns, asks.name, asks.role.name.lower(), action, asks.name, name, address_of_client())
    )
