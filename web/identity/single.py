"""One person at this machine: no sign-in, everything is seen."""

from __future__ import annotations

import getpass
import ipaddress
from urllib.parse import urlsplit

from flask import Request

from crosswind.web.identity.addresses import peer_address
from crosswind.web.identity.person import Refused
from crosswind.web.identity.roles import Role, Viewer
from crosswind.web.identity.settings import Single

__all__ = ["identify_single"]

_OF_PROXIES = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


def identify_single(request: Request, single: Single) -> Viewer:
    """The one person. Raises Refused for a request from elsewhere, through a proxy (which others may reach), or for a
    name that is not this machine's: a page of somebody else whose name was made to lead here.
    """
    if peer_address(request.remote_addr) not in single.addresses:
        raise Refused("this dashboard is for one person at its own machine; others need a sign-in: serve --config FILE")
    if any(header in request.headers for header in _OF_PROXIES):
        raise Refused("a proxy stands in front of this dashboard: say how it signs people in with serve --config FILE")
    if not _is_of_this_machine(request.host):
        raise Refused("this dashboard answers to localhost and to numeric addresses only")
    return Viewer(_login_name(), Role.ADMIN, single=True)


def _is_of_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user of a container that no file names
        return "you"
