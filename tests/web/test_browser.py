"""The pages as a person meets them, in Debian's Chromium: plots, crosshair, zoom, keys, a phone, the dark."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from crosswind.db import open_database, schema
from crosswind.db.connection import writing
from crosswind.web import create_app
from support.browser import Watched
from support.serving import serving
from support.sites import HOSTILE, Jobs, Site

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("/", "light"),
        ("/", "dark"),
        ("/jobs/{lammps}", "light"),
        ("/jobs/{killed}", "dark"),
        ("/jobs/{short}", "light"),
        ("/nothing", "dark"),
    ],
)
def test_phone_has_no_sideways_scrolling(browser, address: str, jobs: Jobs, path: str, scheme: str) -> None:
    watched = Watched(
        browser, address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme=scheme
    )
    page = watched.open(path.format(lammps=jobs.lammps, killed=jobs.killed, short=jobs.short))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if "/jobs/" in path:
        assert page.locator("#stack .nsewdrag").first.bounding_box()["width"] > 0.7 * 390
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(n) for n in background.strip("rgb()").split(",")[:3]) / 3
    assert brightness < 60 if scheme == "dark" else brightness > 200
    if path != "/nothing":
        assert watched.complaints == []
    watched.context.close()


def test_the_list_shows_interference_on_a_phone(browser, address: str) -> None:
    watched = Watched(browser, address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = watched.open("/")
    marks = [mark.bounding_box() for mark in page.locator("td.interference").all()]
    assert marks
    assert all(box and box["x"] + box["width"] <= 390 for box in marks)
    watched.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_mark_of_interference_is_not_cut(browser, own_site: Site, width: int) -> None:
    """The widest mark there is: medium, two digits, less certain."""
    engine = open_database(own_site.url)
    with writing(engine) as conn:
        estimate = {"class": "medium", "interference_pct": 12.5, "certain": False, "sentence": "x"}
        conn.execute(update(schema.job).values(estimate=estimate))
    engine.dispose()
    with serving(create_app(own_site.url)) as address:
        watched = Watched(browser, address, viewport={"width": width, "height": 844})
        page = watched.open("/")
        marks = page.locator("td.interference .less-certain").all()
        assert len(marks) == page.locator("td.interference").count()
        for mark in marks:
            cell, box = mark.locator("xpath=ancestor::td").bounding_box(), mark.bounding_box()
            assert box["x"] + box["width"] <= cell["x"] + cell["width"]
            assert mark.evaluate("e => e.closest('td').scrollWidth <= e.closest('td').clientWidth")
        watched.context.close()


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_names_run_nothing(watched: Watched, jobs: Jobs, number: int) -> None:
    watched.page.on("dialog", lambda dialog: (watched.complaints.append(dialog.message), dialog.dismiss()))
    page = watched.open(f"/jobs/{jobs.hostile[number]}")
    assert HOSTILE[number].replace("\u0007", "") in page.locator(".title-command").text_content().replace("\u0007", "")
    page = watched.open("/?size=200")
    page.get_by_role("link", name=f"evil{number}").first.click()
    page.wait_for_url(f"**/jobs/{jobs.hostile[number]}")
    page.wait_for_selector('#stack[data-state="drawn"]')


def test_list_sorts_by_click_and_leads_to_the_job(watched: Watched) -> None:
    page = watched.open("/")
    page.get_by_role("link", name="Interference").click()
    page.wait_for_url("**/?order=-interference")
    assert page.locator("tbody .id a").first.inner_text() == "1001.0"
    page.locator("tbody .id a").first.click()
    page.wait_for_selector('#stack[data-state="drawn"]')
    assert "Lost about" in page.locator(".sentence").inner_text()
