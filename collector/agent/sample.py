"""From what the sources say at two boundaries to one slice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from crosswind.collector.agent.files import Values
from crosswind.collector.agent.metrics import BY_NAME
from crosswind.collector.agent.sources import READERS

__all__ = ["MAX_LATE", "MAX_SERIES", "Slice", "Snapshot", "read_sources", "slice_between"]

MAX_LATE = 0.25  # of a slice: what was read later than this after its boundary is no end of a slice
MAX_SERIES = 1 << 14
MAX_VALUE = (1 << 63) - 1

_BROKEN = (OSError, ValueError, LookupError)  # what a parser raises on a form that it does not know


@dataclass(frozen=True)
class Snapshot:
    """What the sources said at a boundary. boundary: its number, that is the slice that begins there; at_ns: UTC, when
    it was read.
    """

    boundary: int
    at_ns: int
    values: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Slice:
    """One slice of the node: number, true begin and end (UTC ns), values by (metric, instance).

    A counter has its difference, a gauge its value at the end. What has no value is absent.
    """

    number: int
    begin_ns: int
    end_ns: int
    values: Mapping[tuple[str, str], int]


def read_sources(root: Path, names: Collection[str] = tuple(READERS)) -> tuple[Values, list[str]]:
    """What the named sources say below root, and the names of those that say something in a form not known."""
    values: Values = {}
    broken = []
    for name in names:
        try:
            found = READERS[name](root)
        except _BROKEN:
            broken.append(name)
            continue
        if len(values) + len(found) > MAX_SERIES:
            broken.append(name)
            continue
        values |= found
    return values, broken


def slice_between(before: Snapshot, after: Snapshot, slice_ns: int) -> Slice | None:
    """The slice between two snapshots; None where they are no neighbours or one was taken too late.

    A counter that is smaller than before was reset or has wrapped, and which cannot be told: no value.
    """
    late = (snapshot.at_ns - snapshot.boundary * slice_ns for snapshot in (before, after))
    if after.boundary != before.boundary + 1 or not all(0 <= ns <= MAX_LATE * slice_ns for ns in late):
        return None
    values: Values = {}
    for key, now in after.values.items():
        value = now
        if BY_NAME[key[0]].kind == "counter":
            value = now - before.values.get(key, now + 1)
        if 0 <= value <= MAX_VALUE:
            values[key] = value
    return Slice(before.boundary, before.at_ns, after.at_ns, values)
