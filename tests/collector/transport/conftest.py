"""Two nodes and a collector, and a real NATS server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.transport import NatsServer, Nodes


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path)


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    pytest.importorskip("nats", reason="nats-py is not installed: pip install 'crosswind[nats]'")
    if shutil.which("nats-server") is None:
        pytest.skip("there is no NATS server: apt-get install nats-server")
    server = NatsServer(tmp_path)
    yield server
    server.kill()
