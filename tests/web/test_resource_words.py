"""Every resource has words; places keep their names."""

from __future__ import annotations

import pytest

from crosswind.db.resources import FEEDS, Place, resource_names
from crosswind.web.resource_words import kind_words, on_resource, resource_words, the_resource


@pytest.mark.parametrize(
    ("name", "words", "where"),
    [
        ("fs:net", "network file systems", "on network file systems"),
        ("net", "network", "on the network"),
        ("fs:disk@n1", "local disk of n1", "on the local disk of n1"),
        ("net:switch@leaf1", "network below switch leaf1", "on the network below switch leaf1"),
        ("cpu@n1", "processors of n1", "on n1"),
        ("mem@n1", "memory of n1", "on n1"),
        ("servers of fs:net", "servers of network file systems", "on servers of network file systems"),
        ("the job's nodes", "the job's nodes", "on the job's nodes"),
    ],
)
def test_words(name: str, words: str, where: str) -> None:
    assert (resource_words(name), on_resource(name)) == (words, where)


@pytest.mark.parametrize("kind", list(FEEDS))
def test_no_kind_is_shown_as_it_is_stored(kind: str) -> None:
    (name,) = resource_names(kind, ["n1"], Place({"n1": "leaf1"}, "batch"))
    assert resource_words(name) != name
    assert "@" not in resource_words(name) + on_resource(name)


def test_in_a_sentence() -> None:
    assert (the_resource("net"), the_resource("fs:net")) == ("the network", "network file systems")
    assert the_resource("cpu@n1") == "the processors of n1"


def test_many_places() -> None:
    assert kind_words("cpu", ["n1", "n2"]) == "processors of the job's 2 nodes"
    assert kind_words("net:switch", ["s1", "s2"]) == "network below switches: the job's 2"
