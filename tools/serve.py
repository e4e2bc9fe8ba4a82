"""`crosswind serve`: the dashboard for one person or one site, on gunicorn."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError

if TYPE_CHECKING:
    from flask import Flask

    from crosswind.web.identity import Settings

__all__ = ["serve_command"]

THREADS = 4  # of each worker: they wait for the database at the same time
MOST_WORKERS = 4  # by default, on machines with more processors
KEEP_S = 75  # an idle connection: longer than people take for a page, or their next click meets one that just closes
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
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file that says how people sign in and who may see what; by default one person at this machine.",
)
def serve_command(db: str, port: int, host: str, workers: int, config: Path | None) -> None:
    """Serve the dashboard over a database, until Ctrl-C or SIGTERM.

    Without --config it is for one person: only this machine is answered, and whoever is on it sees every job.

    \b
    Example: crosswind serve --db sqlite:///crosswind.db
    """
    # Before NumPy is loaded: the workers share the processors, and threads of each worker's BLAS would wait for them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from crosswind.db.connection import open_database
    from crosswind.web import build_app
    from crosswind.web.identity import Settings, load_settings

    settings = load_settings(config) if config else Settings()
    engine = open_database(db, create=False)
    build_app(engine, settings)  # what is wrong with the database or the settings is told here, in one line
    engine.dispose()
    listener = _listen(host, port)
    shown, bound = listener.getsockname()[:2]
    if settings.is_single and not ipaddress.ip_address(shown).is_loopback:
        click.echo("crosswind serve: without a sign-in only this machine is answered: see --config", err=True)
    click.echo(f"Crosswind is at http://{_in_url(shown)}:{bound}/ (end with Ctrl-C)")
    sys.stdout.flush()
    _run(db, listener.detach(), workers, settings)


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


def _run(db: str, descriptor: int, workers: int, settings: Settings) -> None:
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
                "keepalive": KEEP_S,
                "loglevel": "warning",
                "proc_name": "crosswind serve",
                "control_socket_disable": True,
            }
            for name, value in settings.items():
                if name in self.cfg.settings:  # the last one is there from gunicorn 25 on
                    self.cfg.set(name, value)

        def load(self) -> Flask:
            from crosswind.web import create_app

            return create_app(db, settings)

    Server().run()
