"""From where a request came, as far as somebody we trust says so."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

__all__ = ["UNIX", "Networks", "client_address", "is_loopback_name", "peer_address", "rate_key"]

UNIX = "unix"  # who comes over a Unix socket has no address
_MOST_HOPS = 32


@dataclass(frozen=True)
class Networks:
    """Some addresses. unix: also whoever comes over a Unix socket."""

    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()
    unix: bool = False

    def __contains__(self, address: object) -> bool:
        if address == UNIX:
            return self.unix
        parsed = _parse(str(address))
        return parsed is not None and any(parsed in network for network in self.networks)


def peer_address(remote_addr: str | None) -> str:
    """The other end of the connection, "unix" for a Unix socket."""
    return remote_addr or UNIX


def client_address(remote_addr: str | None, forwarded_for: str, trusted: Networks) -> str:
    """Who asks: the other end of the connection, or, where that is a trusted proxy, the last in X-Forwarded-For that is
    none. What stands before it was written by the client and means nothing.
    """
    address = peer_address(remote_addr)
    hops = [hop.strip() for hop in forwarded_for.split(",")][-_MOST_HOPS:]
    while hops and address in trusted:
        parsed = _parse(hops.pop())
        if parsed is None:
            break
        address = str(parsed)
    return address


def rate_key(address: str) -> str:
    """What requests are counted by: an address; of IPv6 the network of 64 bits, all of which one machine may have."""
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address


def is_loopback_name(host: str) -> bool:
    """Whether a host names this machine only."""
    parsed = _parse(host)
    return host == "localhost" or (parsed is not None and parsed.is_loopback)


def _parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed
