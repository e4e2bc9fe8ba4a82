"""The whole story in a browser, on data of a real simulated Slurm: who lost time, when, to whom, and who may know.

alice finds her disturbed job in the list, opens it, clicks the dent and reads what rose. Her neighbour has no name
for her, and its address is refused. Support sees the name, opens the job, and that is written down.

`make test-web` runs it (root; some three minutes). CROSSWIND_STORY names a database that cluster.story made before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.story import Story, make_story, story_in

from crosswind.db import open_database, reading
from crosswind.db.audit import access_lines
from crosswind.web import create_app
from crosswind.web.identity import load_settings
from support.browser import CHROMIUM, Watched, chromium
from support.cluster import why_not
from support.serving import serving

SUPPORT = "helen"
SETTINGS = f"""
public_url = "http://127.0.0.1"
[proxy]
trusted = ["127.0.0.1"]
header = "X-Remote-User"
[roles]
support = ["{SUPPORT}"]
"""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    if made := os.environ.get("CROSSWIND_STORY"):
        return story_in(Path(made))
    if reason := why_not():
        pytest.skip(f"no simulated Slurm: {reason}")
    return make_story(tmp_path_factory.mktemp("story") / "story.db")


@pytest.fixture(scope="module")
def address(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard as a site runs it, behind a proxy that says who asks."""
    file = tmp_path_factory.mktemp("settings") / "site.toml"
    file.write_text(SETTINGS)
    with serving(create_app(story.database, load_settings(file))) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there (apt-get install chromium)")
    with chromium() as running:
        yield running


def as_user(browser: Any, address: str, name: str) -> Watched:
    """A window of somebody who has signed in."""
    return Watched(browser, address, extra_http_headers={"X-Remote-User": name})


def test_the_story_is_true(story: Story) -> None:
    assert story.problems == []


def test_victim_finds_when_and_to_what_but_not_to_whom(story: Story, browser: Any, address: str) -> None:
    alice = as_user(browser, address, story.victim.user)
    page = alice.open("/")
    page.get_by_role("link", name="Most disturbed").click()
    worst = page.locator("tbody tr").first
    assert story.victim.command[:12] in worst.inner_text()
    assert re.search(r"(medium|high) \d", worst.inner_text())
    assert story.noise.user not in page.content()

    worst.get_by_role("link", name=story.victim.job_id).first.click()
    page.wait_for_selector('#stack[data-state="drawn"]')
    assert re.search(r"Lost about [\d.]+ %", page.locator(".verdict").inner_text())
    click_the_dent(page)
    panel = page.locator("#found")
    panel.get_by_text("another user").first.wait_for()
    assert "by a job of another user" in panel.locator("li").first.inner_text()
    panel.get_by_role("link").last.click()
    page.wait_for_load_state()
    assert "/lookup" in page.url
    page.get_by_role("link", name="Whole run").click()
    assert "by a job of another user" in page.locator("#answer").inner_text()
    for secret in (story.noise.user, story.noise.command, f"/jobs/{story.noise.key}"):
        assert secret not in page.content()
    assert alice.complaints == []
    alice.context.close()


def test_victim_is_refused_the_culprit(story: Story, browser: Any, address: str) -> None:
    alice = as_user(browser, address, story.victim.user)
    for path in (f"/jobs/{story.noise.key}", f"/jobs/{story.noise.key}/lookup", f"/api/v1/jobs/{story.noise.key}"):
        answer = alice.page.goto(address + path)
        assert answer.status == 404, path
        assert story.noise.user not in alice.page.content()
    alice.context.close()


def test_support_reads_the_name_opens_the_job_and_is_logged(story: Story, browser: Any, address: str) -> None:
    helen = as_user(browser, address, SUPPORT)
    page = helen.open(f"/jobs/{story.victim.key}/lookup")
    assert f"by job {story.noise.job_id}.0" in page.locator("#answer").inner_text()
    first = page.locator("table.lookup tbody tr").first
    first.get_by_role("link", name=f"job {story.noise.job_id}.0", exact=True).click()
    page.wait_for_selector('#stack[data-state="drawn"]')
    assert story.noise.user in page.locator("dl.identity").inner_text()
    assert helen.complaints == []
    helen.context.close()
    engine = open_database(story.database, create=False)
    with reading(engine) as conn:
        lines, _ = access_lines(conn, viewer=SUPPORT, subject=story.noise.user)
    engine.dispose()
    assert story.noise.key in {line.job_key for line in lines}


def click_the_dent(page: Any) -> None:
    """The middle of the first shaded stretch, in the second plot from the top."""
    shape = page.locator("#stack .shapelayer path").first.bounding_box()
    area = page.locator("#stack .nsewdrag").nth(1).bounding_box()
    page.mouse.move(shape["x"] + shape["width"] / 2 - 5, area["y"] + area["height"] / 2)
    page.mouse.click(shape["x"] + shape["width"] / 2, area["y"] + area["height"] / 2)
