"""Processor time of the node, context switches, runnable threads: /proc/stat."""

from __future__ import annotations

import os
from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]

_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # in the order of the line
_NUMBERS = {
    "ctxt": "cpu_switches",
    "processes": "cpu_forks",
    "procs_running": "cpu_runnable",
    "procs_blocked": "cpu_blocked",
}


def parse(text: str, tick_ns: int) -> Values:
    """The values in /proc/stat. tick_ns: what its times count in."""
    values: Values = {}
    for line in text.splitlines():
        name, *words = line.split()
        if name == "cpu":
            values |= {(f"cpu_{time}", ""): int(word) * tick_ns for time, word in zip(_TIMES, words, strict=False)}
        elif name in _NUMBERS:
            values[_NUMBERS[name], ""] = int(words[0])
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/stat")
    return {} if text is None else parse(text, 10**9 // os.sysconf("SC_CLK_TCK"))
