"""The application over a small site, for Flask's client and, on a port, for a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from crosswind.profile import summarize
from crosswind.web import create_app
from support.browser import CHROMIUM, Watched, chromium
from support.profiles import make_lammps
from support.serving import serving
from support.sites import SLOW, Jobs, Site, make_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One database for all tests; nothing writes to it afterwards."""
    return make_site(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A database of the same jobs for the tests of one module, which may write to it."""
    return make_site(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="session")
def app(site: Site) -> Flask:
    return create_app(site.url)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="session")
def jobs(site: Site) -> Jobs:
    return site.jobs


@pytest.fixture(scope="session")
def lammps_split() -> dict[str, float]:
    """Seconds of thread time by category, as `crosswind show` says of the same profile."""
    return summarize(make_lammps(slow_segments=SLOW))["time_s"]["job"]


@pytest.fixture(scope="session")
def address(app: Flask) -> Iterator[str]:
    """The application on a loopback port, several threads."""
    with serving(app) as served:
        yield served


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium; skips, and says what is missing, where it cannot start."""
    pytest.importorskip("playwright", reason="playwright is not installed (pip install playwright)")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there (apt-get install chromium): no browser tests")
    with chromium() as running:
        yield running


@pytest.fixture
def watched(browser, address: str) -> Iterator[Watched]:
    """A page 1280 pixels wide; at the end of the test it must not have complained."""
    opened = Watched(browser, address)
    yield opened
    assert opened.complaints == []
    opened.context.close()
