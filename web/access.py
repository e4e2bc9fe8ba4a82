"""Rows of the table of access patterns on a job's page. Pure: arrays in, plain values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.access import (
    Access,
    FileCounts,
    access_by_class,
    file_counts_by_class,
    pattern,
    size_label,
)  # fmt: skip
from crosswind.profile.metrics import ACCESS_STEPS

__all__ = ["AccessRow", "Bar", "access_rows"]

WIDTH, HEIGHT = 100.0, 20.0  # of a drawing, in its own units
CLASSES = {
    "net": "network file systems", "disk": "local disks", "mem": "memory and /proc", "pipe": "pipes", "sock": "sockets",
    "other": "terminals and devices",
}  # fmt: skip
WAYS = {
    "posix_read": "read", "posix_write": "write", "stdio_read": "read, stdio", "stdio_write": "write, stdio",
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """One rectangle of a drawing of WIDTH by HEIGHT, and what it stands for."""

    name: str
    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class AccessRow:
    """The requests on one class of file in one way, of all processes of a job."""

    place: str
    way: str
    files: tuple[str, ...]
    requests: int
    pattern: str
    steps: tuple[Bar, ...]
    sizes: tuple[Bar, ...]
    frequent: str  # the most frequent size


def access_rows(access: Mapping[str, NDArray[np.int64]]) -> list[AccessRow]:
    """The classes and ways that were used. access: name -> [process, number]."""
    files = file_counts_by_class(access)
    return [
        AccessRow(
            place=CLASSES[cls],
            way=WAYS[way],
            files=_files(files.get(cls)),
            requests=use.requests,
            pattern=pattern(use, writes=way.endswith("write")),
            steps=_steps(use),
            sizes=_sizes(use),
            frequent=_frequent(use),
        )
        for cls, ways in access_by_class(access).items()
        for way, use in ways.items()
    ]


def _files(counts: FileCounts | None) -> tuple[str, ...]:
    """How many files belong to one process, how many to several."""
    if counts is None:
        return ()
    own = counts.own_read + counts.own_written + counts.own_both
    shared = counts.shared_read + counts.shared_written + counts.shared_both
    written = counts.shared_written + counts.shared_both
    texts = [f"{own} own"] if own else []
    if shared:
        texts.append(f"{shared} shared" + (f", {written} of them written" if written else ", read only"))
    return tuple(texts)


def _steps(use: Access) -> tuple[Bar, ...]:
    """One bar across, cut by how the requests follow one another."""
    total = sum(n for name, n in use.steps.items() if name != "strided")
    bars, at = [], 0.0
    for name, n in use.steps.items():
        if n and name != "strided":
            width = WIDTH * n / total
            text = f"{name}: {n} of {total}, {ACCESS_STEPS[name]}"
            if name in ("back", "ahead") and use.steps["strided"]:
                text += f" (of back and ahead together {use.steps['strided']} strided)"
            bars.append(Bar(name, at, 0.0, width, HEIGHT, text))
            at += width
    return tuple(bars)


def _used(use: Access) -> list[int]:
    return [bucket for bucket, n in enumerate(use.sizes) if n and bucket]


def _sizes(use: Access) -> tuple[Bar, ...]:
    """Columns of equal width, from the smallest to the largest size that moved anything; the height is the share."""
    used = _used(use)
    if not used:
        return ()
    most = max(use.sizes[bucket] for bucket in used)
    width = WIDTH / max(used[-1] - used[0] + 1, 8)
    return tuple(
        Bar(
            "size",
            (bucket - used[0]) * width,
            HEIGHT - height,
            width - 1,
            height,
            _size_text(bucket, use.sizes[bucket]),
        )
        for bucket in used
        for height in (max(HEIGHT * use.sizes[bucket] / most, 1.0),)
    )


def _size_text(bucket: int, n: int) -> str:
    return f"{size_label(bucket)}: {n} requests"


def _frequent(use: Access) -> str:
    used = _used(use)
    if not used:
        return "moved nothing"
    common = max(used, key=lambda bucket: use.sizes[bucket])
    return size_label(common)
