"""The list of jobs, the system and the comparison as a person meets them, in Debian's Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.db import load_profile, open_database
from crosswind.db.events import Event, store_events
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile
from support.serving import serving
from support.sites import SLOW

pytestmark = pytest.mark.browser

START_MS = FIRST_SLICE * SLICE_NS // 10**6
NET = {"posix_net_write_calls": 50, "posix_net_write_bytes": 50_000_000, "cpu_time": 500_000_000}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard over three runs of lmp on n1 and n2, one after the other, and a writer on n3."""
    url = f"sqlite:///{tmp_path_factory.mktemp('lists')}/lists.db"
    engine = open_database(url)
    slower = dict.fromkeys(range(3000), 1.2)
    for number, slow in enumerate(({}, SLOW, slower)):
        profile = make_lammps(
            job_id=f"90{number + 1}", hosts=("n1", "n2"), slow_segments=slow, seed=number,
            first_slice=FIRST_SLICE + 20 * number,
        )  # fmt: skip
        load_profile(engine, profile, evaluation=evaluate(profile))
    load_profile(engine, make_profile(job_id="950", user="bob", command="writer", hosts=("n3",), rates=NET, factor={}))
    store_events(engine, [Event("", "maintenance", "", (FIRST_SLICE + 3) * SLICE_NS, (FIRST_SLICE + 5) * SLICE_NS)])
    engine.dispose()
    with serving(create_app(url)) as address:
        yield address


class Visit:
    """A page that remembers what it complained about."""

    def __init__(self, browser, address: str, scheme: str = "light", width: int = 1280) -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, line) -> None:
        if line.type in ("error", "warning") and "willReadFrequently" not in line.text:  # it is this test that reads
            self.complaints.append(line.text)

    def open(self, path: str):
        self.page.goto(self.address + path)
        if self.page.locator("[data-grid]").count():
            self.page.wait_for_selector('[data-grid][data-state="drawn"]')
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []


@pytest.fixture
def visit(browser, town: str) -> Iterator[Visit]:
    opened = Visit(browser, town)
    yield opened
    opened.close()


def ids(page) -> list[str]:
    return [text.partition(".")[0] for text in page.locator("tbody .id a").all_inner_texts()]


# --- the list ----------------------------------------------------------------------------------------------------


def test_filter_form_makes_a_short_address_and_a_chip_removes_it(visit: Visit) -> None:
    page = visit.open("/")
    page.get_by_text("Filter every column").click()
    page.get_by_label("Nodes, at least").fill("2")
    page.get_by_label("Command contains").fill("LMP")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/?command=LMP&nodes_from=2")
    assert ids(page) == ["903", "902", "901"]
    page.get_by_label("Remove the filter nodes ≥ 2").click()
    page.wait_for_url("**/?command=LMP")
    page.go_back()
    page.wait_for_url("**nodes_from=2")
    assert page.get_by_label("Nodes, at least").is_enabled(), "after going back the form can be used"


def test_headings_sort_by_keyboard_and_quick_filters_work(visit: Visit) -> None:
    page = visit.open("/")
    page.get_by_role("link", name="Nodes").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**order=-nodes*")
    assert ids(page)[-1] == "950"
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Nodes")
    page.get_by_role("link", name="Most disturbed", exact=True).click()
    page.wait_for_url("**order=-interference*")
    assert ids(page)[0] == "902"
    page.get_by_role("link", name="Running").click()
    page.wait_for_url("**state=running*")
    assert "No job matches state running" in page.locator(".message").inner_text()
    page.get_by_role("link", name="Most disturbing").click()
    page.wait_for_url("**by=disturbing*")
    assert ids(page) == [], "no job ran beside the one that lost time"


def test_the_table_fits_1280_pixels(visit: Visit) -> None:
    page = visit.open("/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert (
        page.evaluate(
            "(() => { const s = document.querySelector('.scroll'); return s.scrollWidth - s.clientWidth; })()"
        )
        <= 0
    )


