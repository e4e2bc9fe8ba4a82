"""What nodes and clusters may be called: their names become parts of names of files."""

from __future__ import annotations

import re

__all__ = ["is_plain_name"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", re.ASCII)
MAX_NAME = 64  # characters


def is_plain_name(text: str) -> bool:
    """Whether it is letters, digits, `_` and `-`, with single dots between them, and at most 64 characters."""
    return len(text) <= MAX_NAME and _PLAIN.fullmatch(text) is not None
