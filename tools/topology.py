"""The site's tree of switches, from its file into the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crosswind.tools.errors import CommandError

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["store_topology_file"]


def store_topology_file(engine: Engine, file: Path, cluster: str = "") -> str:
    """Store a topology.conf; what came of it, in words. CommandError: the file cannot be used."""
    from crosswind.collector.batch_system.topology import TopologyError, read_topology
    from crosswind.db.topology import store_topology

    try:
        paths = read_topology(file)
    except TopologyError as error:
        raise CommandError(str(error)) from None
    leaves = {path[0] for path in paths.values()}
    what = f"{len(paths)} nodes below {len(leaves)} switches"
    return what if store_topology(engine, paths, cluster=cluster) else f"{what}, as before"
