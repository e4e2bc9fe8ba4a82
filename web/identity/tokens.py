"""Tokens of the API: `Authorization: Bearer xw_...`. They open the API only, and there only what they are for."""

from __future__ import annotations

import time
from http import HTTPStatus

from flask import Request, abort, current_app

from crosswind.db import tokens
from crosswind.web.database import connection, engine
from crosswind.web.identity.person import Person, Refused, viewer_of
from crosswind.web.identity.roles import Role, Viewer
from crosswind.web.identity.settings import Settings

__all__ = ["bearer_of", "check_scope", "identify_token"]

_OPEN = frozenset({"api-docs.openapi_json"})  # what any token may read


def bearer_of(request: Request) -> str | None:
    """The token that was sent; None where there is none."""
    authorization = request.authorization
    if authorization is None or authorization.type != "bearer":
        return None
    return authorization.token or ""


def identify_token(secret: str, settings: Settings) -> Viewer:
    """Who acts by a token: its owner, in the role the token was made for, and never in more than the settings give to
    the owner by name now; groups are known of who signs in only. One person alone gives no roles. Raises Refused.
    """
    now_ns = time.time_ns()
    token = tokens.find_token(connection(), secret, now_ns)
    if token is None:
        raise Refused("this token is unknown, revoked or has expired")
    tokens.note_use(engine(), token, now_ns)
    owner = viewer_of(Person(token.owner), settings)
    made_for = Role[token.role.upper()]
    role = made_for if settings.is_single else min(made_for, owner.role)
    projects = owner.projects if role >= Role.LEAD else ()
    return Viewer(token.owner, role, projects, token_scopes=frozenset(token.scopes))


def check_scope(viewer: Viewer, endpoint: str | None) -> None:
    """End the request with 403 where a token is not for it. Whatever declares no scope is closed to tokens."""
    if viewer.token_scopes is None or endpoint in _OPEN or endpoint is None:
        return
    view = getattr(current_app.view_functions[endpoint], "view_class", None)
    needed = getattr(view, "token_scope", None)
    if needed is None:
        abort(HTTPStatus.FORBIDDEN, description="Tokens open the API only.")
    if needed not in viewer.token_scopes:
        abort(HTTPStatus.FORBIDDEN, description=f"This token is not for that: it needs the scope {needed}.")
