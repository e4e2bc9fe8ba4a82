"""Reading small files of /proc and /sys, bounded: what is missing, unreadable or too large is absent."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["MAX_INSTANCES", "Values", "names_in", "read_number", "read_text"]

Values = dict[tuple[str, str], int]
"""What a source says: (metric, instance) -> value. The instance is "" where the metric is the whole node's."""

MAX_BYTES = 1 << 20
MAX_INSTANCES = 1024  # directories of one kind that are looked at


def read_text(path: str | Path, limit: int = MAX_BYTES) -> str | None:
    """The text of a file; None where it is missing, unreadable or longer than the limit."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts, size = [], 0
        while size <= limit and (part := os.read(handle, 1 << 16)):
            parts.append(part)
            size += len(part)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if size > limit else b"".join(parts).decode("utf-8", "replace")


def read_number(path: str | Path) -> int | None:
    """The one number in a file; None where there is none."""
    text = read_text(path, 64)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def names_in(directory: str | Path) -> list[str]:
    """The names in a directory, sorted, at most MAX_INSTANCES; none where it is missing."""
    try:
        return sorted(os.listdir(directory))[:MAX_INSTANCES]
    except OSError:
        return []
