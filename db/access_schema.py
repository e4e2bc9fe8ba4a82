"""The tables of who may ask and who looked. Migrations build them (db/migrations).

    api_token      a key to the API; of its secret only the hash is stored
    access_log     who opened a job of somebody else, read of others in a list, made or revoked a token

A line of the log outlives what it speaks of: it has no foreign keys.
"""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Index, Table, Text

from crosswind.db.schema import _Id as Id
from crosswind.db.schema import metadata

__all__ = ["access_log", "api_token"]

api_token = Table(
    "api_token",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),  # what its owner calls it
    Column("role", Text, nullable=False),  # what it acts as: user, lead, support, admin
    Column("scopes", JSON, nullable=False),  # crosswind.db.tokens.SCOPES
    Column("digest", Text, nullable=False, unique=True),  # SHA-256 of the secret, hexadecimal
    Column("created_ns", BigInteger, nullable=False),
    Column("expires_ns", BigInteger, nullable=False),
    Column("used_ns", BigInteger),  # to the hour
    Column("revoked_ns", BigInteger),
    Index(None, "owner"),
)

access_log = Table(
    "access_log",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at_ns", BigInteger, nullable=False),
    Column("viewer", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("action", Text, nullable=False),  # crosswind.db.audit.ACTIONS
    Column("job_key", BigInteger),
    Column("subject", Text, nullable=False),  # whose job or token
    Column("detail", Text, nullable=False),  # the job's id and step, the token's name, the list and its names
    Column("address", Text, nullable=False),
    Index(None, "at_ns"),
    Index(None, "viewer", "job_key", "at_ns"),
)
