"""Who opened a job of somebody else or read of others in a list, and who made or revoked tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, func, or_, select

from crosswind.db.access_schema import access_log
from crosswind.db.connection import writing

__all__ = [
    "ACTIONS", "NAMES", "LogLine", "access_lines", "forget_lines", "has_looked", "has_read", "write_line",
]  # fmt: skip

NAMES = "names"  # were read in a list
ACTIONS = ("job", NAMES, "token made", "token revoked")
MAX_LINES = 1000  # of one answer
_MAX_TEXT = 512


@dataclass(frozen=True)
class LogLine:
    """Who did what. subject: whose job or token it is; of a list who is the only other one in it, else how many are.
    detail: the job's id and step, the token's name, the list and the names in it, with commas between them.
    """

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


def has_read(conn: Connection, viewer: str, detail: str, since_ns: int) -> bool:
    """Whether the viewer read a list with the same names since then."""
    a = access_log.c
    here = (a.viewer == viewer, a.job_key.is_(None), a.at_ns >= since_ns, a.action == NAMES, a.detail == detail)
    return conn.execute(select(a.id).where(*here).limit(1)).one_or_none() is not None


def access_lines(
    conn: Connection,
    *,
    viewer: str | None = None,
    subject: str | None = None,
    since_ns: int = 0,
    limit: int = 100,
    offset: int = 0,
) -> tuple[list[LogLine], int]:
    """One page of the log, newest first, and how many lines there are. Of one viewer, or of one subject: lists in whose
    line the name stands, too.
    """
    a = access_log.c
    here = [a.at_ns >= since_ns]
    if viewer is not None:
        here.append(a.viewer == viewer)
    if subject is not None:
        here.append(or_(a.subject == subject, and_(a.action == NAMES, _names(subject))))
    total = conn.execute(select(func.count()).select_from(access_log).where(*here)).scalar_one()
    page = select(*_COLUMNS).where(*here).order_by(a.at_ns.desc(), a.id.desc())
    rows = conn.execute(page.limit(min(limit, MAX_LINES)).offset(offset))
    return [LogLine(**row._mapping) for row in rows], total


def _names(user: str) -> ColumnElement[bool]:
    """Whether a list's detail has the name."""
    detail = access_log.c.detail
    return or_(detail.contains(f" {user},", autoescape=True), detail.endswith(f" {user}", autoescape=True))


def forget_lines(engine: Engine, before_ns: int) -> int:
    """Delete what is older; how many lines that were."""
    with writing(engine) as conn:
        return conn.execute(delete(access_log).where(access_log.c.at_ns < before_ns)).rowcount