def test_csv_is_downloaded(visit: Visit) -> None:
    page = visit.open("/?user=bob")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert waiting.value.suggested_filename == "crosswind-jobs.csv"
    assert [line.partition(",")[0] for line in lines] == ["job", "950"]


def test_chosen_runs_are_compared(visit: Visit) -> None:
    page = visit.open("/?order=id")
    button = page.get_by_role("button", name="Compare the chosen runs")
    assert button.is_disabled()
    for number in ("901", "902", "903"):
        page.get_by_label(f"Compare job {number}").check()
    assert "3 of at most 8" in page.locator("[data-compare-hint]").inner_text()
    button.click()
    page.wait_for_url("**/compare?jobs=1,2,3")
    assert "903.0 was slower throughout" in page.locator(".sentence").inner_text()
    assert page.locator("svg.marks path").count() == 3
    for run, beside in enumerate(page.locator("[data-beside]").all()):
        for _ in range(100):
            if "Look up" not in beside.inner_text():
                break
            page.wait_for_timeout(50)
        assert "Look up" not in beside.inner_text(), run
    colours = page.evaluate("[...document.querySelectorAll('svg.marks path')].map(path => getComputedStyle(path).fill)")
    assert len(set(colours)) == 3


# --- the system --------------------------------------------------------------------------------------------------

WHOLE = f"/system?from={START_MS}&to={START_MS + 240_000}"


def cell(page, slice_: float, row: int) -> tuple[float, float]:
    """Where the middle of a slice and row lies on the page; 60 slices, 3 rows."""
    box = page.locator(".overlay").bounding_box()
    left, right, axis = 118, 14, 22
    x = box["x"] + left + (slice_ + 0.5) / 60 * (box["width"] - left - right)
    return x, box["y"] + (row + 0.5) / 3 * (box["height"] - axis)


def shade(page, slice_: float, row: int) -> list[int]:
    """The colour that is drawn there: red, green, blue, alpha."""
    return page.evaluate(
        "([x, y]) => { const c = document.querySelector('.stage canvas'); const b = c.getBoundingClientRect();"
        " const k = c.width / b.width;"
        " return [...c.getContext('2d').getImageData((x - b.x) * k, (y - b.y) * k, 1, 1).data]; }",
        list(cell(page, slice_, row)),
    )


def test_grid_draws_what_ran_and_reads_it_out(visit: Visit) -> None:
    page = visit.open(f"{WHOLE}&metric=net_fs")
    busy, idle, empty = shade(page, 7, 2), shade(page, 7, 0), shade(page, 17, 0)
    assert empty[3] == 0
    assert busy[3] == idle[3] == 255
    assert sum(busy[:3]) < sum(idle[:3]) - 100, "more is darker where the page is light"
    page.mouse.move(*cell(page, 7, 2))
    told = page.locator("#grid-readout").inner_text()
    for part in ("08:53:48", "n3", "MiB/s", "job 950.0 of bob: writer, 1 node"):
        assert part in told
    page.mouse.move(*cell(page, 17, 0))
    assert "nothing ran" in page.locator("#grid-readout").inner_text()
    assert page.locator("[data-scale-high]").inner_text() == "95 MiB/s", "two ranks of 50 MB/s"


