"""A small OpenID Connect provider on a loopback port, made of Authlib's server side: it signs in whom it is told to.

It insists on PKCE and takes each code once. `spoil` lets a test change what it signs or says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import AuthorizationCodeMixin, UserInfo
from authlib.oidc.core.grants import OpenIDCode
from flask import Flask, Response, jsonify, request
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

__all__ = ["CLIENT_ID", "CLIENT_SECRET", "Provider", "running_provider"]

CLIENT_ID, CLIENT_SECRET = "crosswind", "a secret between the two"
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})


@dataclass
class Person:
    """Who is signed in at the provider."""

    name: str
    groups: list[str]

    def get_user_id(self) -> str:
        return self.name


@dataclass
class Code(AuthorizationCodeMixin):
    """A code that was given out."""

    value: str
    redirect_uri: str
    scope: str
    person: Person
    nonce: str | None
    code_challenge: str | None
    code_challenge_method: str | None
    auth_time: int = field(default_factory=lambda: int(time.time()))

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return self.auth_time

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


@dataclass
class Client(ClientMixin):
    """The dashboard, as it was registered."""

    redirect_uri: str

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@dataclass
class Provider:
    """person: who is signed in there; None: nobody. spoil: claims of the token to change or (None) to leave out.
    metadata: what to change in its description. forged: sign with a key that it does not publish.
    """

    issuer: str
    client: Client
    person: Person | None = None
    spoil: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    forged: bool = False
    codes: dict[str, Code] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def sign_in(self, name: str, *groups: str) -> None:
        self.person = Person(name, list(groups))


def provider_app(provider: Provider) -> Flask:
    """The provider's own pages."""
    app = Flask("provider")

    class CodeGrant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

        def save_authorization_code(self, code: str, request: Any) -> None:
            data = request.payload.data
            provider.codes[code] = Code(
                code, data["redirect_uri"], request.payload.scope, request.user, data.get("nonce"),
                data.get("code_challenge"), data.get("code_challenge_method"),
            )  # fmt: skip

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            return provider.codes.get(code)

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del provider.codes[authorization_code.value]

        def authenticate_user(self, authorization_code: Code) -> Person:
            return authorization_code.person

    class IdToken(OpenIDCode):
        def exists_nonce(self, nonce: str, request: Any) -> bool:
            return any(code.nonce == nonce for code in provider.codes.values())

        def resolve_client_private_key(self, client: Client) -> RSAKey:
            return OTHER_KEY if provider.forged else KEY

        def get_encode_header(self, client: Client) -> dict[str, str]:
            return {"alg": "RS256", "kid": "one"}

        def get_client_claims(self, client: Client) -> dict[str, Any]:
            return {"iss": provider.issuer, "aud": [CLIENT_ID], "exp": int(time.time()) + 300}

        def generate_user_info(self, user: Person, scope: str) -> UserInfo:
            return UserInfo(sub=f"id-{user.name}", preferred_username=user.name, groups=user.groups)

        def get_compatible_claims(self, request: Any) -> dict[str, Any]:
            return {"iat": int(time.time()), **self.get_client_claims(request.client)}

        def encode_id_token(self, token: dict[str, Any], request: Any) -> str:
            from joserfc import jwt

            claims = self.get_compatible_claims(request) | self.get_authorization_code_claims(
                request.authorization_code
            )
            claims |= self.generate_user_info(request.user, token["scope"]) | provider.spoil
            kept = {name: value for name, value in claims.items() if value is not None}
            return jwt.encode(
                self.get_encode_header(request.client), kept, self.resolve_client_private_key(None), ["RS256"]
            )

    server = AuthorizationServer(app, lambda _id: provider.client if _id == CLIENT_ID else None, lambda *_: None)
    server.register_grant(CodeGrant, [IdToken(require_nonce=True), CodeChallenge(required=True)])

    @app.get("/.well-known/openid-configuration")
    def description() -> Response:
        known = {
            "issuer": provider.issuer,
            "authorization_endpoint": f"{provider.issuer}/authorize",
            "token_endpoint": f"{provider.issuer}/token",
            "jwks_uri": f"{provider.issuer}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return jsonify(known | provider.metadata)

    @app.get("/keys")
    def keys() -> Response:
        return jsonify({"keys": [KEY.as_dict(private=False)]})

    @app.get("/authorize")
    def authorize() -> Response:
        provider.asked.append(request.args.to_dict())
        if request.args.get("code_challenge_method") != "S256" or not request.args.get("nonce"):
            return Response("PKCE and a nonce are demanded here", 400)
        grant = server.get_consent_grant(end_user=provider.person)
        return server.create_authorization_response(grant=grant, grant_user=provider.person)

    @app.post("/token")
    def token() -> Response:
        return server.create_token_response()

    return app


@contextmanager
def running_provider(redirect_uri: str) -> Iterator[Provider]:
    """The provider on a port of its own."""
    provider = Provider("", Client(redirect_uri))
    server = make_server("127.0.0.1", 0, provider_app(provider), threaded=True)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield provider
    server.shutdown()
    thread.join()
    server.server_close()
