"""Where the command looks for the library, in which order."""

import sys
from pathlib import Path

import pytest

from crosswind.tools import library
from crosswind.tools.errors import CommandError
from support.preload import ROOT


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Three places, empty so far, in order; nothing is named by variables."""
    for name in ("CROSSWIND_LIBRARY", "CROSSWIND_INJECT_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    found = tuple(tmp_path / name for name in ("sources", "python", "system"))
    for place in found:
        place.mkdir()
    monkeypatch.setattr(library, "PLACES", found)
    return found


def put(place, name=library.NAME):
    path = place / name
    path.touch()
    return path


def test_the_places_are_the_sources_the_prefix_of_python_and_those_of_the_system():
    installed = [f"{prefix}/lib/crosswind" for prefix in (sys.prefix, "/usr/local", "/usr")]
    assert [ROOT / "build", *map(Path, installed)] == list(library.PLACES)


def test_the_first_place_that_has_it_counts(places):
    for place in reversed(places):
        path = put(place)
        assert library.find_library() == path


def test_what_the_variable_names_comes_first(places, tmp_path, monkeypatch):
    put(places[0])
    named = put(tmp_path, "other.so")
    monkeypatch.setenv("CROSSWIND_LIBRARY", str(named))
    assert library.find_library() == named
    injector = put(tmp_path, "libcrosswind-inject.so")
    put(places[0], injector.name)
    assert library.find_library(injector.name, "CROSSWIND_INJECT_LIBRARY") == injector, "beside the profiler"


def test_the_load_programs_are_beside_the_library_that_is_found(places):
    put(places[1])
    (places[0] / "load").mkdir()
    with pytest.raises(CommandError, match=rf"^no load programs in {places[1]}/load: [^\n]+$"):
        library.load_folder()
    (places[1] / "load").mkdir()
    assert library.load_folder() == places[1] / "load"


def test_one_line_says_where_it_looked_and_what_to_do(places):
    with pytest.raises(CommandError) as caught:
        library.find_library()
    where = ", ".join(map(str, places))
    out = "build it with `make build`, install it, or set CROSSWIND_LIBRARY to its path"
    assert str(caught.value) == f"no libcrosswind.so in {where}: {out}"
