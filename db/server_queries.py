"""What the servers of a shared resource saw, beside what the profiled jobs did on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.db.node_queries import get_node_series, list_nodes, node_slice_lengths
from crosswind.db.queries import get_background
from crosswind.db.resources import metrics_of
from crosswind.db.schema import GAP

__all__ = ["ServerView", "get_server_view"]


@dataclass(frozen=True)
class ServerView:
    """One resource in a range of slices.

    servers: by name of the node and of the metric, int64 [slice], instances summed, GAP where nothing is known.
    jobs: the background of the resource by metric, int64 [slice]: what all profiled jobs did.
    """

    resource: str
    first_slice: int
    slice_ns: int
    servers: Mapping[str, Mapping[str, NDArray[np.int64]]]
    jobs: Mapping[str, NDArray[np.int64]]


def get_server_view(
    conn: Connection, resource: str, metrics: Collection[str], start_ns: int, end_ns: int
) -> ServerView | None:
    """The servers of a resource between two times, by these metrics of nodes; None where no agent watched one then.

    A server that was watched only before or only after, such as a decommissioned one, is not among them. The slices are
    those of the servers' agents; where they had several lengths, the shortest. Raises KeyError for an unknown resource,
    ValueError for an impossible range.
    """
    known = metrics_of(resource)
    nodes = [n for n in list_nodes(conn, serves=resource) if n.first_ns < end_ns and n.last_ns > start_ns]
    lengths = node_slice_lengths(conn, [node.key for node in nodes], start_ns, end_ns)
    if not lengths:
        return None
    slice_ns = lengths[0]
    first = start_ns // slice_ns
    n = -(-end_ns // slice_ns) - first
    servers = {}
    for node in nodes:
        series = get_node_series(conn, node.key, metrics, first, n, slice_ns)
        servers[node.name] = {
            metric: _sum([values for (name, _), values in series.items() if name == metric])
            for metric in sorted({name for name, _ in series})
        }
    background = get_background(conn, [resource], known, first, n, slice_ns)
    return ServerView(resource, first, slice_ns, servers, {metric: v for (_, metric), v in background.items()})


def _sum(instances: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The sum over instances; nothing is known of a slice in which one that was there at all is missing."""
    values = np.stack(instances)
    return np.where((values == GAP).any(axis=0), GAP, values.sum(axis=0))
