"""The form of Lustre's statistics, which its client and its servers share.

    snapshot_time        1694140643.273314489 secs.nsecs
    read_bytes           632846 samples [bytes] 0 4194304 2446905945284
    open                 8275 samples [regs]
    req_waittime         2193784 samples [usec] 31 19323671 22792548119 2825876578353643

A line is a name, how often, the unit, and where the unit is more than a count: least, most, sum, sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crosswind.collector.agent.files import names_in, read_text

__all__ = ["Stat", "devices", "parse_stats"]

# Old releases have everything below /proc, newer ones most of it in debugfs, which only root may read.
_ROOTS = ("proc/fs/lustre", "sys/kernel/debug/lustre")


class Stat(NamedTuple):
    """One line: how many samples, and their sum in bytes, ns or whatever is counted; 0 where there is none."""

    samples: int
    total: int


def parse_stats(text: str) -> dict[str, Stat]:
    """The lines of a stats file by name. Times become ns. Lines of another form are left out."""
    stats: dict[str, Stat] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 4 or words[2] != "samples":
            continue
        factor = {"[usec]": 1000, "[usecs]": 1000, "[sec]": 10**9, "[secs]": 10**9}.get(words[3], 1)
        name, samples = words[0], int(words[1])
        before = stats.get(name, Stat(0, 0))  # some releases have one operation on two lines
        total = int(words[6]) * factor if len(words) > 6 else 0
        stats[name] = Stat(before.samples + samples, before.total + total)
    return stats


def devices(root: Path, kind: str, file: str = "stats") -> Iterator[tuple[str, dict[str, Stat]]]:
    """The devices of a kind (llite, osc, obdfilter, ...) that have statistics: (name, lines), wherever they are."""
    for base in _ROOTS:
        found = False
        for name in names_in(root / base / kind):
            text = read_text(root / base / kind / name / file)
            if text is not None:
                found = True
                yield name, parse_stats(text)
        if found:
            return
