"""Errors that explain: a page for people, JSON for programs. Neither shows a stack, a path or the database's URL."""

from __future__ import annotations

import logging

from flask import Flask, Response, make_response, render_template, request
from flask_smorest import Api
from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable

from crosswind.db import DatabaseError

__all__ = ["init_app"]

log = logging.getLogger(__name__)

_ADVICE = {
    400: "Correct the address, or start again from the list of jobs.",
    401: "Programs send a token: Authorization: Bearer TOKEN. People come by the site's sign-in.",
    403: "Ask your site's staff if you should see this.",
    404: "The address may be mistyped, or the job has not been collected yet or is past its retention time.",
    405: "This address does not take such a request.",
    413: "The request is larger than anything this server answers.",
    429: "The answer is the same in a minute.",
    500: "This is a fault of the dashboard, not of your job. The server's log has the details.",
    503: "The database does not answer. Nothing is lost: the profiles stay in the spool until it is back.",
}


def init_app(app: Flask, api: Api) -> None:
    """Answer every error below /api as JSON and everywhere else as a page."""

    def on_http_error(error: HTTPException) -> Response:
        if request.path.startswith("/api/"):
            return _document(api, error)
        return _page(error)

    def on_database_error(error: DatabaseError) -> Response:
        log.error("database: %s", error)
        return on_http_error(ServiceUnavailable("The database cannot be read at the moment."))

    def on_fault(error: Exception) -> Response:
        log.exception("fault while answering %s", request.endpoint, exc_info=error)
        return on_http_error(InternalServerError())

    app.register_error_handler(HTTPException, on_http_error)
    app.register_error_handler(DatabaseError, on_database_error)
    app.register_error_handler(Exception, on_fault)


def _document(api: Api, error: HTTPException) -> Response:
    """The error as JSON, with the words of the page."""
    content, *rest = api.handle_http_exception(error)
    return _with_headers(make_response({"message": error.description} | content, *rest), error)


def _page(error: HTTPException) -> Response:
    code = error.code or 500
    html = render_template("error.html", code=code, name=error.name, what=error.description, advice=_ADVICE.get(code))
    return _with_headers(make_response(html, code), error)


def _with_headers(response: Response, error: HTTPException) -> Response:
    """What tells programs the way out: which methods there are, how to sign in, how long to wait."""
    for name, value in error.get_headers():
        if name in ("Allow", "WWW-Authenticate", "Retry-After"):
            response.headers.setdefault(name, value)
    return response
