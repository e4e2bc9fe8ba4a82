"""One read transaction per request, opened on first use, closed at its end: a page shows one state of the database."""

from __future__ import annotations

from contextlib import ExitStack

from flask import Flask, current_app, g
from sqlalchemy import Connection, Engine

from crosswind.db.connection import reading

__all__ = ["connection", "init_app"]

_KEY = "crosswind.engine"


def init_app(app: Flask, engine: Engine) -> None:
    """Tie the application to `engine`."""
    app.extensions[_KEY] = engine
    app.teardown_appcontext(_close)


def connection() -> Connection:
    """The connection of the request that is being answered."""
    if "connection" not in g:
        engine: Engine = current_app.extensions[_KEY]
        g.open_transaction = ExitStack()
        g.connection = g.open_transaction.enter_context(reading(engine))
    return g.connection


def _close(_error: BaseException | None) -> None:
    g.pop("connection", None)
    transaction = g.pop("open_transaction", None)
    if transaction is not None:
        transaction.close()
