"""plotly.js, served from the installed plotly package: no copy in this repository, no content delivery network."""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from importlib import resources

from flask import Blueprint, Flask, Response, request, url_for

__all__ = ["blueprint", "init_app", "plotly_style_ids", "plotly_url"]

blueprint = Blueprint("assets", __name__)

_YEAR_S = 365 * 24 * 3600
_STYLE_ID = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')


@functools.cache
def _plotly() -> tuple[bytes, bytes, str]:
    """plotly.min.js as it is, compressed, and the first digits of its digest. The path is the same in plotly 5 to 7."""
    raw = (resources.files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    return raw, gzip.compress(raw, 6, mtime=0), hashlib.sha256(raw).hexdigest()[:12]


def plotly_url() -> str:
    """The address of plotly.js; it changes with the file, so that a browser may keep it for ever."""
    return url_for("assets.plotly_js", digest=_plotly()[2])


@functools.cache
def plotly_style_ids() -> tuple[str, ...]:
    """Ids of style elements that plotly.js adds for maps when it is loaded, unless the page has an element of that id.

    Our policy refuses inline styles, so pages with plots have empty elements of these ids and nothing is added.
    """
    return tuple(dict.fromkeys(found.decode() for found in _STYLE_ID.findall(_plotly()[0])))


@blueprint.get("/assets/plotly-<digest>.min.js")
def plotly_js(digest: str) -> Response:
    """plotly.js, compressed where the browser takes that. An old digest gets the present file, kept for no time."""
    raw, compressed, current = _plotly()
    takes_gzip = "gzip" in request.accept_encodings
    response = Response(compressed if takes_gzip else raw, mimetype="text/javascript")
    if takes_gzip:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = f"public, max-age={_YEAR_S}, immutable" if digest == current else "no-store"
    return response


def init_app(app: Flask) -> None:
    """Register the route and let templates ask for the address."""
    app.register_blueprint(blueprint)
    app.jinja_env.globals.update(plotly_url=plotly_url, plotly_style_ids=plotly_style_ids)
