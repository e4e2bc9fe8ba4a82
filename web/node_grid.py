"""The grid of the system in a colour that agents tell: what they saw of whole nodes, not of single jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.timespace import Grid
from crosswind.db.node_queries import NodeRow, NodeSums, each_node_sums, list_nodes, node_slice_lengths
from crosswind.db.timespace import PlacedJob
from crosswind.web.grid_metrics import NodeMetric
from crosswind.web.identity import viewer
from crosswind.web.identity.privacy import withheld_of_each, withheld_words

__all__ = ["MOST_VALUES", "colour_nodes"]

MOST_VALUES = 20_000_000  # nodes times slices times metrics that are read for one picture

_JobsOf = Mapping[tuple[str, str], Sequence[PlacedJob]]  # (cluster, node) -> the viewer's own jobs there


def colour_nodes(conn: Connection, grid: Grid, jobs: Sequence[PlacedJob], metric: NodeMetric, end_ns: int) -> list[str]:
    """Put what agents saw into the grid; what has to be said of it.

    jobs: those that the viewer may see. Who may not see all jobs sees a node while an own job was on it, and not where
    few other jobs were: then what is not the viewer's was theirs.
    """
    may_see_all = viewer().names_others
    own = _jobs_by_node(jobs)
    on_grid = set(grid.rows.names)
    nodes = [
        node
        for node in list_nodes(conn, serves="")
        if node.name in on_grid
        and node.first_ns < end_ns
        and node.last_ns > grid.begin_ns
        and (may_see_all or (node.cluster, node.name) in own)
    ]
    read = _within_budget(conn, nodes, grid, end_ns, len(metric.read))
    by_key = {node.key: node for node in read}
    withheld: dict[int, dict[str, NDArray[np.bool_]]] = {}  # by the length of slices, then by node
    seen = hidden = False
    for found in each_node_sums(conn, by_key.keys(), metric.read, grid.begin_ns, end_ns):
        node, values = by_key[found.node_key], value_of(metric, found)
        if not may_see_all:
            span = (found.first_slice, found.n_slices, found.slice_ns)
            if found.slice_ns not in withheld:
                withheld[found.slice_ns] = withheld_of_each(conn, {one.name for one in read}, *span)
            values = np.where(_inside(own[node.cluster, node.name], *span), values, np.nan)
            few = withheld[found.slice_ns].get(node.name, np.False_)
            hidden |= bool((few & ~np.isnan(values)).any())
            values = np.where(few, np.nan, values)
        seen |= not np.isnan(values).all()
        grid.see(node.name, found.first_slice, found.slice_ns, values)
    return _notes(len(nodes), len(read), seen=seen, hidden=hidden)


def value_of(metric: NodeMetric, found: NodeSums) -> NDArray[np.float64]:
    """The metric in its unit, [slice]; NaN where it is not known. A sum is over those metrics that the node has."""

    def total(names: Collection[str]) -> NDArray[np.float64] | None:
        parts = [found.values[name] for name in names if name in found.values]
        return np.sum(parts, axis=0) if parts else None

    unknown = np.full(found.n_slices, np.nan)
    value, less, over = total(metric.metrics), total(metric.less), total(metric.over)
    if value is None or (metric.less and less is None) or (metric.over and over is None):
        return unknown
    value = value if less is None else value - less
    if over is not None:
        return np.divide(value, over, out=unknown, where=over > 0)
    return value if metric.gauge else value * (metric.scale / found.slice_ns)


def _jobs_by_node(jobs: Sequence[PlacedJob]) -> _JobsOf:
    by_node: dict[tuple[str, str], list[PlacedJob]] = defaultdict(list)
    for job in jobs:
        for host in job.hosts:
            by_node[job.cluster, host].append(job)
    return by_node


def _inside(jobs: Sequence[PlacedJob], first_slice: int, n_slices: int, slice_ns: int) -> NDArray[np.bool_]:
    """Which slices lie within those of any of these jobs, bool [slice]."""
    inside = np.zeros(n_slices, dtype=np.bool_)
    for job in jobs:
        begin_ns, end_ns = job.first_slice * job.slice_ns, (job.first_slice + job.n_slices) * job.slice_ns
        first, end = -(-begin_ns // slice_ns) - first_slice, end_ns // slice_ns - first_slice
        inside[max(first, 0) : max(end, 0)] = True
    return inside


def _within_budget(
    conn: Connection, nodes: Sequence[NodeRow], grid: Grid, end_ns: int, n_metrics: int
) -> Sequence[NodeRow]:
    """As many of the nodes as may be read for one picture, evenly chosen in the order of the rows."""
    order = {name: row for row, name in enumerate(grid.rows.names)}
    lengths = node_slice_lengths(conn, [node.key for node in nodes[:1]], grid.begin_ns, end_ns)
    slices = (end_ns - grid.begin_ns) // (lengths[0] if lengths else 4 * 10**9)
    most = max(1, MOST_VALUES // max(slices * n_metrics, 1))
    if len(nodes) <= most:
        return nodes
    ordered = sorted(nodes, key=lambda node: order[node.name])
    return [ordered[(2 * i + 1) * len(ordered) // (2 * most)] for i in range(most)]


def _notes(n_watched: int, n_read: int, *, seen: bool, hidden: bool) -> list[str]:
    notes = []
    if not n_watched:
        notes.append("No agent watched these nodes in this time: crosswind agent on each node makes these colours.")
    elif not seen and not hidden:
        notes.append("The agents saw nothing of this: the nodes have no such counter, or its values were pruned.")
    if n_read < n_watched:
        notes.append(
            f"Drawn are {n_read} of {n_watched} watched nodes, evenly chosen: all are too much to read at once. Choose "
            "a shorter time or fewer nodes for the others."
        )
    if n_watched and not viewer().names_others:
        notes.append(
            "Your nodes are coloured while your jobs were on them: what an agent sees is the sum of all there."
        )
    return [*notes, withheld_words()] if hidden else notes
