"""What every view of the API shares: strict parameters, the scope that a token needs, and how both are described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask.views import MethodView
from flask_smorest import Blueprint
from marshmallow import RAISE
from webargs.flaskparser import FlaskParser

from crosswind.db.tokens import SCOPES

__all__ = ["OPENAPI", "ApiBlueprint"]

_View = TypeVar("_View", bound=type[MethodView])

OPENAPI = {
    "API_TITLE": "Crosswind",
    "API_VERSION": "v1",
    "OPENAPI_VERSION": "3.0.3",
    "OPENAPI_URL_PREFIX": "/api/v1",
    "OPENAPI_JSON_PATH": "openapi.json",
    "API_SPEC_OPTIONS": {
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made on the page Tokens or by crosswind token create. What it opens: "
                    + "; ".join(f"{scope}: {what}" for scope, what in SCOPES.items()),
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-crosswind",
                    "description": "The session of whoever signed in with a browser.",
                },
            }
        }
    },
}


class _Parser(FlaskParser):
    """Impossible parameters are the client's fault (400), and unknown ones are refused instead of passed over."""

    DEFAULT_VALIDATION_STATUS = 400
    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, Any] = {"query": RAISE}  # noqa: RUF012 (webargs' own attribute)


class ApiBlueprint(Blueprint):
    """A blueprint whose views say which scope of a token opens them."""

    ARGUMENTS_PARSER = _Parser()

    def token_scope(self, scope: str) -> Callable[[_View], _View]:
        """Below `route`: tokens need this scope here (web.identity.tokens checks it), and the description says so."""
        if scope not in SCOPES:
            raise ValueError(f"no token has the scope {scope}")

        def mark(view: _View) -> _View:
            described = self.doc(**{"security": [{"token": []}, {"session": []}], "x-token-scope": scope})
            view.token_scope = scope  # type: ignore[attr-defined]
            view.get = described(view.get)  # type: ignore[attr-defined]
            for code, why in (
                (400, "impossible parameters"),
                (401, "not signed in"),
                (403, "the token is not for this"),
                (429, "too many requests"),
            ):
                view.get = self.alt_response(code, description=why)(view.get)  # type: ignore[attr-defined]
            return view

        return mark
