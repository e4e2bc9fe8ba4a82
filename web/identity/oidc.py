"""Sign-in by OpenID Connect: code flow with PKCE, state and nonce, by Authlib; the answer lies in a signed cookie."""

from __future__ import annotations

import logging
import time
from typing import Any, NoReturn

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.flask_client import OAuth
from flask import Blueprint, Flask, Response, abort, redirect, render_template, request, session, url_for
from joserfc.errors import JoseError
from requests import RequestException

from crosswind.web.identity.person import Person, Refused, person_of
from crosswind.web.identity.settings import Oidc, Settings, read_secret

__all__ = ["OidcSignIn"]

log = logging.getLogger(__name__)

_PERSON = "person"  # keys of the session
_NEXT = "next"
_BROKEN = (RequestException, RuntimeError, ValueError, KeyError, TypeError)  # what is raised for odd answers
_TIMEOUT_S = 10  # of the provider
_MOST_BEGUN = 10  # what a browser's session holds of sign-ins that were begun and not ended


class OidcSignIn:
    """The pages of the sign-in, and who came back from it. Raises what reading the client's secret raises."""

    def __init__(self, app: Flask, settings: Settings, oidc: Oidc) -> None:
        self._settings = settings
        self._oidc = oidc
        self._client = OAuth(app).register(
            "provider",
            client_id=oidc.client_id,
            client_secret=read_secret(oidc.client_secret_file) if oidc.client_secret_file else None,
            server_metadata_url=f"{oidc.issuer}/.well-known/openid-configuration",
            client_kwargs={
                "scope": oidc.scopes,
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": "client_secret_basic" if oidc.client_secret_file else "none",
                "default_timeout": _TIMEOUT_S,
            },
        )
        self._demands = {
            "iss": {"essential": True, "value": oidc.issuer},
            "aud": {"essential": True, "value": oidc.client_id},
            "sub": {"essential": True},
            "exp": {"essential": True},
            "nonce": {"essential": True},
        }
        pages = Blueprint("sign_in", __name__)
        pages.get("/sign-in")(self.begin)
        pages.get("/sign-in/callback")(self.callback)
        pages.post("/sign-out")(self.sign_out)
        app.register_blueprint(pages)

    def identify(self) -> Person | None:
        """Who signed in with this browser and not too long ago."""
        stored = session.get(_PERSON)
        if not stored or time.time() - stored["at"] > 3600 * self._oidc.session_hours:
            return None
        return Person(stored["name"], tuple(stored["groups"]))

    def begin(self) -> Response:
        """Send the browser to the provider."""
        if len(session) > _MOST_BEGUN:
            session.clear()
        session.pop(_PERSON, None)
        session[_NEXT] = _own_path(request.args.get("next", ""))
        try:
            self._check_issuer()
            return self._client.authorize_redirect(f"{self._settings.public_url}{url_for('sign_in.callback')}")
        except (AuthlibBaseError, *_BROKEN) as error:
            _unavailable(error)

    def callback(self) -> Response:
        """Take what the provider says: the state is ours, the code was asked for by us, the token is checked."""
        try:
            self._check_issuer()
            token = self._client.authorize_access_token(claims_options=self._demands)
        except (AuthlibBaseError, JoseError) as error:
            log.warning("sign-in refused: %r", str(error)[:500])  # its words may be the browser's: no line of their own
            abort(403, description="The sign-in did not succeed, or took too long. Start again.")
        except _BROKEN as error:
            _unavailable(error)
        claims = token.get("userinfo") or {}
        person = self._person(claims)
        wanted = session.get(_NEXT, "/")
        session.clear()
        session[_PERSON] = {"name": person.name, "groups": list(person.groups), "at": int(time.time())}
        return redirect(wanted, 303)  # type: ignore[return-value]

    def sign_out(self) -> str:
        """Forget who signed in here. The provider may remember: it signs in again without asking."""
        session.clear()
        return render_template("signed_out.html")

    def _check_issuer(self) -> None:
        """What describes itself as somebody else is not whom the site trusts."""
        if self._client.load_server_metadata().get("issuer") != self._oidc.issuer:
            raise ValueError("it describes itself as another issuer than the settings name")

    def _person(self, claims: dict[str, Any]) -> Person:
        groups = claims.get(self._oidc.groups_claim)
        listed = groups if isinstance(groups, list) else []
        try:
            return person_of(
                claims.get(self._oidc.user_claim), listed, self._settings, strip_domain=self._oidc.strip_domain
            )
        except Refused as error:
            abort(403, description=f"{str(error).capitalize()}.")


def _own_path(text: str) -> str:
    """A path on this server; anything that a browser could take for another address becomes the list of jobs."""
    if not text.startswith("/") or text.startswith("//") or "\\" in text or not text.isprintable():
        return "/"
    return text[:2000]


def _unavailable(error: Exception) -> NoReturn:
    log.error("sign-in: the provider: %s", error)
    abort(503, description="The sign-in service does not answer as it should.")
