"""axe-core over every page, light and dark: nothing that it calls serious or critical; and what is hidden is hidden.

The pages come from the application's own routes, so a new page is here by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from support.sites import Jobs

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

GRAVE = ("serious", "critical")
READY_MS = 20_000
SHOWN = "[...document.querySelectorAll('[hidden]')].filter(e => e.checkVisibility()).map(e => e.outerHTML)"


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_page_has_a_grave_fault(app: Flask, address: str, jobs: Jobs, browser: Any, colours: str) -> None:
    found = []
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=colours)
    for path in sorted(_paths(page, app, address, jobs)):
        _open(page, address + path)
        found += [f"{path}: shown although hidden: {html[:120]}" for html in page.evaluate(SHOWN)]
        found += [
            f"{path}: {fault['id']}, {fault['help']}: {node['html'][:120]}"
            for fault in axe.Axe().run(page).response["violations"]
            if fault["impact"] in GRAVE
            for node in fault["nodes"][:2]
        ]
    page.close()
    assert not found, "\n".join(found)


def test_the_check_sees_faults(browser: Any) -> None:
    page = browser.new_page()
    page.set_content(
        "<html lang='en'><title>x</title><body style='background:#fff'><main><h1>x</h1><img src='x.png'>"
        "<p style='color:#ddd'>some pale words</p></main>"
    )
    faults = {fault["id"] for fault in axe.Axe().run(page).response["violations"] if fault["impact"] in GRAVE}
    page.close()
    assert {"image-alt", "color-contrast"} <= faults


def _paths(page: Any, app: Flask, address: str, jobs: Jobs) -> set[str]:
    """Every page that can be read, and the tabs that pages offer; and a page that is not there."""
    found = {"/no-such-page"}
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()):
            found |= set(_addresses(rule, app, jobs))
    for path in sorted(found):
        _open(page, address + path)
        links = page.eval_on_selector_all("nav.tabs a", "all => all.map(a => a.href)")
        found |= {link.removeprefix(address) for link in links}
    return found


def _addresses(rule: Rule, app: Flask, jobs: Jobs) -> Iterator[str]:
    """The addresses under a rule that are pages, not data."""
    values = {name: jobs.lammps for name in rule.arguments if name == "key"}
    if rule.arguments - values.keys():
        return
    path = str(rule.build(values, append_unknown=False)[1])  # type: ignore[index]
    answer = app.test_client().get(path)
    if answer.status_code == 200 and answer.mimetype == "text/html":
        yield path


def _open(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_load_state()
    for drawing in page.query_selector_all("[data-figure]"):
        if drawing.is_visible():
            page.wait_for_selector("[data-state]", state="attached", timeout=READY_MS)
