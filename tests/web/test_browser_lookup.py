"""The lookup as a person meets it, in Debian's Chromium: picture, a stretch dragged over, list, the other side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crosswind.web import create_app
from support.browser import Watched, until
from support.neighbours import SLICES, make_neighbours
from support.profiles import FIRST_SLICE
from support.serving import serving

pytestmark = pytest.mark.browser

DRAWN = "document.querySelector('#picture').dataset.state === 'drawn'"


@pytest.fixture(scope="module")
def site_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(create_app(make_neighbours(tmp_path_factory.mktemp("lookup")))) as address:
        yield address


@pytest.fixture(params=["light", "dark"])
def watched(browser, site_address: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    opened = Watched(browser, site_address, color_scheme=request.param)
    yield opened
    assert opened.complaints == []
    opened.context.close()


def test_a_stretch_of_the_picture_leads_to_what_rose_in_it(watched: Watched) -> None:
    page = watched.open("/jobs/1/lookup")
    until(page, DRAWN)
    assert page.locator("#stretch").is_hidden()
    assert page.locator("#picture .barlayer .point path").count() > 5
    assert page.locator("#picture path.js-line").last.is_visible()
    until(page, "document.querySelector('#other-side').dataset.state === 'shown'")
    assert "None of the 6 jobs beside this one" in page.locator("#other-side").inner_text()
    box = page.locator("#picture .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 45, steps=4)
    page.mouse.up()
    until(page, "!document.querySelector('#stretch').hidden")
    page.locator("#stretch").click()
    until(page, "document.querySelector('h2#list-title')?.textContent === 'What was higher in this stretch'")
    assert "from=" in page.url
    until(page, DRAWN)
    begin = page.get_by_label("Begin of a stretch, UTC")
    assert begin.input_value().startswith("2025-10-09T")
    begin.fill("2025-10-09T08:53:28")  # by keyboard as by drag
    page.keyboard.press("Enter")
    page.wait_for_url("**from=2025-10-09T08%3A53%3A28**")
    page.get_by_role("link", name="Whole run").click()
    until(page, "document.querySelector('h2#list-title')?.textContent === 'What rose when it lost time'")


def test_the_table_leads_to_a_stretch_by_keyboard(watched: Watched) -> None:
    page = watched.open("/jobs/1/lookup")
    until(page, DRAWN)
    page.locator("summary", has_text="The picture as a table").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")  # the table, which scrolls
    page.keyboard.press("Tab")
    first = page.locator("details table a").first
    assert first.evaluate("element => element === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**from=1760000000000**")
    until(page, "document.querySelector('h2#list-title')?.textContent === 'What was higher in this stretch'")


def test_lines_reach_the_edges_of_their_slices_also_at_gaps(watched: Watched) -> None:
    """Drawn: where the line of a load with a gap begins and ends, in slices, and what the crosshair reads there."""
    page = watched.open("/jobs/1/lookup")
    until(page, DRAWN)
    drawn, read = page.evaluate(
        """async () => {
            const { toTheEdges, valueAt } = await import("/static/plots/steps.js");
            const whole = { x0: 500, dx: 1000, y: [1, 2, null, null, 3, null, 4, 5], line: { shape: "hvh" }, meta: {} };
            const trace = toTheEdges(whole);
            const div = document.body.appendChild(document.createElement("div"));
            const still = { staticPlot: true };
            await Plotly.newPlot(div, [{ ...trace, type: "scatter", mode: "lines" }], { width: 800 }, still);
            const axis = div._fullLayout.xaxis;
            const runs = [...div.querySelectorAll("path.js-line")].map((path) => {
                const at = [...path.getAttribute("d").matchAll(/[ML]([-0-9.]+),|H([-0-9.]+)/g)];
                const x = at.map((match) => axis.p2c(Number(match[1] ?? match[2])) / 1000);
                return [Math.min(...x), Math.max(...x)];
            });
            return [runs, whole.y.map((_, index) => valueAt(trace, index))];
        }"""
    )
    assert [edge for run in drawn for edge in run] == pytest.approx([0, 2, 4, 5, 6, 8], abs=0.02)
    assert read == [1, 2, None, None, 3, None, 4, 5]


def test_each_line_can_be_drawn_and_leads_to_its_job(watched: Watched) -> None:
    page = watched.open("/jobs/1/lookup?show=6")
    until(page, DRAWN)
    chosen = page.locator("tr.chosen")
    assert chosen.count() == 1
    load = chosen.locator("th").inner_text()
    assert page.locator("#picture .annotation").last.text_content().startswith(load[0].upper() + load[1:])
    page.get_by_role("link", name="job culprit.0").first.click()
    page.wait_for_url("**/jobs/2")


def test_the_panel_of_a_dent_names_the_culprit_and_leads_to_it(watched: Watched) -> None:
    page = watched.open("/jobs/1")
    page.locator("[data-hit]").first.click()
    first = page.locator("#found li").first
    first.wait_for()
    assert " on the local disk of node01 by job culprit.0: " in first.inner_text()
    assert "more than by chance" in first.inner_text()
    first.get_by_role("link").click()
    page.wait_for_url("**/jobs/2")


def test_a_range_of_time_on_a_resource(watched: Watched) -> None:
    span = f"from={FIRST_SLICE * 4000}&to={(FIRST_SLICE + SLICES) * 4000}"
    page = watched.open(f"/lookup?resource=fs:disk@node01&{span}")
    until(page, DRAWN)
    assert "most by job culprit.0" in page.locator("#answer").inner_text()
    page.locator("select[name=load]").select_option("flushes to disk")
    page.get_by_role("button", name="Show").click()
    until(page, "document.querySelector('#answer')?.textContent.startsWith('Flushes to disk')")
