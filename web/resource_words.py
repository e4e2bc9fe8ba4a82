"""Shared resources in words: `cpu@n1` is "processors of n1" on every page. Pure.

The names themselves stay in addresses, JSON and on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.db import resources
from crosswind.db.resources import PLACED

__all__ = ["kind_words", "on_resource", "resource_words", "the_resource"]

_TITLES = {
    "fs:net": "network file systems",
    "fs:disk": "local disk",
    "net": "network",
    "net:switch": "network below switch",
    "partition": "partition",
    "mem": "memory",
    "cpu": "processors",
}
_WHOLE_NODE = frozenset({"mem", "cpu"})  # a load on them is named after the processors or pages: the node is enough
_PLURAL = frozenset({"fs:net"})
_SERVERS = "servers of "


def resource_words(resource: str) -> str:
    """`fs:disk@n1` -> `local disk of n1`. What is no resource's name, such as "the job's nodes", stays as it is."""
    if resource.startswith(_SERVERS):
        return _SERVERS + resource_words(resource.removeprefix(_SERVERS))
    try:
        kind, place = resources.split(resource)
    except KeyError:
        return resource
    return kind_words(kind, (place,) if place else ())


def kind_words(kind: str, places: Sequence[str]) -> str:
    """All resources of one kind that a job used, at these places; none where the whole system shares it."""
    title = _TITLES[kind]
    if not places:
        return title
    if kind in PLACED:
        return f"{title} {places[0]}" if len(places) == 1 else f"{title}es: the job's {len(places)}"
    return f"{title} of {places[0]}" if len(places) == 1 else f"{title} of the job's {len(places)} nodes"


def on_resource(resource: str) -> str:
    """Where a load was, behind its name: `on n1`, `on the local disk of n1`, `on network file systems`."""
    kind, _, place = resource.partition("@")
    return f"on {place}" if place and kind in _WHOLE_NODE else f"on {the_resource(resource)}"


def the_resource(resource: str) -> str:
    """In a sentence: `the network`, `network file systems`."""
    kind = resource.partition("@")[0]
    return f"{'' if kind in _PLURAL or kind not in _TITLES else 'the '}{resource_words(resource)}"
