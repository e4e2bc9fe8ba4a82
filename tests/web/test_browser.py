"""The pages as a person meets them, in Debian's Chromium: plots, crosshair, zoom, keys, a phone, the dark."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps
from support.sites import HOSTILE, Jobs

pytestmark = pytest.mark.browser

FIRST_MS = FIRST_SLICE * SLICE_NS / 1e6
LAST_MS = FIRST_MS + 15 * 4000


class Watched:
    """A page of the browser that remembers everything it complained about."""

    def __init__(self, browser, address: str, **context: object) -> None:
        self.address = address
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 1600}} | context))
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("request", self._check_address)

    def _check_address(self, request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def open(self, path: str):
        self.page.goto(self.address + path)
        if self.page.locator("#stack").count():
            self.page.wait_for_selector('#stack[data-state="drawn"]')
        return self.page


@pytest.fixture
def watched(browser, address: str) -> Iterator[Watched]:
    """A page 1280 pixels wide; at the end of the test it must not have complained."""
    opened = Watched(browser, address)
    yield opened
    assert opened.complaints == []
    opened.context.close()


def until(page, condition: str) -> None:
    """Wait until a JavaScript condition holds. Playwright's own wait evaluates text in the page: our policy refuses."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"after 10 s still not: {condition}")


def x_range(page) -> list[float]:
    """Begin and end of the x axis in ms."""
    return page.evaluate(
        "document.querySelector('.js-plotly-plot').layout.xaxis.range"
        ".map(v => typeof v === 'number' ? v : Date.parse(v.replace(' ', 'T') + 'Z'))"
    )


def trace(page, plot: str, series: str) -> list[float | None]:
    """The y values that are drawn."""
    return page.evaluate(
        "([plot, series]) => document.querySelector('.js-plotly-plot').data"
        ".find(t => t.meta.plot === plot && t.meta.series === series && t.meta.part === 'line').y",
        [plot, series],
    )


def areas(page) -> list[dict]:
    """Where the axes of each plot lie on the page, from the top."""
    boxes = [area.bounding_box() for area in page.locator("#stack .nsewdrag").all()]
    return sorted(boxes, key=lambda box: box["y"])


def tick_positions(page) -> list[float]:
    return page.evaluate("[...document.querySelectorAll('#stack .xgrid')].map(e => e.getBoundingClientRect().x)")


