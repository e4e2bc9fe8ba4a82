"""Who opened a job of somebody else, and who made or revoked tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from sqlalchemy import Connection, Engine, delete, func, select

from crosswind.db.access_schema import access_log
from crosswind.db.connection import writing

__all__ = ["ACTIONS", "LogLine", "access_lines", "forget_lines", "has_looked", "write_line"]

ACTIONS = ("job", "token made", "token revoked")
MAX_LINES = 1000  # of one answer
_MAX_TEXT = 512


@dataclass(frozen=True)
class LogLine:
    """Who did what. subject: whose job or token it is. detail: the job's id and step, the token's name."""

    at_ns: int
    viewer: str
    role: str
    action: str
    subject: str
    detail: str
    address: str
    job_key: int | None = None


_COLUMNS = [access_log.c[f.name] for f in fields(LogLine)]


def write_line(engine: Engine, line: LogLine) -> None:
    """Store a line; it is there when this returns. Raises DatabaseError where nothing can be stored."""
    values = {name: value[:_MAX_TEXT] if isinstance(value, str) else value for name, value in asdict(line).items()}
    with writing(engine) as conn:
        conn.execute(access_log.insert().values(values))


def has_looked(conn: Connection, viewer: str, job_key: int, since_ns: int) -> bool:
    """Whether the viewer opened that job since then."""
    a = access_log.c
    query = select(a.id).where(a.viewer == viewer, a.job_key == job_key, a.at_ns >= since_ns).limit(1)
    return conn.execute(query).one_or_none() is not None


def access_lines(
    conn: Connection,
    *,
    viewer: str | None = None,
    subject: str | None = None,
    since_ns: int = 0,
    limit: int = 100,
    offset: int = 0,
) -> tuple[list[LogLine], int]:
    """One page of the log, newest first, and how many lines there are. Of one viewer, or of one subject."""
    a = access_log.c
    here = [a.at_ns >= since_ns]
    if viewer is not None:
        here.append(a.viewer == viewer)
    if subject is not None:
        here.append(a.subject == subject)
    total = conn.execute(select(func.count()).select_from(access_log).where(*here)).scalar_one()
    page = select(*_COLUMNS).where(*here).order_by(a.at_ns.desc(), a.id.desc())
    rows = conn.execute(page.limit(min(limit, MAX_LINES)).offset(offset))
    return [LogLine(**row._mapping) for row in rows], total


def forget_lines(engine: Engine, before_ns: int) -> int:
    """Delete what is older; how many lines that were."""
    with writing(engine) as conn:
        return conn.execute(delete(access_log).where(access_log.c.at_ns < before_ns)).rowcount
