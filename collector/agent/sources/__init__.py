"""The sources of node metrics: one module each, `read(root)` below a root of /proc and /sys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crosswind.collector.agent.files import Values
from crosswind.collector.agent.sources import (
    cpu,
    cpufreq,
    disk,
    infiniband,
    lustre_client,
    lustre_server,
    memory,
    network,
    nfs_client,
    nfs_server,
    omnipath,
    pressure,
    vmstat,
)

__all__ = ["READERS"]

READERS: dict[str, Callable[[Path], Values]] = {
    "cpu": cpu.read,
    "cpufreq": cpufreq.read,
    "memory": memory.read,
    "vmstat": vmstat.read,
    "pressure": pressure.read,
    "network": network.read,
    "infiniband": infiniband.read,
    "omnipath": omnipath.read,
    "lustre_client": lustre_client.read,
    "lustre_server": lustre_server.read,
    "nfs_client": nfs_client.read,
    "nfs_server": nfs_server.read,
    "disk": disk.read,
}
