"""Every SELECT on nodes, each named for the question it answers. All take a connection; none writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from crosswind.db import codec
from crosswind.db.limits import MAX_INT, MAX_SLICES
from crosswind.db.names import batches
from crosswind.db.one_of import one_of
from crosswind.db.partitions import Partition
from crosswind.db.schema import BLOCK, GAP, metric, node, node_frame

__all__ = [
    "NodeRow",
    "NodeSums",
    "each_node_sums",
    "get_node_series",
    "has_ended",
    "list_nodes",
    "locked_node",
    "node_frames",
    "node_slice_lengths",
    "nodes_named",
    "old_node_bytes",
    "old_node_frames",
    "partition_bytes",
]


@dataclass(frozen=True)
class NodeRow:
    """One node that an agent watched. serves: the resource whose server it is, or ""; first_ns, last_ns: UTC."""

    key: int
    cluster: str
    name: str
    serves: str
    first_ns: int
    last_ns: int


_NODE_COLUMNS = [node.c[name] for name in NodeRow.__dataclass_fields__]


def list_nodes(conn: Connection, *, serves: str | None = None) -> list[NodeRow]:
    """The nodes by name; with a resource: only its servers."""
    query = select(*_NODE_COLUMNS).order_by(node.c.name, node.c.key)
    if serves is not None:
        query = query.where(node.c.serves == serves)
    return [NodeRow(*row) for row in conn.execute(query)]


def nodes_named(conn: Connection, cluster: str, names: Collection[str]) -> list[NodeRow]:
    """The watched nodes of a cluster among those of these names, by name."""
    query = select(*_NODE_COLUMNS).where(node.c.cluster == cluster, one_of(node.c.name, names))
    return [NodeRow(*row) for row in conn.execute(query.order_by(node.c.name, node.c.key))]


def node_slice_lengths(conn: Connection, node_keys: Collection[int], start_ns: int, end_ns: int) -> list[int]:
    """The lengths of the slices in which these nodes were watched between two times, in ns, the shortest first."""
    f = node_frame.c
    inside = (one_of(f.node_key, node_keys), f.start_ns < end_ns, f.start_ns + BLOCK * f.slice_ns > start_ns)
    return list(conn.execute(select(f.slice_ns).where(*inside).distinct().order_by(f.slice_ns)).scalars())


def get_node_series(
    conn: Connection, node_key: int, metrics: Collection[str] | None, first_slice: int, n_slices: int, slice_ns: int
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """A node's values per slice, by (metric, instance): int64 [slice], GAP where nothing is known.

    metrics None: all there are. What was watched in slices of another length is not shown. Raises ValueError for an
    impossible range.
    """
    last = first_slice + n_slices
    if slice_ns <= 0 or first_slice < 0 or not 0 <= n_slices <= MAX_SLICES or last * slice_ns > MAX_INT:
        raise ValueError(f"no values of {n_slices} slices from {first_slice}: at most {MAX_SLICES} at once")
    f = node_frame.c
    query = (
        select(metric.c.name, f.start_ns, f.instances, f.data)
        .join(metric, metric.c.id == f.metric_id)
        .where(
            f.node_key == node_key,
            f.slice_ns == slice_ns,
            f.start_ns > (first_slice - BLOCK) * slice_ns,
            f.start_ns < last * slice_ns,
        )
    )
    if metrics is not None:
        query = query.where(metric.c.name.in_(list(metrics)))
    out: dict[tuple[str, str], NDArray[np.int64]] = {}
    for name, start_ns, instances, data in conn.execute(query):
        values = codec.decode_ints(data, (len(instances), BLOCK))
        at = start_ns // slice_ns - first_slice  # where the block begins in the result
        begin, end = max(at, 0), min(at + BLOCK, n_slices)
        for row, instance in enumerate(instances):
            target = out.setdefault((name, instance), np.full(n_slices, GAP, dtype=np.int64))
            target[begin:end] = values[row, begin - at : end - at]
    return out


@dataclass(frozen=True)
class NodeSums:
    """What an agent saw of a node in slices of one length, from first_slice on. values: by metric, all instances added
    up, float64 [slice], NaN where nothing is known.
    """

    node_key: int
    slice_ns: int
    first_slice: int
    n_slices: int
    values: dict[str, NDArray[np.float64]]


def each_node_sums(
    conn: Connection, node_keys: Collection[int], metrics: Collection[str], start_ns: int, end_ns: int
) -> Iterator[NodeSums]:
    """Of each of these nodes, and for each length of slices, all slices that touch [start_ns, end_ns)."""
    f = node_frame.c
    longest = _longest_slice_ns(conn, sorted(node_keys), start_ns, end_ns)
    for part in batches(sorted(node_keys)):
        query = (
            select(f.node_key, f.slice_ns, f.start_ns, metric.c.name, f.instances, f.data)
            .join(metric, metric.c.id == f.metric_id)
            .where(
                f.node_key.in_(part),
                metric.c.name.in_(sorted(metrics)),
                f.start_ns > start_ns - BLOCK * longest,  # for the index and the partitions: years may lie before
                f.start_ns < end_ns,
                f.start_ns + BLOCK * f.slice_ns > start_ns,
            )
            .order_by(f.node_key, f.slice_ns)
        )
        for (key, slice_ns), rows in groupby(conn.execute(query), lambda row: (row.node_key, row.slice_ns)):
            first = start_ns // slice_ns
            n_slices = -(-end_ns // slice_ns) - first
            values: dict[str, NDArray[np.float64]] = {}
            for row in rows:
                target = values.setdefault(row.name, np.full(n_slices, np.nan))
                at = row.start_ns // slice_ns - first  # where the block begins in the result
                begin, end = max(at, 0), min(at + BLOCK, n_slices)
                target[begin:end] = _summed(row.instances, row.data)[begin - at : end - at]
            yield NodeSums(key, slice_ns, first, n_slices, values)


def _longest_slice_ns(conn: Connection, node_keys: Sequence[int], start_ns: int, end_ns: int) -> int:
    """The longest slices of these nodes in [start_ns, end_ns), as the newest block of each and all blocks of the first
    tell; 0: there are none. What a single other node had before its newest block is not worth a look at all blocks.
    """
    f = node_frame.c
    of_node = select(f.slice_ns).where(f.node_key == node.c.key, f.start_ns < end_ns)
    newest = of_node.order_by(f.start_ns.desc()).limit(1).scalar_subquery()
    lengths = node_slice_lengths(conn, node_keys[:1], start_ns, end_ns)
    for part in batches(node_keys):
        lengths += conn.execute(select(newest).where(node.c.key.in_(part))).scalars()
    return max((length for length in lengths if length), default=0)


def _summed(instances: Collection[str], data: bytes) -> NDArray[np.float64]:
    """One block over its instances (devices, disks, ...), [BLOCK]; NaN where any of them is not known."""
    values = codec.decode_ints(data, (len(instances), BLOCK))
    return np.where((values == GAP).any(axis=0), np.nan, values.sum(axis=0, dtype=np.float64))


def old_node_frames(
    conn: Connection, node_key: int, before_ns: int, limit: int
) -> list[tuple[tuple[int, int, int, int], int]]:
    """For pruning: blocks of a node that ended before, at most so many, the oldest first: (node, begin, length of
    slices, metric), and bytes. The primary key finds them.
    """
    f = node_frame.c
    key = (f.node_key, f.start_ns, f.slice_ns, f.metric_id)
    old = select(*key, func.length(f.data)).where(
        f.node_key == node_key, f.start_ns < before_ns, f.start_ns + BLOCK * f.slice_ns <= before_ns
    )
    return [((row[0], row[1], row[2], row[3]), int(row[4])) for row in conn.execute(old.order_by(*key).limit(limit))]


def old_node_bytes(conn: Connection, before_ns: int) -> int:
    """The compressed bytes of all blocks that ended before."""
    f = node_frame.c
    old = select(func.coalesce(func.sum(func.length(f.data)), 0)).where(f.start_ns + BLOCK * f.slice_ns <= before_ns)
    return int(conn.execute(old).scalar_one())


def has_ended(conn: Connection, partition: Partition, before_ns: int) -> bool:
    """For pruning: whether all blocks of a partition ended before."""
    f = node_frame.c
    inside = f.start_ns.between(partition.begin_ns, partition.end_ns - 1)
    late = select(f.start_ns).where(inside, f.start_ns + BLOCK * f.slice_ns > before_ns)
    return conn.execute(late.limit(1)).first() is None


def partition_bytes(conn: Connection, partition: Partition) -> int:
    """For pruning: the compressed bytes of the blocks of a partition."""
    inside = node_frame.c.start_ns.between(partition.begin_ns, partition.end_ns - 1)
    return int(
        conn.execute(select(func.coalesce(func.sum(func.length(node_frame.c.data)), 0)).where(inside)).scalar_one()
    )


def locked_node(conn: Connection, cluster: str, name: str) -> Row[Any]:
    """For loading: the row of a node that is there, held until the transaction ends."""
    query = select(node).where(node.c.cluster == cluster, node.c.name == name)
    return conn.execute(query.with_for_update()).one()


def node_frames(
    conn: Connection, node_key: int, start_ns: int, slice_ns: int, metric_ids: Collection[int]
) -> dict[int, dict[str, NDArray[np.int64]]]:
    """For loading: one block of a node, by the metric's id and the instance: int64 [BLOCK]."""
    f = node_frame.c
    query = select(f.metric_id, f.instances, f.data).where(
        f.node_key == node_key, f.start_ns == start_ns, f.slice_ns == slice_ns, f.metric_id.in_(list(metric_ids))
    )
    frames = {}
    for metric_id, instances, data in conn.execute(query):
        values = codec.decode_ints(data, (len(instances), BLOCK))
        frames[metric_id] = dict(zip(instances, values, strict=True))
    return frames
