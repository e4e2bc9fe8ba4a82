"""Where the time of a job's threads went: one bar across, and a line for each part. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.timesplit import CATEGORIES, split_columns
from crosswind.web.access import HEIGHT, WIDTH, Bar

__all__ = ["TimePart", "time_parts"]


@dataclass(frozen=True)
class TimePart:
    """One category of `crosswind.profile.timesplit`. share: of all thread time, 0 to 1."""

    name: str
    title: str
    time_ns: int
    share: float
    bar: Bar


def time_parts(columns: Mapping[str, NDArray[np.int64]], covered_ns: NDArray[np.int64]) -> list[TimePart]:
    """The categories that took any time, in the order of the bar; none without thread time. [process, slice]."""
    times = {name: int(values.sum()) for name, values in split_columns(columns, covered_ns).items()}
    total = sum(times.values())
    parts, at = [], 0.0
    for name, time_ns in times.items():
        if time_ns:
            share = time_ns / total
            text = f"{CATEGORIES[name]}: {100 * share:.1f} %"
            bar = Bar(name, at, 0.0, WIDTH * share, HEIGHT, text)
            parts.append(TimePart(name, CATEGORIES[name], time_ns, share, bar))
            at += bar.width
    return parts
