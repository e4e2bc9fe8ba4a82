"""Pages as a browser reads them."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["tags"]


def tags(text: str) -> list[tuple[str, dict[str, str]]]:
    """Every start tag of a page and its attributes."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(text)
    return found
