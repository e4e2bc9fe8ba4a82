"""Installations, made once."""

import pytest

from support.installation import Site, install, install_python, make_wheel


def _site(factory: pytest.TempPathFactory, name: str) -> Site:
    site = Site(factory.mktemp(name) / "prefix", factory.mktemp(f"{name}-work"))
    install(site.prefix)
    site.spool.mkdir()
    return site


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """CMake's part alone."""
    return _site(tmp_path_factory, "installed")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """With the Python part below the same prefix."""
    site = _site(tmp_path_factory, "site")
    install_python(site.prefix, make_wheel(tmp_path_factory.mktemp("source")))
    return site
