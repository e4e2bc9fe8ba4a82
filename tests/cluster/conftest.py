"""One cluster for all tests of a session."""

from collections.abc import Iterator

import pytest

from support.cluster import Cluster, running_cluster
from support.databases import postgresql_server

__all__ = ["cluster", "postgresql_server"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster("slice=500ms digest=off") as running:
        yield running
