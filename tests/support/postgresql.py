"""A PostgreSQL server of one's own, for tests and benchmarks: on a free loopback port, gone at the end."""

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

__all__ = ["NoServer", "private_server"]

QUICK = ("fsync=off", "shared_buffers=64MB")  # for tests, whose databases may be lost


class NoServer(Exception):
    """There can be no server here; the message says why and what to do."""


@contextmanager
def private_server(settings: tuple[str, ...] = QUICK, below: Path = Path("/tmp")) -> Iterator[str]:
    """The URL of a server without the database's name. It is run by an ordinary user, as it refuses root.

    Raises NoServer.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda p: int(p.parts[-3]))
    if not folders:
        raise NoServer("PostgreSQL is not installed (apt-get install postgresql-15): only SQLite is tested")
    programs = folders[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="crosswind-pg-", dir=below))
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = next((n for n in ("postgres", "nobody") if n in {e.pw_name for e in pwd.getpwall()}), None)
        if user is None or shutil.which("setpriv") is None:
            shutil.rmtree(folder)
            raise NoServer("PostgreSQL does not run as root, and there is no user postgres or no setpriv")
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        as_user = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = " ".join(
        [f"-p {port} -k {folder}", *(f"-c {each}" for each in ("listen_addresses=127.0.0.1", *settings))]
    )

    def run(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), "-D", f"{folder}/data", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    try:
        run("initdb", "--auth=trust", "--username=tester", "--no-sync", "--encoding=UTF8", "--locale=C")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
