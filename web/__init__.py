"""The dashboard: server-rendered pages and a REST API over one database. `create_app` is the only way in."""

from __future__ import annotations

import secrets
from pathlib import Path

from flask import Flask
from sqlalchemy import Engine

from crosswind.db.connection import open_database
from crosswind.web import api, assets, compression, database, errors, filters, identity, pages, security

__all__ = ["create_app"]


def create_app(db_url: str) -> Flask:
    """The application over the database at `db_url` (SQLAlchemy's form, `sqlite:///FILE`).

    Raises what `open_database` raises: the database is missing, newer than this program, or unreachable.
    """
    return build_app(open_database(db_url, create=False))


def build_app(engine: Engine) -> Flask:
    """The application over an open engine."""
    # Flask cannot derive a folder for instance files from a namespace package; none is used.
    app = Flask(__name__, instance_path=str(Path(__file__).parent))
    app.config.update(TEMPLATES_AUTO_RELOAD=False, MAX_CONTENT_LENGTH=64 * 1024, SECRET_KEY=secrets.token_bytes(32))
    database.init_app(app, engine)
    identity.init_app(app)
    security.init_app(app)
    compression.init_app(app)
    filters.init_app(app)
    assets.init_app(app)
    rest = api.init_app(app)
    pages.init_app(app)
    errors.init_app(app, rest)
    return app