def test_plots_of_job_and_background_hold_the_right_values(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    own = make_lammps().slices["posix_disk_write_bytes"].sum(axis=0) / 4.0 / 2**20
    assert trace(page, "io_disk", "write_disk") == pytest.approx(own, rel=1e-5)
    others = trace(page, "fs:disk/io_disk", "write_disk")
    assert others == pytest.approx([5e7 / 2**20 if 6 <= j <= 8 else 0 for j in range(15)], rel=1e-5)
    headings = page.locator(".heading h3").all_inner_texts()
    assert headings.index("I/O on local disk") < headings.index("All other jobs: local disk of node01")
    assert len(areas(page)) == len(headings) >= 5
    drawn = page.locator("#stack .scatterlayer .trace path.js-line").all()
    assert sum(line.is_visible() for line in drawn) >= len(headings) - 1
    assert page.locator("#stack .barlayer .point path").count() >= 3


def test_hit_stretch_is_shaded_over_all_plots(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    shapes = page.locator("#stack .shapelayer path").all()
    assert len(shapes) == 1
    box, plots = shapes[0].bounding_box(), areas(page)
    assert box["y"] <= plots[0]["y"] + 1
    assert box["y"] + box["height"] >= plots[-1]["y"] + plots[-1]["height"] - 1
    left = plots[0]["x"] + plots[0]["width"] * 6 / 15
    assert box["x"] == pytest.approx(left, abs=2)


def test_one_crosshair_crosses_all_plots_and_reads_all_of_them(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    plots = areas(page)
    for box in (plots[0], plots[-1]):  # wherever the pointer is
        page.mouse.move(box["x"] + box["width"] * 7.5 / 15, box["y"] + box["height"] / 2)
        until(page, "document.querySelector('#readout').textContent.includes('slice 440000007')")
        line = page.locator("#stack .spikeline").last.bounding_box()
        assert line["y"] <= plots[0]["y"] + 1
        assert line["y"] + line["height"] >= plots[-1]["y"] + plots[-1]["height"] - 1
        assert line["x"] == pytest.approx(box["x"] + box["width"] * 7.5 / 15, abs=2)
        readings = page.locator("#stack output").all_inner_texts()
        assert all(readings)
        assert "47.7 MiB/s" in readings  # the writer's 50 MB/s
    assert "08:53:48 – 08:53:52 UTC" in page.locator("#readout").inner_text()
    page.mouse.move(5, 5)
    until(page, "document.querySelector('#stack output').textContent === ''")


def test_zooming_one_plot_zooms_all_and_double_click_resets(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    assert x_range(page) == pytest.approx([FIRST_MS, LAST_MS])
    before = tick_positions(page)
    box = areas(page)[-1]
    page.mouse.move(box["x"] + box["width"] * 5 / 15, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 7 / 15, box["y"] + 45, steps=4)
    page.mouse.move(box["x"] + box["width"] * 10 / 15, box["y"] + 45, steps=4)
    page.mouse.up()
    until(page, "window.location.hash.startsWith('#t=')")
    zoomed = x_range(page)
    assert zoomed == pytest.approx([FIRST_MS + 20_000, FIRST_MS + 40_000], abs=300)
    assert tick_positions(page) != before
    ranges = page.evaluate(
        "(() => { const l = document.querySelector('.js-plotly-plot')._fullLayout;"
        " return Object.values(l._plots).map(p => JSON.stringify(p.xaxis.range)); })()"
    )
    assert len(ranges) == len(areas(page))
    assert len(set(ranges)) == 1
    page.mouse.dblclick(box["x"] + 200, areas(page)[1]["y"] + 50)
    until(page, "window.location.hash === ''")
    assert x_range(page) == pytest.approx([FIRST_MS, LAST_MS])


def test_address_keeps_the_zoom(watched: Watched, jobs: Jobs) -> None:
    begin, end = int(FIRST_MS + 8000), int(FIRST_MS + 24_000)
    page = watched.open(f"/jobs/{jobs.lammps}#t={begin}-{end}")
    assert x_range(page) == pytest.approx([begin, end])


def test_buttons_and_keys_zoom_and_move_the_crosshair(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    page.locator("#stack").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('#readout').textContent.includes('slice 440000001')")
    assert page.locator("#stack .spikeline").count() > 0
    page.keyboard.press("End")
    until(page, "document.querySelector('#readout').textContent.includes('slice 440000014')")
    page.keyboard.press("Escape")
    page.locator('[data-zoom="in"]').click()
    until(page, "window.location.hash.startsWith('#t=')")
    begin, end = x_range(page)
    assert end - begin == pytest.approx((LAST_MS - FIRST_MS) / 2)
    page.locator('[data-zoom="reset"]').click()
    until(page, "window.location.hash === ''")


def test_legend_hides_a_series_and_the_question_mark_explains(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    entry = page.locator(".heading", has_text="I/O on local disk").locator(".entry").first
    entry.click()
    until(
        page,
        "document.querySelector('.js-plotly-plot').data.some(t => t.meta.plot === 'io_disk' && t.visible === false)",
    )
    assert entry.get_attribute("aria-pressed") == "false"
    heading = page.locator(".heading", has_text="All other jobs: local disk")
    heading.locator("summary").click()
    assert "posix_disk_write_bytes" in heading.locator("dl").inner_text()
    assert "less this job" in heading.locator("dl").inner_text()


def test_killed_rank_shows_where_it_ends(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.killed}")
    cpu = trace(page, "cpu", "cpu")
    assert cpu[6] == pytest.approx(2 * 0.99, rel=0.1)
    assert cpu[7] == pytest.approx(0.99, rel=0.1)
    assert page.locator("tr.killed").count() == 1


def test_spread_over_processes_is_drawn_as_bands(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}?view=spread&plots=all")
    kinds = page.evaluate("document.querySelector('.js-plotly-plot').data.map(t => t.meta.part)")
    assert kinds.count("low") == kinds.count("high") > 5
    assert page.locator(".heading h3", has_text="per process").count() >= 5


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
        assert areas(page)[0]["width"] > 0.7 * 390
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


def test_finger_leads_the_crosshair(browser, address: str, jobs: Jobs) -> None:
    watched = Watched(browser, address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = watched.open(f"/jobs/{jobs.lammps}")
    box = areas(page)[1]
    page.touchscreen.tap(box["x"] + box["width"] * 7.5 / 15, box["y"] + box["height"] / 2)
    until(page, "document.querySelector('#readout').textContent.includes('slice 440000007')")
    assert page.locator("#stack .spikeline").count() > 0
    assert watched.complaints == []
    watched.context.close()


def test_plots_follow_the_colour_scheme(browser, address: str, jobs: Jobs) -> None:
    watched = Watched(browser, address, color_scheme="dark")
    page = watched.open(f"/jobs/{jobs.lammps}")

    def paper() -> str:
        return page.evaluate("document.querySelector('.js-plotly-plot').layout.paper_bgcolor")

    assert paper() == "#1A2126"
    page.emulate_media(color_scheme="light")
    until(page, "document.querySelector('.js-plotly-plot').layout.paper_bgcolor === '#FFFFFF'")
    assert page.locator(".heading").count() == len(areas(page))
    assert watched.complaints == []
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


def test_browser_and_api_agree(watched: Watched, jobs: Jobs, address: str) -> None:
    with urllib.request.urlopen(f"{address}/api/v1/jobs/{jobs.lammps}/timeline") as answer:
        lost = json.load(answer)["lost_s"]
    page = watched.open(f"/jobs/{jobs.lammps}")
    assert trace(page, "lost", "lost") == pytest.approx(lost, rel=1e-5, abs=1e-9)
