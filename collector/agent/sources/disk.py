"""Disks: /proc/diskstats."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from crosswind.collector.agent.files import MAX_INSTANCES, Values, names_in, read_text

__all__ = ["parse", "read"]

_SECTOR = 512
_MS = 10**6
# column after the device's name: (metric, factor)
_COLUMNS = {
    0: ("disk_reads", 1),
    2: ("disk_read_bytes", _SECTOR),
    3: ("disk_read_time", _MS),
    4: ("disk_writes", 1),
    6: ("disk_write_bytes", _SECTOR),
    7: ("disk_write_time", _MS),
    8: ("disk_in_flight", 1),
    9: ("disk_busy", _MS),
}


def parse(text: str, disks: Collection[str]) -> Values:
    """The values in /proc/diskstats of these devices.

    Partitions, mapped devices and arrays are none of them: they move the same bytes again.
    """
    values: Values = {}
    for line in text.splitlines():
        _, _, device, *words = line.split()
        if device in disks:
            values |= {(metric, device): factor * int(words[at]) for at, (metric, factor) in _COLUMNS.items()}
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/diskstats")
    if text is None:
        return {}
    whole = names_in(root / "sys/block")
    disks = {name for name in whole if (root / "sys/block" / name / "device").exists()}
    return parse(text, disks or set(_used(text, whole)[:MAX_INSTANCES]))


def _used(text: str, whole: Collection[str]) -> list[str]:
    """The whole devices that have read or written anything."""
    rows = [line.split() for line in text.splitlines()]
    return [row[2] for row in rows if row[2] in whole and (row[3] != "0" or row[7] != "0")]
