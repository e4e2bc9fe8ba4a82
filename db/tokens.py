"""Tokens of the API: made, found by their secret, listed, revoked. The secret is shown once and nowhere stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass, fields

from sqlalchemy import Connection, Engine, func, select, update

from crosswind.db.access_schema import api_token
from crosswind.db.connection import writing
from crosswind.db.errors import DatabaseError

__all__ = ["MAX_TOKENS", "ROLES", "SCOPES", "Token", "create_token", "find_token", "note_use", "revoke_token", "tokens"]

SCOPES = {
    "read:jobs": "the jobs that its owner may see: lists, series, lost time",
    "read:background": "what all others did beside a job, as a sum",
    "read:system": "the system as a whole, as sums",
}
ROLES = ("user", "lead", "support", "admin")
PREFIX = "xw_"  # so that scanners of repositories can tell what leaked
MAX_TOKENS = 50  # of one owner that are in force
_HOUR_NS = 3600 * 10**9
_MAX_TEXT = 256


@dataclass(frozen=True)
class Token:
    """What is known of a token. used_ns: when it was last used, to the hour; revoked_ns: None while it is in force."""

    id: int
    owner: str
    name: str
    role: str
    scopes: tuple[str, ...]
    created_ns: int
    expires_ns: int
    used_ns: int | None
    revoked_ns: int | None

    def is_in_force(self, now_ns: int) -> bool:
        """Whether it opens anything."""
        return self.revoked_ns is None and now_ns < self.expires_ns


_COLUMNS = [api_token.c[f.name] for f in fields(Token)]


def create_token(
    engine: Engine,
    *,
    owner: str,
    name: str,
    scopes: Collection[str],
    now_ns: int,
    lifetime_ns: int,
    role: str = "user",
) -> tuple[int, str]:
    """A new token: its id and its secret, which cannot be had again. Raises DatabaseError for an unknown scope or role,
    text that is too long, and where the owner has too many.
    """
    unknown = set(scopes) - SCOPES.keys()
    if unknown or not scopes:
        raise DatabaseError(f"a token is for one or more of {', '.join(SCOPES)}")
    if role not in ROLES:
        raise DatabaseError(f"a token acts as one of {', '.join(ROLES)}")
    if not 0 < len(owner) <= _MAX_TEXT or not 0 < len(name) <= _MAX_TEXT or not (owner + name).isprintable():
        raise DatabaseError(f"the owner and the name of a token have 1 to {_MAX_TEXT} printable characters")
    secret = PREFIX + secrets.token_urlsafe(32)
    with writing(engine) as conn:
        held = sum(token.is_in_force(now_ns) for token in tokens(conn, owner))
        if held >= MAX_TOKENS:
            raise DatabaseError(f"{owner} has {held} tokens in force: revoke one first")
        made = conn.execute(
            api_token.insert()
            .values(
                owner=owner,
                name=name,
                role=role,
                scopes=sorted(set(scopes)),
                digest=_digest(secret),
                created_ns=now_ns,
                expires_ns=now_ns + lifetime_ns,
            )
            .returning(api_token.c.id)
        )
        return made.scalar_one(), secret


def find_token(conn: Connection, secret: str, now_ns: int) -> Token | None:
    """The token in force with this secret. It is found by its hash: the time tells nothing of the secret."""
    query = select(*_COLUMNS).where(api_token.c.digest == _digest(secret))
    row = conn.execute(query).one_or_none()
    token = None if row is None else Token(**{**row._mapping, "scopes": tuple(row.scopes)})
    return token if token and token.is_in_force(now_ns) else None


def tokens(conn: Connection, owner: str | None = None, limit: int = 1000) -> list[Token]:
    """The tokens of one owner, or of all, newest first, those that are no more in force too."""
    query = select(*_COLUMNS).order_by(api_token.c.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(api_token.c.owner == owner)
    return [Token(**{**row._mapping, "scopes": tuple(row.scopes)}) for row in conn.execute(query)]


def revoke_token(engine: Engine, token_id: int, now_ns: int, owner: str | None = None) -> Token | None:
    """Let a token open nothing from now on; None: there is none of that id in force (of that owner)."""
    t = api_token.c
    here = [t.id == token_id, t.revoked_ns.is_(None)]
    if owner is not None:
        here.append(t.owner == owner)
    with writing(engine) as conn:
        row = conn.execute(select(*_COLUMNS).where(*here)).one_or_none()
        if row is None:
            return None
        conn.execute(update(api_token).where(*here).values(revoked_ns=now_ns))
        return Token(**{**row._mapping, "scopes": tuple(row.scopes), "revoked_ns": now_ns})


def note_use(engine: Engine, token: Token, now_ns: int) -> None:
    """Remember that a token was used; written once an hour, so that reading does not become writing."""
    if token.used_ns is not None and now_ns - token.used_ns < _HOUR_NS:
        return
    with writing(engine) as conn:
        used = func.coalesce(api_token.c.used_ns, 0)
        conn.execute(update(api_token).where(api_token.c.id == token.id, used < now_ns).values(used_ns=now_ns))


def _digest(secret: str) -> str:
    """A plain hash is enough: 256 random bits cannot be tried out."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
