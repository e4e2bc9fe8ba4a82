"""Sign-in by a server in front, which tells the name in a header or, in the same process, in WSGI's REMOTE_USER."""

from __future__ import annotations

import hmac

from flask import Request

from crosswind.web.identity.addresses import peer_address
from crosswind.web.identity.person import Person, Refused, person_of
from crosswind.web.identity.settings import Proxy, Settings, read_secret

__all__ = ["SECRET_HEADER", "ProxySignIn"]

SECRET_HEADER = "X-Crosswind-Proxy"  # noqa: S105 (the name of the header, no secret)


class ProxySignIn:
    """Takes the name from the proxy, and from nobody else. Raises what reading its secret raises."""

    def __init__(self, settings: Settings, proxy: Proxy) -> None:
        self._settings = settings
        self._proxy = proxy
        self._secret = read_secret(proxy.secret_file) if proxy.secret_file else None

    def identify(self, request: Request) -> Person | None:
        """Whom the proxy vouches for; None: nobody. Raises Refused for who came round the proxy, and for a name that is
        none: two headers of that name arrive as one with a comma, and a comma is in no name.
        """
        if peer_address(request.remote_addr) not in self._proxy.trusted:
            raise Refused("this dashboard is reached through the site's sign-in only")
        sent = request.headers.get(SECRET_HEADER, "")
        if self._secret is not None and not hmac.compare_digest(sent.encode(), self._secret.encode()):
            raise Refused("this dashboard is reached through the site's sign-in only")
        name = self._name(request)
        if not name:
            return None
        return person_of(name, self._groups(request), self._settings, strip_domain=self._proxy.strip_domain)

    def _name(self, request: Request) -> str:
        if self._proxy.variable:
            return str(request.environ.get(self._proxy.variable) or "")
        return request.headers.get(self._proxy.header or "", "")

    def _groups(self, request: Request) -> list[str]:
        """Separated by commas or semicolons."""
        header = self._proxy.groups_header
        text = request.headers.get(header, "") if header else ""
        return [group.strip() for group in text.replace(";", ",").split(",") if group.strip()]
