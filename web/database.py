"""One read transaction per request, opened on first use, closed at its end: a page shows one state of the database."""

from __future__ import annotations

from contextlib import ExitStack

from flask import Flask, current_app, g
from sqlalchemy import Connection, Engine

from crosswind.db.connection import reading

__all__ = ["connection", "engine", "init_app"]

_KEY = "crosswind.engine"


def init_app(app: Flask, database: Engine) -> None:
    """Tie the application to `database`."""
    app.extensions[_KEY] = database
    app.teardown_appcontext(_close)


def engine() -> Engine:
    """The application's engine: `with writing(engine()) as conn` for the few pages that store something."""
    return current_app.extensions[_KEY]


def connection() -> Connection:
    """The connection of the request that is being answered; it only reads."""
    if "connection" not in g:
        g.open_transaction = ExitStack()
        g.connection = g.open_transaction.enter_context(reading(engine()))
    return g.connection


def _close(_error: BaseException | None) -> None:
    g.pop("connection", None)
    transaction = g.pop("open_transaction", None)
    if transaction is not None:
        transaction.close()
