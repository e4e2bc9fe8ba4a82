"""The dashboard: server-rendered pages and a REST API over one database. `create_app` is the only way in."""

from __future__ import annotations

from pathlib import Path

from flask import Flask
from sqlalchemy import Engine

from crosswind.db.connection import open_database
from crosswind.web import api, assets, compression, database, errors, filters, identity, pages, security
from crosswind.web.identity import Settings

__all__ = ["build_app", "create_app"]


def create_app(db_url: str, settings: Settings | None = None) -> Flask:
    """The application over the database at `db_url` (SQLAlchemy's form, `sqlite:///FILE`). settings: who signs in and
    how; by default one person at this machine.

    Raises what `open_database` raises: the database is missing, newer than this program, or unreachable; SettingsError
    or OSError for a secret that cannot be read.
    """
    return build_app(open_database(db_url, create=False), settings or Settings())


def build_app(engine: Engine, settings: Settings) -> Flask:
    """The application over an open engine. Raises SettingsError or OSError as create_app."""
    # Flask cannot derive a folder for instance files from a namespace package; none is used.
    app = Flask(__name__, instance_path=str(Path(__file__).parent))
    app.config.update(TEMPLATES_AUTO_RELOAD=False, MAX_CONTENT_LENGTH=64 * 1024)
    database.init_app(app, engine)
    identity.init_app(app, settings)
    security.init_app(app)
    compression.init_app(app)
    filters.init_app(app)
    assets.init_app(app)
    rest = api.init_app(app)
    pages.init_app(app)
    errors.init_app(app, rest)
    return app
