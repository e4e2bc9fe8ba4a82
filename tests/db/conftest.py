"""An empty database of each kind, and an engine on it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from crosswind.db import open_database
from support.databases import postgresql_server, url

__all__ = ["engine", "postgresql_server", "url"]


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    opened = open_database(url)
    yield opened
    opened.dispose()
