"""The errors of the way from a node to the collector. Each message is one line."""

from __future__ import annotations

__all__ = ["BadBundle", "OtherCluster", "TransportError"]


class TransportError(Exception):
    """What was sent or asked for did not get through; it is tried again later. The message says what to look at."""


class BadBundle(ValueError):
    """A bundle is damaged or holds what no agent sends; the message says what."""


class OtherCluster(BadBundle):
    """A bundle is of another cluster than the receiver: whoever receives for that one finds it where it is."""
