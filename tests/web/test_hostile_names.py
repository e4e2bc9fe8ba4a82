"""Names that a job may give itself, through every page and every answer of the API, as their owner and as staff."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from flask import Flask

from support.access_table import ROUTES, Kind
from support.sites import HOSTILE, Site
from support.viewers import client_of, proxied_app

PATHS = [route.path for (method, name), route in ROUTES.items() if method == "GET" and not name.startswith("sign_in.")]
PATHS += ["/?user={text}&command={text}", "/?order={text}", "/jobs.csv?user={text}", "/compare?jobs={key},{key}"]


@pytest.fixture(scope="module")
def site_app(own_site: Site) -> Flask:
    return proxied_app(own_site.url)


class Page(HTMLParser):
    """What a browser would make of a page: its elements that do something, and attributes that run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.found.append(f"{tag} {name}")
            if name in ("href", "src", "action") and not re.match(r"(/|#|\?|$|[a-z-]+\.html|https://)", value or ""):
                self.found.append(f"{tag} {name}={value}")
        if tag in ("iframe", "object", "embed", "style", "base"):
            self.found.append(tag)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_stays_text_everywhere(site_app: Flask, own_site: Site, path: str, text: str) -> None:
    key = own_site.jobs.hostile[HOSTILE.index(text)]
    client = client_of(site_app, "root")
    address = path.replace("{key}", str(key)).replace("{number}", "1")
    query = {}
    if "{text}" in address:
        address, _, wanted = address.partition("?")
        query = {part.partition("=")[0]: text for part in wanted.split("&")}
    with client.get(address, query_string=query or None) as answer:
        assert answer.status_code in (200, 400, 404), answer.status_code
        body = answer.text
        kind = answer.mimetype
    if kind == "text/html":
        assert Page(body).found == []
        assert "alert(" not in "".join(re.findall(r"<script[^>]*>(.*?)</script>", body, re.DOTALL))
        assert "49${49}" not in body, "it was evaluated"
    elif kind == "application/json":
        json.loads(body)
    elif kind == "text/csv":
        cells = [cell for line in body.splitlines() for cell in line.split(",")]
        assert not [cell for cell in cells if cell.lstrip('"')[:1] in ("=", "@", "\t")], "a spreadsheet would run it"
    header = " ".join(f"{name}: {value}" for name, value in answer.headers)
    assert "alert(" not in header
    assert "\u202e" not in header


def test_all_kinds_of_routes_are_walked() -> None:
    assert {ROUTES[name].kind for name in ROUTES if name[0] == "GET"} >= {Kind.JOB, Kind.VIEWER, Kind.ADMIN}
