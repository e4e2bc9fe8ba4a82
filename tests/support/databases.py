"""Databases for tests: an SQLite file each, and a PostgreSQL server of our own where the machine has the programs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a private PostgreSQL server without the database's name; skips where there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda p: int(p.parts[-3]))
    if not folders:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql-15): only SQLite is tested")
    pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'psycopg[binary]')")
    with _cluster(folders[-1].parent) as port:
        yield f"postgresql://tester@127.0.0.1:{port}"


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


@contextmanager
def _cluster(programs: Path) -> Iterator[int]:
    """A server on a free loopback port, run by an ordinary user (it refuses root), gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="crosswind-pg-", dir="/tmp"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = next((n for n in ("postgres", "nobody") if n in {e.pw_name for e in pwd.getpwall()}), None)
        if user is None or shutil.which("setpriv") is None:
            shutil.rmtree(folder)
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres or no setpriv")
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        as_user = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=64MB"

    def run(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), "-D", f"{folder}/data", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    try:
        run("initdb", "--auth=trust", "--username=tester", "--no-sync", "--encoding=UTF8", "--locale=C")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield port
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
