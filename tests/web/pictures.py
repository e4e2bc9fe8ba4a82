"""Pictures of every page, light and dark, for the documents: `cd tests && python -m web.pictures ADDRESS KEY [FOLDER]`.

ADDRESS: of a running `crosswind serve`; KEY: of the job to show. The names of the files are those of the pages.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from support.browser import chromium

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "img" / "pages"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
TALLEST = 2400  # pixels
DRAWN_MS = 30_000


def main(argv: list[str]) -> int:
    """Take all of them; 1 if a page complained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("key", type=int)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    options = parser.parse_args(argv)
    options.folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        complaints = take_pictures(browser, options.address.rstrip("/"), options.key, options.folder)
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


def take_pictures(browser: Any, address: str, key: int, folder: Path) -> list[str]:
    """Every page in both colours and the job's page on a phone; what the browser's console said."""
    complaints: list[str] = []
    for colours in ("light", "dark"):
        for name, path in pages(browser, address, key).items():
            size = PHONE if name.endswith("phone") else WIDE
            page = browser.new_page(viewport=size, color_scheme=colours)
            page.on("pageerror", lambda error, name=name: complaints.append(f"{name}: {error}"))
            page.on("console", lambda line, name=name: complaints.extend(_said(name, line)))
            open_page(page, address + path)
            save(page.screenshot(full_page=True), folder / f"{name}-{colours}.png")
            page.close()
    return complaints


def pages(browser: Any, address: str, key: int) -> dict[str, str]:
    """Name -> path: what the navigation bar leads to, the job's tabs, its lookup, a comparison."""
    found = {"job-lookup": f"/jobs/{key}/lookup", "job-phone": f"/jobs/{key}"}
    page = browser.new_page(viewport=WIDE)
    open_page(page, f"{address}/jobs/{key}")
    links = "all => all.map(a => [a.textContent.trim(), a.pathname + a.search])"
    for text, href in page.eval_on_selector_all("header nav a", links):
        found[_slug(text)] = href
    for text, href in page.eval_on_selector_all("nav.tabs a", links):
        found[f"job-{_slug(text)}"] = href
    page.close()
    return found


def open_page(page: Any, url: str) -> None:
    """Open it and wait for its plots."""
    page.goto(url)
    page.wait_for_load_state("networkidle")
    for drawing in page.query_selector_all("[data-figure]"):
        if drawing.is_visible():
            page.wait_for_selector('[data-state="drawn"]', state="attached", timeout=DRAWN_MS)
    page.wait_for_timeout(300)


def save(png: bytes, path: Path) -> None:
    """Cut to TALLEST, with as many colours as a drawing needs."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    picture.quantize(192, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def _said(name: str, line: Any) -> list[str]:
    return [f"{name}: {line.text}"] if line.type in ("error", "warning") else []


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z]+", text.lower()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
