"""The page of a job as a person meets it, in Debian's Chromium: plots, crosshair, zoom, heat map, keys, a phone."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import update

from crosswind.db import load_profile, open_database, schema
from crosswind.db.connection import writing
from crosswind.web import create_app
from support.browser import Watched, until
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps
from support.serving import serving
from support.sites import Jobs

pytestmark = pytest.mark.browser

FIRST_MS = FIRST_SLICE * SLICE_NS / 1e6
LAST_MS = FIRST_MS + 15 * 4000


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
        ".filter(t => t.meta.plot === plot && t.meta.series === series && t.meta.part === 'line')"
        ".map(t => t.meta.values ?? t.y)[0]",
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


def test_lines_reach_both_edges_of_the_run(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    plots = {round(box["y"]): box for box in areas(page)}
    drawn = page.evaluate(
        "[...document.querySelectorAll('#stack .scatterlayer')].map(layer => {"
        " const path = layer.querySelector('path.js-line'), x = path.getBBox();"
        " return [x.x, x.x + x.width]; })"
    )
    width = next(iter(plots.values()))["width"]
    assert len(drawn) >= 4
    for begin, end in drawn:
        assert begin <= 1
        assert end >= width - 1


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
    until(page, "new URL(location).searchParams.has('from')")
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
    until(page, "!new URL(location).searchParams.has('from')")
    assert x_range(page) == pytest.approx([FIRST_MS, LAST_MS])


def test_address_keeps_the_zoom(watched: Watched, jobs: Jobs) -> None:
    begin, end = int(FIRST_MS + 8000), int(FIRST_MS + 24_000)
    page = watched.open(f"/jobs/{jobs.lammps}?from={begin}&to={end}")
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
    until(page, "new URL(location).searchParams.has('from')")
    begin, end = x_range(page)
    assert end - begin == pytest.approx((LAST_MS - FIRST_MS) / 2)
    page.locator('[data-zoom="reset"]').click()
    until(page, "!new URL(location).searchParams.has('from')")


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


def test_spread_over_processes_is_drawn_as_bands(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}?view=spread&plots=all")
    kinds = page.evaluate("document.querySelector('.js-plotly-plot').data.map(t => t.meta.part)")
    assert kinds.count("low") == kinds.count("high") > 5
    assert page.locator(".heading h3", has_text="per process").count() >= 5


def test_finger_leads_the_crosshair(browser, address: str, jobs: Jobs) -> None:
    watched = Watched(browser, address, viewport={"width": 390, "height": 2400}, has_touch=True, is_mobile=True)
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


def test_browser_and_api_agree(watched: Watched, jobs: Jobs, address: str) -> None:
    with urllib.request.urlopen(f"{address}/api/v1/jobs/{jobs.lammps}/timeline") as answer:
        lost = json.load(answer)["lost_s"]
    page = watched.open(f"/jobs/{jobs.lammps}")
    assert trace(page, "lost", "lost") == pytest.approx(lost, rel=1e-5, abs=1e-9)


def drag(page, box: dict, begin: float, end: float, y: float) -> None:
    """Draw the pointer over a plot, from one share of its width to another."""
    page.mouse.move(box["x"] + box["width"] * begin, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (begin + end) / 2, y, steps=4)
    page.mouse.move(box["x"] + box["width"] * end, y, steps=4)
    page.mouse.up()


def test_zoom_fetches_its_part_and_the_back_button_undoes_it(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    box = areas(page)[1]
    drag(page, box, 5 / 15, 10 / 15, box["y"] + 40)
    until(page, "document.querySelector('#stack').dataset.points !== '440000000+15x1'")
    assert len(trace(page, "cpu", "cpu")) in (7, 8)  # what was drawn over, and a slice on either side
    assert page.locator(".tabs a", has_text="Segments").get_attribute("href").count("from=") == 1
    page.go_back()
    until(page, "document.querySelector('#stack').dataset.points === '440000000+15x1'")
    assert x_range(page) == pytest.approx([FIRST_MS, LAST_MS])
    page.go_forward()
    until(page, "document.querySelector('#stack').dataset.points !== '440000000+15x1'")


def test_tabs_keep_the_zoom(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}?from={FIRST_MS + 8000:.0f}&to={FIRST_MS + 24_000:.0f}")
    page.locator(".tabs a", has_text="Processes").click()
    page.wait_for_selector('#heat[data-state="drawn"]')
    assert x_range(page) == pytest.approx([FIRST_MS + 8000, FIRST_MS + 24_000])
    page.locator(".tabs a", has_text="Over time").click()
    page.wait_for_selector('#stack[data-state="drawn"]')
    assert x_range(page) == pytest.approx([FIRST_MS + 8000, FIRST_MS + 24_000])


def test_click_on_a_dent_opens_what_rose(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    box = areas(page)[2]
    page.mouse.click(box["x"] + box["width"] * 2.5 / 15, box["y"] + 30)
    page.wait_for_timeout(200)
    assert page.locator("#found").is_hidden()  # nothing was lost there
    page.mouse.click(box["x"] + box["width"] * 7.5 / 15, box["y"] + 30)
    page.wait_for_selector("#found .found-sentence")
    link = page.locator("#found a", has_text="whole list").get_attribute("href")
    assert link.startswith(f"/jobs/{jobs.lammps}/lookup?from={FIRST_MS + 24_000:.0f}&to=")


def test_local_time_stands_beside_utc_and_stays_when_a_running_job_goes_on(browser, address: str, jobs: Jobs) -> None:
    watched = Watched(browser, address, timezone_id="Asia/Tokyo")
    page = watched.open(f"/jobs/{jobs.lammps}")
    start = page.locator("#job-identity time").first
    assert start.inner_text() == "2025-10-09 08:53:20 UTC 17:53:20 local"
    page.evaluate(
        "(() => { const all = document.querySelector('#job-identity'), fresh = all.cloneNode(true);"
        " for (const time of fresh.querySelectorAll('time')) { time.removeAttribute('title');"
        " time.querySelector('.local').remove(); } all.replaceWith(fresh);"
        " document.dispatchEvent(new CustomEvent('job:refreshed')); })()"
    )
    assert start.inner_text() == "2025-10-09 08:53:20 UTC 17:53:20 local"
    watched.context.close()


def test_keyboard_opens_a_stretch_and_zooms_to_it(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    page.locator("[data-hit]").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#found .found-sentence")
    assert page.evaluate("document.activeElement.id") == "found"
    page.locator("[data-show]").first.focus()
    page.keyboard.press("Enter")
    until(page, "new URL(location).searchParams.has('from')")
    assert x_range(page) == pytest.approx([FIRST_MS + 4000, LAST_MS], abs=1)
    page.locator("#stack").focus()
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found .found-sentence")


def test_heat_map_reads_zooms_and_leads_to_a_process(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.killed}?tab=processes&metric=write_disk")
    assert page.locator("#heat").get_attribute("data-cells") == "2x15"
    box = page.locator("#heat .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5 / 15, box["y"] + box["height"] * 0.25)
    until(page, "document.querySelector('#readout').textContent.includes('rank 0 on node02')")
    assert "MiB/s; 2025-10-09 08:53:20 – 08:53:24 UTC, slice 440000000" in page.locator("#readout").inner_text()
    page.locator("#heat").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('#readout').textContent.startsWith('rank 1 on node02: no data')")
    page.locator('select[name="rows"]').select_option("node")
    until(page, "document.querySelector('#heat').dataset.cells === '1x15'")
    assert "rows=node" in page.url
    page.go_back()
    until(page, "document.querySelector('#heat').dataset.cells === '2x15'")
    drag(page, box, 4 / 15, 8 / 15, box["y"] + box["height"] * 0.7)
    until(page, "new URL(location).searchParams.has('from')")
    until(page, "Number(document.querySelector('#heat').dataset.cells.split('x')[1]) < 8")
    page.locator("#heat").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector('#stack[data-state="drawn"]')
    assert "process=1" in page.url
    assert page.locator(".entry", has_text="rank 1: write").count() == 1


def test_segments_show_a_box_a_timeline_and_a_histogram(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}?tab=segments")
    assert page.locator("#clusters figure").count() == 3
    assert page.locator(".cluster-boxes .boxlayer path.box").count() >= 1
    assert page.locator(".cluster-timeline .scatterlayer .point").count() == 148
    assert page.locator(".cluster-histogram .shapelayer").locator("text=threshold").count() == 1


def test_a_fault_is_told_in_place(browser, address: str, jobs: Jobs) -> None:
    watched = Watched(browser, address)
    watched.page.route("**/figure.json*", lambda route: route.fulfill(status=500, body="{}"))
    watched.page.goto(f"{address}/jobs/{jobs.lammps}")
    until(watched.page, "document.querySelector('#stack').textContent.includes('the server answered 500')")
    watched.context.close()


def test_the_way_back_leads_to_the_list_as_it_was(watched: Watched) -> None:
    page = watched.open("/?user=alice&order=-duration")
    page.locator("tbody .id a").first.click()
    page.wait_for_selector('#stack[data-state="drawn"]')
    page.locator(".tabs a", has_text="Quality").click()
    page.wait_for_load_state()
    page.locator("[data-back]").click()
    page.wait_for_load_state()
    assert page.url.endswith("/?user=alice&order=-duration")


def test_a_running_job_grows_and_keeps_the_zoom(browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/running.db"
    engine = open_database(url)
    seconds = {"n_slices": 10, "slice_ns": 1_000_000_000, "first_slice": 4 * FIRST_SLICE, "n_segments": 0}
    load_profile(engine, make_lammps(**seconds))
    with writing(engine) as conn:
        conn.execute(update(schema.job).values(state="running"))
    with serving(create_app(url)) as address:
        watched = Watched(browser, address)
        page = watched.open(f"/jobs/1?from={FIRST_MS + 2000:.0f}&to={FIRST_MS + 6000:.0f}")
        load_profile(
            engine, make_lammps(n_slices=12, slice_ns=1_000_000_000, first_slice=4 * FIRST_SLICE, n_segments=0)
        )
        page.locator("#job-identity", has_text="12 of 1 s").wait_for(timeout=10_000)
        assert x_range(page) == pytest.approx([FIRST_MS + 2000, FIRST_MS + 6000])
        page.locator('[data-zoom="reset"]').click()
        until(page, "document.querySelector('#stack').dataset.points.endsWith('+12x1')")
        assert page.locator("#job").get_attribute("data-state") == "finished"
        assert watched.complaints == []
        watched.context.close()
    engine.dispose()


def test_print_leaves_out_what_paper_cannot_do(watched: Watched, jobs: Jobs) -> None:
    page = watched.open(f"/jobs/{jobs.lammps}")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (".readout", ".toolbar .switch", ".how", "nav[aria-label='Pages']", ".tabs a:not([aria-current])"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.locator(".verdict .sentence").is_visible()
    assert page.locator("#stack .main-svg").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    card = page.evaluate("getComputedStyle(document.querySelector('.plots-card')).backgroundColor")
    assert card == "rgb(255, 255, 255)"
