"""Debian's Chromium, driven by Playwright, with flags that work without a display, a GPU or the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

CHROMIUM = "/usr/bin/chromium"
DRAWN = "#stack, #heat, #clusters"  # what pages draw once they are there; they say so by data-state
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[object]:
    """A running browser (playwright.sync_api.Browser); raises what Playwright raises where there is none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


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
        if self.page.locator(DRAWN).count():
            self.page.wait_for_selector(f":is({DRAWN})[data-state]")
        return self.page


def until(page, condition: str) -> None:
    """Wait until a JavaScript condition holds. Playwright's own wait evaluates text in the page: our policy refuses."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"after 10 s still not: {condition}")
