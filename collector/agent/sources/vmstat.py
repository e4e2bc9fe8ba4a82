"""Swapping, reclaim, memory that ran out: /proc/vmstat."""

from __future__ import annotations

from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]

_LINES = {
    "pswpin": "vm_swap_in",
    "pswpout": "vm_swap_out",
    "pgmajfault": "vm_major_faults",
    "oom_kill": "vm_oom_kills",
    "numa_miss": "vm_numa_misses",
}
_RECLAIM = "allocstall"  # one number in old kernels, one per zone in newer ones


def parse(text: str) -> Values:
    """The values in /proc/vmstat."""
    values: Values = {}
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if name in _LINES:
            values[_LINES[name], ""] = int(number)
        elif name.startswith(_RECLAIM):
            values["vm_direct_reclaim", ""] = values.get(("vm_direct_reclaim", ""), 0) + int(number)
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/vmstat")
    return {} if text is None else parse(text)
