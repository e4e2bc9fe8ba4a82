"""Compressed answers: figures and time lines are long rows of digits, a quarter of their size when packed."""

from __future__ import annotations

import gzip

from flask import Flask, Response, request

__all__ = ["init_app"]

_SMALLEST = 2048  # bytes; below, the headers weigh more than what is saved
_TYPES = ("application/json", "text/html")


def init_app(app: Flask) -> None:
    """Compress pages and JSON for clients that take gzip."""
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if response.direct_passthrough or response.is_streamed or response.mimetype not in _TYPES:
        return response
    response.headers.add("Vary", "Accept-Encoding")
    if "gzip" not in request.accept_encodings or "Content-Encoding" in response.headers:
        return response
    if len(response.get_data()) >= _SMALLEST:
        response.set_data(gzip.compress(response.get_data(), 5, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response
