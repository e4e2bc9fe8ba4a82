"""The lookup: what rose when a job lost time."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, render_template

from crosswind.web.database import connection
from crosswind.web.joblookup import job_or_404
from crosswind.web.lookup import read_lookup

__all__ = ["blueprint"]

blueprint = Blueprint("lookup", __name__)


@blueprint.get("/jobs/<int:key>/lookup")
def page(key: int) -> str:
    """The ranked list of what ran beside a job."""
    conn = connection()
    job = job_or_404(conn, key)
    return render_template("lookup.html", job=job, lookup=read_lookup(conn, job))


@blueprint.get("/jobs/<int:key>/lookup.json")
def document(key: int) -> Response:
    """The same as JSON."""
    conn = connection()
    return jsonify(read_lookup(conn, job_or_404(conn, key)).to_json())
