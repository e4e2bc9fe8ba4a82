"""One reader with an idle server: how long until a page can be used, and how much came over the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from figure import Figure

from support.browser import chromium

__all__ = ["measure_pages"]

ROUNDS = 5
SLOWEST_MS = 60_000


def measure_pages(address: str, jobs: dict[str, int]) -> Iterator[Figure]:
    """jobs: what a job is called here -> its key. Times are medians of some visits with plotly.js in the cache."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}/jobs/{next(iter(jobs.values()))}")
        _until_drawn(page)
        times = [_visit(page, f"{address}/?order={order}", "table tbody tr")[0] for order in ("-start", "user") * 3]
        yield Figure("list of jobs, usable after", median(times), "ms", 300)
        for name, key in jobs.items():
            visits = [_visit(page, f"{address}/jobs/{key}", '#stack[data-state="drawn"]') for _ in range(ROUNDS)]
            yield Figure(f"page of {name}, usable after", median(ms for ms, _, _ in visits), "ms", 1000)
            yield Figure(f"page of {name}, data before zoom", visits[-1][1] / 1e3, "kB", 300)
            yield Figure(f"page of {name}, over the wire", visits[-1][2] / 1e3, "kB")


def _visit(page: Any, url: str, ready: str) -> tuple[float, int, int]:  # noqa: ANN401 (Playwright's page)
    """Milliseconds until `ready` is there; bytes of HTML and JSON, unpacked and as they were sent."""
    answers: list[Any] = []

    def keep(request: object) -> None:
        answers.append(request)

    page.on("requestfinished", keep)
    begin = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(ready, state="attached", timeout=SLOWEST_MS)
    elapsed = 1e3 * (time.perf_counter() - begin)
    page.wait_for_load_state()
    page.remove_listener("requestfinished", keep)
    data = [request for request in answers if "/static/" not in request.url and not request.url.endswith(".js")]
    unpacked = sum(len(request.response().body()) for request in data)
    return elapsed, unpacked, sum(request.sizes()["responseBodySize"] for request in data)


def _until_drawn(page: Any) -> None:  # noqa: ANN401 (Playwright's page)
    page.wait_for_selector('#stack[data-state="drawn"]', timeout=SLOWEST_MS)
