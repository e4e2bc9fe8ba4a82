"""`crosswind serve`: the dashboard for one person or one site, on gunicorn."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["serve_command"]

THREADS = 4  # of each worker: they wait for the database at the same time
MOST_WORKERS = 4  # by default, on machines with more processors
BACKLOG = 256  # connections that wait while the workers start or are busy
_TAKEN = (errno.EADDRINUSE, errno.EACCES)


@click.command("serve")
@db_option(required=True)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=lambda: min(MOST_WORKERS, len(os.sched_getaffinity(0))),
    show_default=f"processors, at most {MOST_WORKERS}",
    help="Processes that answer.",
)
def serve_command(db: str, port: int, host: str, workers: int) -> None:
    """Serve the dashboard over a database, until Ctrl-C or SIGTERM.

    By default only this machine can reach it. There is no sign-in: whoever reaches the address sees every job.

    \b
    Example: crosswind serve --db sqlite:///crosswind.db
    """
    from crosswind.db.connection import open_database

    open_database(db, create=False).dispose()  # a missing or newer database is told here, in one line
    listener = _listen(host, port)
    shown, bound = listener.getsockname()[:2]
    if not ipaddress.ip_address(shown).is_loopback:
        click.echo(f"crosswind serve: anyone who reaches {shown} port {bound} sees every job", err=True)
    click.echo(f"Crosswind is at http://{_in_url(shown)}:{bound}/ (end with Ctrl-C)")
    sys.stdout.flush()
    _run(db, listener.detach(), workers)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on. CommandError: there is no such address, or the port is taken."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}: {error.strerror}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        way_out = "choose another with --port" if error.errno in _TAKEN else "see --host and --port"
        raise CommandError(f"cannot listen on {host} port {port}: {error.strerror}: {way_out}") from error
    return listener


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _run(db: str, descriptor: int, workers: int) -> None:
    """Hand over to gunicorn, which closes the socket."""
    from gunicorn.app.base import BaseApplication

    class Server(BaseApplication):
        """gunicorn without its own command line."""

        def load_config(self) -> None:
            settings: dict[str, Any] = {
                "bind": f"fd://{descriptor}",
                "worker_class": "gthread",
                "workers": workers,
                "threads": THREADS,
                "loglevel": "warning",
                "proc_name": "crosswind serve",
                "control_socket_disable": True,
            }
            for name, value in settings.items():
                if name in self.cfg.settings:  # the last one is there from gunicorn 25 on
                    self.cfg.set(name, value)

        def load(self) -> Flask:
            from crosswind.web import create_app

            return create_app(db)

    Server().run()
