"""Databases for tests: an SQLite file each, and a PostgreSQL server of our own where the machine has the programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from support.postgresql import NoServer, private_server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a private PostgreSQL server without the database's name; skips where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'psycopg[binary]')")
    try:
        with private_server() as server:
            yield server
    except NoServer as error:
        pytest.skip(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/crosswind.db"
    return new_schema(request.getfixturevalue("postgresql_server"))


def new_schema(server: str) -> str:
    """The URL of an empty schema on a server: making a database would copy some hundred files."""
    import psycopg

    name = f"t{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}/postgres?options=-csearch_path%3D{name}"
