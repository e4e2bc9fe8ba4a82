"""A fresh cluster for each file of tests: it is there in a second."""

from collections.abc import Iterator

import pytest

from support.cluster import Cluster, running_cluster
from support.databases import postgresql_server

__all__ = ["cluster", "postgresql_server"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("slice=500ms digest=off") as running:
        yield running