def test_click_and_keyboard_lead_to_the_job(visit: Visit) -> None:
    page = visit.open(WHOLE)
    page.mouse.click(*cell(page, 7, 2))
    page.wait_for_url("**/jobs/4**")
    page = visit.open(WHOLE)
    page.locator("[data-grid]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert "job 901.0" in page.locator("#grid-readout").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/1**")


def test_drag_zooms_and_the_address_keeps_it(visit: Visit) -> None:
    page = visit.open(WHOLE)
    page.evaluate("window.isTheSamePage = true")
    page.mouse.move(*cell(page, 19.5, 0))
    page.mouse.down()
    x, y = cell(page, 39.5, 0)
    page.mouse.move(x, y, steps=4)
    page.mouse.up()
    page.wait_for_url(lambda url: f"from={START_MS}&" not in url)
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    query = dict(part.split("=") for part in page.url.partition("?")[2].split("&"))
    assert int(query["from"]) == pytest.approx(START_MS + 80_000, abs=1500)
    assert int(query["to"]) == pytest.approx(START_MS + 160_000, abs=1500)
    assert "902" in page.locator("section[aria-labelledby=jobs-title] tbody").inner_text()
    assert "903" not in page.locator("section[aria-labelledby=jobs-title] tbody").inner_text()
    assert page.get_by_label("From").input_value() == "2025-10-09T08:54:40", "the form follows"
    page.go_back()
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    assert f"from={START_MS}&" in page.url
    assert "903" in page.locator("section[aria-labelledby=jobs-title] tbody").inner_text()
    page.get_by_role("link", name="Later").click()
    page.wait_for_url(f"**from={START_MS + 240_000}**")
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    assert "None ran in this time" in page.locator("section[aria-labelledby=jobs-title]").inner_text()
    assert page.evaluate("window.isTheSamePage"), "nothing of it reloaded the page"


def test_keys_zoom_where_the_cursor_is(visit: Visit) -> None:
    page = visit.open(WHOLE)
    page.mouse.move(*cell(page, 7, 2))
    told = page.locator("#grid-readout").inner_text()
    page.locator("[data-grid]").focus()
    page.keyboard.press("+")
    page.wait_for_url(f"**to={START_MS + 90_000}**")
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    assert page.locator("#grid-readout").inner_text() == told, "the same slice of the same node"
    assert page.evaluate("document.activeElement.hasAttribute('data-grid')")
    page.keyboard.press("0")
    page.wait_for_url(lambda url: "from=" not in url)


def test_a_wrong_time_is_told_in_place(visit: Visit) -> None:
    page = visit.open(WHOLE)
    page.get_by_label("From").fill("soon")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector('[data-grid][data-state="failed"]')
    assert "400" in page.locator("[data-grid]").inner_text()
    assert page.get_by_label("From").input_value() == "soon", "to be mended"
    visit.complaints.clear()  # the browser tells of the answer


def test_choosing_another_colour_shows_it(visit: Visit) -> None:
    page = visit.open(WHOLE)
    page.get_by_label("Colour").select_option("memory")
    page.wait_for_url("**metric=memory**")
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    assert "MiB" in page.locator("[data-scale-high]").inner_text()
    assert page.locator("#grid-title").inner_text() == "Memory in use"
    page.get_by_label("Colour").select_option("node_wait_io")
    page.wait_for_selector('[data-grid][data-state="drawn"]')
    assert "No agent watched" in page.locator("[data-notes]").inner_text()
    assert page.locator("[data-scale]").is_hidden(), "there is nothing that it could tell of"


def test_staff_adds_an_event_and_takes_it_away(visit: Visit) -> None:
    page = visit.open(WHOLE)
    form = page.locator(".event-form")
    form.get_by_label("Kind").select_option("file_system")
    form.get_by_label("Place").fill("fs:net")
    form.get_by_label("Begin, UTC").fill("2025-10-09T08:54:00")
    form.get_by_label("Note").fill("servers restarted")
    form.get_by_role("button", name="Add").click()
    page.wait_for_selector("text=servers restarted")
    page.get_by_role("button", name="Remove the event file_system at fs:net").click()
    page.wait_for_url("**/system")
    page = visit.open(WHOLE)
    assert "servers restarted" not in page.locator("#events").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", WHOLE, "/compare?jobs=1,2,3", "/compare"])
def test_pages_follow_the_theme_and_fit(browser, town: str, path: str, scheme: str) -> None:
    visit = Visit(browser, town, scheme)
    page = visit.open(path)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(n) for n in background.strip("rgb()").split(",")[:3]) / 3
    assert brightness < 60 if scheme == "dark" else brightness > 200
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    visit.close()


@pytest.mark.parametrize("path", ["/", "/compare?jobs=1,2,3", WHOLE])
def test_phones_have_no_sideways_scrolling(browser, town: str, path: str) -> None:
    visit = Visit(browser, town, width=390)
    assert visit.open(path).evaluate("document.documentElement.scrollWidth") <= 390
    visit.close()
