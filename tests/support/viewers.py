"""The dashboard behind a proxy that signs people in, and one client for each role."""

from __future__ import annotations

import re
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from crosswind.web import create_app
from crosswind.web.identity import Settings

__all__ = ["PROXY_ADDRESS", "ROLES", "client_of", "csrf_token", "proxied_app"]

PROXY_ADDRESS = "10.0.0.5"
ROLES = {"user": "alice", "lead": "lea", "support": "sam", "admin": "root"}  # who has which, by proxied_app
UNLIMITED = "1000000/minute"


def proxied_app(url: str, **changes: Any) -> Flask:
    """The application at `url` behind a proxy at PROXY_ADDRESS, with the people of ROLES. lea leads `chem`."""
    values = {
        "public_url": "http://localhost",
        "proxy": {"trusted": [PROXY_ADDRESS], "header": "X-Remote-User", "groups_header": "X-Remote-Groups"},
        "roles": {"support": ["sam", "@desk"], "admin": ["root"]},
        "projects": {"lea": ["chem"], "@bio": ["bio"]},
        "limits": {"per_viewer": UNLIMITED, "per_address": UNLIMITED, "failed_sign_ins": UNLIMITED},
    }
    return create_app(url, Settings.model_validate(values | changes))


def client_of(app: Flask, user: str | None, groups: str = "", address: str = PROXY_ADDRESS) -> FlaskClient:
    """A client whose requests come from the proxy, which vouches for `user` (None: for nobody)."""
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = address
    if user is not None:
        client.environ_base["HTTP_X_REMOTE_USER"] = user
    if groups:
        client.environ_base["HTTP_X_REMOTE_GROUPS"] = groups
    return client


def csrf_token(client: FlaskClient, path: str) -> str:
    """What the form on a page carries; the client keeps the session that it belongs to."""
    return re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)[1]
