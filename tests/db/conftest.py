"""An empty database of each kind, and an engine on it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from crosswind.db import open_database
from support.databases import new_schema, postgresql_server, url

__all__ = ["engine", "postgresql_server", "url"]


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    opened = open_database(url)
    yield opened
    opened.dispose()


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[Engine]:
    """An engine on an empty PostgreSQL database, for what only PostgreSQL does."""
    opened = open_database(new_schema(postgresql_server))
    yield opened
    opened.dispose()
