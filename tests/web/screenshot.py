"""Save a picture of a page once its plots are drawn: `tests/web/screenshot.py URL FILE.png [--dark] [--phone]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.browser import DRAWN, chromium


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--dark", action="store_true", help="the dark colours")
    parser.add_argument("--phone", action="store_true", help="390 pixels wide instead of 1280")
    parser.add_argument("--height", type=int, default=0, help="cut to this many pixels; the whole page otherwise")
    parser.add_argument(
        "--hover", type=float, default=0.55, help="where the crosshair stands, 0 to 1; negative: nowhere"
    )
    wanted = parser.parse_args()
    with chromium() as browser:
        page = browser.new_page(
            viewport={"width": 390 if wanted.phone else 1280, "height": wanted.height or 900},
            color_scheme="dark" if wanted.dark else "light",
        )
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.goto(wanted.url)
        if page.locator(DRAWN).count():
            page.wait_for_selector(f":is({DRAWN})[data-state]")
            if not wanted.height:  # a full-page picture would move the pointer away
                page.set_viewport_size(page.viewport_size | {"height": page.evaluate("document.body.scrollHeight")})
                page.wait_for_timeout(300)
            areas = page.locator("#stack .nsewdrag")
            if wanted.hover >= 0 and areas.count():
                box = areas.nth(min(1, areas.count() - 1)).bounding_box()
                page.mouse.move(box["x"] + wanted.hover * box["width"], box["y"] + box["height"] / 2)
                page.wait_for_selector(".spikeline", state="attached")
        page.screenshot(path=str(wanted.file))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
