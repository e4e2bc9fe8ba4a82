"""How much others moved beside a run on what its programs share: what was moved at all, less the run's own.

Through Slurm the servers' agents tell what was moved; here the disk under {scratch} does, and the kernel what each of
the run's processes sent there. What programs write and do not flush may never reach the disk and then hides as much of
others'; what a file system writes for itself, such as its journal, counts as outside.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from crosswind.analysis.servers import WAYS, explain
from crosswind.collector.agent.sources import disk
from crosswind.db.nodes import NodeSlices
from crosswind.db.resources import metrics_of
from crosswind.db.schema import GAP
from crosswind.profile.model import Profile
from crosswind.tools.experiment.records import Outside

__all__ = ["DiskWatch", "beside_on_servers", "is_disturbed"]

QUIET_B_PER_S = 1 << 20  # what is less than this disturbs nobody, whatever its share
MOST_GAPS = 0.1  # of a run's slices


class DiskWatch:
    """The disk under a directory that is or will be there, from now on; none under a file system in memory or of a
    server.
    """

    def __init__(self, directory: Path) -> None:
        self.name = _disk_under(next(path for path in (directory, *directory.parents) if path.exists()))
        self._before = _moved(self.name)

    def beside(self, profiles: Iterable[Profile]) -> Outside | None:
        """What others moved there until now; None without a disk."""
        if not self.name:
            return None
        now = _moved(self.name)
        moved = {way: now[way] - self._before[way] for way in WAYS}
        profiles = list(profiles)
        own = {way: sum(_total(p, [f"storage_{way}_bytes"]) for p in profiles) for way in WAYS}
        return _outside(moved, own, f"disk {self.name}")


def beside_on_servers(
    seen: Sequence[NodeSlices], profiles: Sequence[Profile], resource: str, begin_ns: int, end_ns: int
) -> Outside | None:
    """What others moved on the servers of a resource; None where no agent saw them for nearly all of the time."""
    parts = [part for part in seen if part.serves == resource]
    if not parts:
        return None
    length = max(part.slice_ns for part in parts)
    first, n = begin_ns // length, -(-end_ns // length) - begin_ns // length
    servers = {
        node: _series([part for part in parts if part.node == node and part.slice_ns == length], first, n)
        for node in sorted({part.node for part in parts})
    }
    nothing = {"": np.zeros(n, dtype=np.int64)}
    moved = {way: explain(servers, nothing, way, gap=GAP).server for way in WAYS}
    if max(float(np.isnan(values).mean()) for values in moved.values()) > MOST_GAPS:
        return None
    metrics = metrics_of(resource)
    own = {way: sum(_total(p, [m for m in metrics if m.endswith(f"_{way}_bytes")]) for p in profiles) for way in WAYS}
    return _outside(
        {way: int(np.nansum(values)) for way, values in moved.items()}, own, f"servers {', '.join(servers)}"
    )


def is_disturbed(outside: Outside | None, seconds: float, limit_pct: float) -> bool:
    """Whether others moved more than this share (0: no matter), and so much that it can disturb."""
    if outside is None or limit_pct == 0:
        return False
    others = outside.server_bytes * outside.outside_pct / 100
    return outside.outside_pct > limit_pct and others > QUIET_B_PER_S * seconds


def _outside(moved: Mapping[str, int], own: Mapping[str, int], source: str) -> Outside:
    """Reads and writes apart: reads that a cache answered do not excuse writes."""
    others = sum(max(moved[way] - own[way], 0) for way in WAYS)
    total = sum(moved.values())
    return Outside(
        server_bytes=total,
        own_bytes=sum(own.values()),
        outside_pct=100 * others / total if total else 0.0,
        source=source,
    )


def _total(profile: Profile, metrics: Collection[str]) -> int:
    return sum(int(profile.totals[metric].sum()) for metric in metrics if metric in profile.totals)


def _series(parts: Sequence[NodeSlices], first: int, n: int) -> dict[str, np.ndarray]:
    """By metric int64 [slice], instances summed; GAP where one that was there at all was not seen."""
    rows = {k: row for part in parts for k, row in part.rows.items() if first <= k < first + n}
    keys = {key for row in rows.values() for key in row}
    series = {metric: np.full(n, GAP, dtype=np.int64) for metric, _ in keys}
    for metric, values in series.items():
        mine = [key for key in keys if key[0] == metric]
        for k, row in rows.items():
            if all(key in row for key in mine):
                values[k - first] = sum(row[key] for key in mine)
    return series


def _disk_under(directory: Path) -> str:
    device = directory.stat().st_dev
    path = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    return path.resolve().name if path.exists() else ""


def _moved(name: str) -> dict[str, int]:
    values = disk.parse(Path("/proc/diskstats").read_text(), {name}) if name else {}
    return {way: values.get((f"disk_{way}_bytes", name), 0) for way in WAYS}
