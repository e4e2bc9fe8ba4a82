"""Whether the dashboard can answer, for whatever watches it: no names, no numbers."""

from __future__ import annotations

from flask import Blueprint, Response

from crosswind.db import queries
from crosswind.web.database import connection

__all__ = ["blueprint"]

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 where the database answers; the page of errors says 503 where it does not."""
    queries.get_job(connection(), 0)
    return Response("ok\n", mimetype="text/plain")
