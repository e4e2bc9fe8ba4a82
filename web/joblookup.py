"""Find the job an address names, or say why there is none."""

from __future__ import annotations

import time

from flask import abort
from sqlalchemy import Connection

from crosswind.db import queries
from crosswind.db.audit import LogLine, has_looked, write_line
from crosswind.db.queries import JobRow
from crosswind.web.database import engine
from crosswind.web.identity import address_of_client, viewer

__all__ = ["job_or_404"]

_LARGEST_KEY = (1 << 63) - 1
_ONE_LOOK_NS = 600 * 10**9  # a page and all it loads is one line of the log


def job_or_404(conn: Connection, key: int) -> JobRow:
    """The job with this key. Ends the request with 404 where there is none that the viewer may see: both are the same
    to whoever asks. That somebody opens a job of somebody else is written down first.
    """
    job = queries.get_job(conn, key, viewer().scope) if key <= _LARGEST_KEY else None
    if job is None:
        abort(404, description=f"There is no job with key {str(key)[:20]} in this database.")
    _log_look(conn, job)
    return job


def _log_look(conn: Connection, job: JobRow) -> None:
    asks, now_ns = viewer(), time.time_ns()
    if asks.single or job.user == asks.name or has_looked(conn, asks.name, job.key, now_ns - _ONE_LOOK_NS):
        return
    detail = f"{job.job_id}.{job.step}" if job.step else job.job_id
    line = LogLine(now_ns, asks.name, asks.role.name.lower(), "job", job.user, detail, address_of_client(), job.key)
    write_line(engine(), line)
