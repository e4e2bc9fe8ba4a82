"""The file server of tests/cluster/file-server-up.sh: what the nodes of the simulated cluster share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.cluster import SCRIPTS, Cluster, script

NODE = "fs1"
RESOURCE = "fs:net"  # the class of what is mounted through FUSE
NAMESPACE = Path("/run/netns/cw-fs1")
MBIT = 400


def why_not() -> str:
    """Why there can be none on this machine where a cluster can be, and the way out; nothing when there can."""
    missing = [name for name in ("glusterfsd", "glusterfs") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (tools/setup/setup.sh cluster installs them)"
    return "" if Path("/dev/fuse").exists() else "this machine has no /dev/fuse"


def mount(cluster: Cluster) -> Path:
    """Where the nodes have it; outside them this is an empty directory."""
    return cluster.state / "shared"


def brick(cluster: Cluster) -> Path:
    """Where the server keeps it."""
    return cluster.state / "fs" / "brick"


def spool(cluster: Cluster) -> Path:
    """Of the server's agent."""
    return cluster.state / "fs" / "spool"


def start_file_server(cluster: Cluster, mbit: int = MBIT) -> None:
    """Start it behind a link of so many Mbit/s, and mount it on all nodes; again: where it is missing."""
    script([SCRIPTS / "file-server-up.sh", cluster.state, str(mbit)], cluster.environment)


def stop_file_server(cluster: Cluster) -> None:
    """Before the cluster is stopped."""
    script([SCRIPTS / "file-server-down.sh", cluster.state], cluster.environment)


@contextmanager
def running_file_server(cluster: Cluster, mbit: int = MBIT) -> Iterator[Path]:
    """The path on the nodes."""
    try:
        start_file_server(cluster, mbit)
        yield mount(cluster)
    finally:
        stop_file_server(cluster)
