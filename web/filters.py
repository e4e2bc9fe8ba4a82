"""What templates may call: formatted numbers, times with their machine form, addresses that keep the query."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Flask, request, url_for
from markupsafe import Markup

from crosswind.web import text
from crosswind.web.resource_words import resource_words, the_resource

__all__ = ["init_app"]


def init_app(app: Flask) -> None:
    """Add the filters and functions."""
    app.jinja_env.filters.update(quantity=text.quantity, count=text.count, duration=text.duration, utc=time_element)
    app.jinja_env.filters.update(utc_iso=text.utc_iso, utc_plain=text.utc)
    app.jinja_env.globals.update(with_query=with_query, resource_words=resource_words, the_resource=the_resource)


def time_element(ns: int | None) -> Markup:
    """A `<time>` in UTC; the page's script adds the reader's local time."""
    template = Markup('<time datetime="{}" data-utc>{} UTC</time>')
    return template.format(text.utc_iso(ns), text.utc(ns)) if text.utc_iso(ns) else Markup("–")


def with_query(**changes: str | int | None) -> str:
    """The present address with some parameters changed (None: taken away), so that every state has an address.

    The query is encoded here and not by url_for, which gives names such as `_scheme` a meaning of its own.
    """
    wanted = {**request.args.to_dict(), **changes}
    query = urlencode({name: value for name, value in wanted.items() if value not in (None, "")})
    return url_for(request.endpoint or "", **(request.view_args or {})) + (f"?{query}" if query else "")
