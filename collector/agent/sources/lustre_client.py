"""Lustre as its clients see it: what programs did (llite), and how long the servers took (osc, mdc)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswind.collector.agent.files import Values
from crosswind.collector.agent.sources.lustre import Stat, devices

__all__ = ["parse_client", "parse_targets", "read"]

# Operations of llite that the metadata server answers or may have to.
_METADATA = frozenset(
    [
        "open",
        "close",
        "create",
        "link",
        "unlink",
        "symlink",
        "mkdir",
        "rmdir",
        "mknod",
        "rename",
        "getattr",
        "setattr",
        "truncate",
        "flock",
        "readdir",
        "statfs",
        "setxattr",
        "getxattr",
        "listxattr",
        "removexattr",
        "inode_permission",
    ]
)


def parse_client(instance: str, stats: Mapping[str, Stat]) -> Values:
    """The values of one mount (llite)."""
    values: Values = {("lustre_meta_calls", instance): sum(s.samples for n, s in stats.items() if n in _METADATA)}
    for way in ("read", "write"):
        moved = stats.get(f"{way}_bytes", Stat(0, 0))  # a line appears with the first call
        values[f"lustre_{way}_bytes", instance] = moved.total
        values[f"lustre_{way}_calls", instance] = moved.samples
    return values


def parse_targets(instance: str, kind: str, stats: Mapping[str, Stat]) -> Values:
    """The values of the connection to one target. kind: ost or mdt."""
    wait = stats.get("req_waittime", Stat(0, 0))
    values = {(f"lustre_{kind}_requests", instance): wait.samples, (f"lustre_{kind}_wait", instance): wait.total}
    if kind == "ost":
        for way in ("read", "write"):
            values[f"lustre_ost_{way}_bytes", instance] = stats.get(f"{way}_bytes", Stat(0, 0)).total
    return values


def read(root: Path) -> Values:
    """Read below root. Names are FS-ffff8810 (llite), FS-OST0003-osc-ffff8810 (osc), FS-MDT0000-mdc-ffff8810 (mdc)."""
    values: Values = {}
    for name, stats in devices(root, "llite"):
        _add(values, parse_client(name.rpartition("-")[0], stats))
    for directory, kind in (("osc", "ost"), ("mdc", "mdt")):
        for name, stats in devices(root, directory):
            file_system = name.rsplit("-", 3)[0]
            if name.count("-") >= 3:  # servers have connections of their own, without the mount's number
                _add(values, parse_targets(file_system, kind, stats))
    return values


def _add(values: Values, more: Values) -> None:
    for key, value in more.items():
        values[key] = values.get(key, 0) + value
