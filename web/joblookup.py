"""Find the job an address names, or say why there is none."""

from __future__ import annotations

from flask import abort
from sqlalchemy import Connection

from crosswind.db import queries
from crosswind.db.queries import JobRow
from crosswind.web.identity import viewer

__all__ = ["job_or_404"]

_LARGEST_KEY = (1 << 63) - 1


def job_or_404(conn: Connection, key: int) -> JobRow:
    """The job with this key. Ends the request with 404 where there is none that the viewer may see: both are the same
    to whoever asks.
    """
    job = queries.get_job(conn, key, viewer().scope) if key <= _LARGEST_KEY else None
    if job is None:
        abort(404, description=f"There is no job with key {str(key)[:20]} in this database.")
    return job
