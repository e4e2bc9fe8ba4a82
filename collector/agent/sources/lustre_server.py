"""Lustre's servers: what clients did to each target, and how long requests waited for a service thread.

Per-job statistics (job_stats) are not read: their number has no bound, and what the jobs did is known from the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswind.collector.agent.files import Values
from crosswind.collector.agent.sources.lustre import Stat, devices

__all__ = ["parse_mdt", "parse_ost", "parse_service", "read"]

_METADATA = frozenset(
    [
        "open",
        "close",
        "mknod",
        "link",
        "unlink",
        "mkdir",
        "rmdir",
        "rename",
        "getattr",
        "setattr",
        "getxattr",
        "setxattr",
        "statfs",
        "sync",
    ]
)


def parse_ost(target: str, stats: Mapping[str, Stat]) -> Values:
    """The values of an object storage target (obdfilter)."""
    values: Values = {}
    for way in ("read", "write"):
        moved = stats.get(f"{way}_bytes", Stat(0, 0))  # a line appears with the first call
        values[f"ost_{way}_bytes", target] = moved.total
        values[f"ost_{way}_calls", target] = moved.samples
    return values


def parse_mdt(target: str, stats: Mapping[str, Stat]) -> Values:
    """The values of a metadata target (mdt, md_stats). Renames have lines by kind as well: they are counted once."""
    return {("mdt_calls", target): sum(s.samples for n, s in stats.items() if n in _METADATA)}


def parse_service(service: str, stats: Mapping[str, Stat]) -> Values:
    """The values of a service of a server (ost.OSS.*, mds.MDS.*)."""
    wait = stats.get("req_waittime")
    if wait is None:
        return {}
    return {("lustre_service_requests", service): wait.samples, ("lustre_service_wait", service): wait.total}


def read(root: Path) -> Values:
    """Read below root."""
    values: Values = {}
    for target, stats in devices(root, "obdfilter"):
        values |= parse_ost(target, stats)
    for target, stats in devices(root, "mdt", "md_stats"):
        values |= parse_mdt(target, stats)
    for kind in ("ost/OSS", "mds/MDS"):
        for service, stats in devices(root, kind):
            values |= parse_service(service, stats)
    return values
