"""What the agents on a job's nodes, and on the servers of its file systems, saw on the job's slices, as suspects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.lookup import NODE_LOADS, SERVER_LOADS, NodeLoad, Suspect, node_metrics, node_suspects
from crosswind.db import queries
from crosswind.db.node_queries import NodeRow, get_node_series, list_nodes, nodes_named
from crosswind.db.queries import JobRow
from crosswind.db.schema import GAP

__all__ = ["MAX_NODES", "SERVERS_OF", "read_node_suspects", "watched_hosts"]

T = TypeVar("T")

MAX_NODES = 64  # of a job, evenly chosen, and of the servers of one file system
MAX_VALUES = 1 << 20  # nodes times slices: of a long job fewer are read
OWN_NODES = "the job's nodes"
SERVERS_OF = "servers of "


def read_node_suspects(conn: Connection, job: JobRow) -> Iterator[tuple[str, Suspect[NodeLoad]]]:
    """("node" or "server", suspect), as far as agents watched in slices of the job's length."""
    own = nodes_named(conn, job.cluster, watched_hosts(job))
    for suspect in node_suspects(NODE_LOADS, OWN_NODES, _series(conn, job, own, node_metrics(NODE_LOADS))):
        yield "node", suspect
    for resource in queries.resources_of_job(conn, job.key):
        if "@" not in resource and (servers := _servers(conn, job, resource)):
            told = _series(conn, job, servers, node_metrics(SERVER_LOADS))
            for suspect in node_suspects(SERVER_LOADS, f"{SERVERS_OF}{resource}", told):
                yield "server", suspect


def watched_hosts(job: JobRow) -> Sequence[str]:
    """The nodes of a job whose agents are asked."""
    return _evenly(job.hosts, job)


def _servers(conn: Connection, job: JobRow, resource: str) -> Sequence[NodeRow]:
    nodes = list_nodes(conn, serves=resource)
    return _evenly([n for n in nodes if n.cluster == job.cluster and _watched(n, job)], job)


def _watched(node: NodeRow, job: JobRow) -> bool:
    return node.first_ns < job.end_ns and node.last_ns > job.start_ns


def _series(
    conn: Connection, job: JobRow, nodes: Sequence[NodeRow], metrics: Collection[str]
) -> list[dict[str, NDArray[np.float64]]]:
    """Of each node its metrics on the job's slices, instances summed, NaN where nothing is known."""
    found = []
    for node in (node for node in nodes if _watched(node, job)):
        sums: dict[str, NDArray[np.float64]] = {}
        series = get_node_series(conn, node.key, metrics, job.first_slice, job.n_slices, job.slice_ns)
        for (metric, _), values in series.items():
            known = np.where(values == GAP, np.nan, values.astype(np.float64))
            sums[metric] = sums[metric] + known if metric in sums else known
        found.append(sums)
    return found


def _evenly(items: Sequence[T], job: JobRow) -> Sequence[T]:
    """As many of them as may be read over a job's slices, evenly chosen."""
    most = min(MAX_NODES, max(MAX_VALUES // max(job.n_slices, 1), 1))
    return items if len(items) <= most else [items[i * len(items) // most] for i in range(most)]
