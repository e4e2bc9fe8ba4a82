"""Who asks: one person at this machine, whom a trusted proxy vouches for, who signed in by OpenID Connect, or a token.

`viewer()` is whoever made the request that is being answered, `require(role)` ends it for those who may not. Every
address but those in PUBLIC is closed to whoever is nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from flask import Flask, Response, abort, current_app, g, make_response, redirect, request, url_for
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, HTTPException, Unauthorized

from crosswind.web.identity.addresses import client_address
from crosswind.web.identity.oidc import OidcSignIn
from crosswind.web.identity.person import Person, Refused, viewer_of
from crosswind.web.identity.proxy import ProxySignIn
from crosswind.web.identity.rates import Rates
from crosswind.web.identity.roles import Role, Viewer
from crosswind.web.identity.settings import Settings, SettingsError, load_settings
from crosswind.web.identity.single import identify_single
from crosswind.web.identity.tokens import bearer_of, check_scope, identify_token

__all__ = [
    "PUBLIC", "Role", "Settings", "SettingsError", "Viewer", "address_of_client", "init_app", "load_settings",
    "require", "settings", "viewer",
]  # fmt: skip

log = logging.getLogger(__name__)

PUBLIC = frozenset(
    {
        "static", "assets.plotly_js", "health.healthz", "sign_in.begin", "sign_in.callback", "sign_in.sign_out",
    }
)  # fmt: skip
_KEY = "crosswind.settings"


def init_app(app: Flask, chosen: Settings) -> None:
    """Ask for every request who makes it, as the settings say. Raises what reading the secrets they name raises."""
    app.extensions[_KEY] = chosen
    app.config.update(
        SECRET_KEY=chosen.key,
        SESSION_COOKIE_NAME="__Host-crosswind" if chosen.is_secure else "crosswind",
        SESSION_COOKIE_SECURE=chosen.is_secure,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",  # the provider sends the browser back to us
        SESSION_COOKIE_PATH="/",
    )
    app.jinja_env.globals.update(known_viewer=_known_viewer, can_sign_out=chosen.oidc is not None)
    identify = _way_in(app, chosen)
    rates = None if chosen.is_single else Rates(chosen.limits)

    def ask() -> Response | None:
        if rates and request.endpoint != "static":
            rates.from_address(address_of_client())
        if request.endpoint in PUBLIC:
            return None
        try:
            found = _by_token_or(identify, chosen)
        except Refused as error:
            if rates:
                rates.failed(address_of_client())
            log.warning("refused %s: %s", address_of_client(), error)
            raise _refusal(str(error)) from None
        if found is None:
            return _challenge(chosen)
        g.viewer = found
        if rates:
            rates.of_viewer(found.name)
        check_scope(found, request.endpoint)
        return None

    app.before_request(ask)


def viewer() -> Viewer:
    """Whoever made this request."""
    return g.viewer


def require(role: Role) -> None:
    """End the request with 403 for whoever is less than `role`."""
    if viewer().role < role:
        abort(403, description=f"This page is for the role {role.name.lower()}.")


def settings() -> Settings:
    """The settings of the application."""
    return current_app.extensions[_KEY]


def address_of_client() -> str:
    """From where the request came, as far as our own proxy says so."""
    return client_address(request.remote_addr, request.headers.get("X-Forwarded-For", ""), settings().trusted)


def _known_viewer() -> Viewer | None:
    """For the frame of a page: error pages are shown to nobody, too."""
    return g.get("viewer")


def _way_in(app: Flask, chosen: Settings) -> Callable[[], Viewer | None]:
    if chosen.proxy:
        by_proxy = ProxySignIn(chosen, chosen.proxy)
        return lambda: _viewer(by_proxy.identify(request), chosen)
    if chosen.oidc:
        by_oidc = OidcSignIn(app, chosen, chosen.oidc)
        return lambda: _viewer(by_oidc.identify(), chosen)
    return lambda: identify_single(request, chosen.single)


def _viewer(person: Person | None, chosen: Settings) -> Viewer | None:
    return None if person is None else viewer_of(person, chosen)


def _by_token_or(identify: Callable[[], Viewer | None], chosen: Settings) -> Viewer | None:
    """A token stands for itself wherever it comes from; one that is sent and wrong is never passed over."""
    secret = bearer_of(request)
    return identify() if secret is None else identify_token(secret, chosen)


def _refusal(why: str) -> HTTPException:
    text = f"{why[0].upper()}{why[1:]}."
    return Forbidden(text) if bearer_of(request) is None else _unauthorized(text)


def _challenge(chosen: Settings) -> Response:
    """Nobody asks: to the sign-in with a person's browser, 401 for programs."""
    if chosen.oidc and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
        target = request.full_path if request.query_string else request.path
        return make_response(redirect(url_for("sign_in.begin", next=target), 303))
    raise _unauthorized("Sign in, or send a token.")


def _unauthorized(text: str) -> HTTPException:
    return Unauthorized(text, www_authenticate=WWWAuthenticate("bearer", {"realm": "crosswind"}))
