"""Writing what the nodes' agents saw: one file, one transaction.

Loading is a union: a slice that is there stays, one that is new is added, and of two that differ the larger value
counts, so that the order of loading does not matter and loading again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, insert, tuple_, update

from crosswind.db import codec, node_queries, resources
from crosswind.db.connection import reading, writing
from crosswind.db.errors import RefusedProfile
from crosswind.db.limits import FUTURE_NS, MAX_INT, MAX_NS, check_text
from crosswind.db.names import insert_missing, metric_ids
from crosswind.db.partitions import drop_partition, make_partitions, old_partitions
from crosswind.db.schema import BLOCK, GAP, node, node_frame
from crosswind.profile.model import Column

__all__ = ["NodeLoad", "NodeSlices", "load_node_slices", "prune_node_frames"]

MAX_INSTANCES = 4096  # of one metric
_MOST_BLOCKS = 1000  # pruned in one transaction

_Grids = dict[int, dict[str, dict[str, NDArray[np.int64]]]]  # block -> metric -> instance -> int64 [BLOCK], gaps GAP


@dataclass(frozen=True)
class NodeSlices:
    """What an agent saw of one node.

    rows: per slice its values by (metric, instance); columns: what each metric is. serves: the resource whose server
    the node is, or "".
    """

    node: str
    serves: str
    slice_ns: int
    columns: Mapping[str, Column]
    rows: Mapping[int, Mapping[tuple[str, str], int]]


@dataclass(frozen=True)
class NodeLoad:
    """What loading did. slices: how many were given; changed: whether the database lacked any of it."""

    node_key: int
    slices: int
    changed: bool


def load_node_slices(engine: Engine, slices: NodeSlices, *, cluster: str = "") -> NodeLoad:
    """Load slices of a node, whole or not at all. Raises RefusedProfile for what no agent can have seen."""
    check_text(cluster)
    _check(slices)
    grids = _grids(slices)
    make_partitions(engine, "node_frame", {block * BLOCK * slices.slice_ns for block in grids})
    with writing(engine) as conn:
        key = _write_node(conn, slices, cluster)
        ids = metric_ids(conn, set(slices.columns.values()))
        changed = False
        for block in sorted(grids):
            named = {ids[slices.columns[metric]]: (slices.columns[metric], g) for metric, g in grids[block].items()}
            changed |= _write_block(conn, key, block * BLOCK * slices.slice_ns, slices.slice_ns, named)
    return NodeLoad(key, len(slices.rows), changed)


def prune_node_frames(engine: Engine, before_ns: int) -> Iterator[tuple[int, int]]:
    """Let go of the blocks of all nodes that ended before; yields bytes and dropped partitions of each transaction.

    PostgreSQL drops the partitions of which no block goes on later. Raises DatabaseError as drop_partition does.
    """
    with reading(engine) as conn:
        nodes = [row.key for row in node_queries.list_nodes(conn)]
        doomed = [(p, node_queries.partition_bytes(conn, p)) for p in old_partitions(conn, "node_frame", before_ns)
                  if node_queries.has_ended(conn, p, before_ns)]  # fmt: skip
    for partition, n_bytes in doomed:
        if drop_partition(engine, partition, partial(node_queries.has_ended, partition=partition, before_ns=before_ns)):
            yield n_bytes, 1
    for key in nodes:
        while n_bytes := _prune_node(engine, key, before_ns):
            yield n_bytes, 0


def _prune_node(engine: Engine, node_key: int, before_ns: int) -> int:
    """Let go of the oldest blocks of a node in one transaction; their bytes, 0: there are none."""
    f = node_frame.c
    with writing(engine) as conn:
        old = node_queries.old_node_frames(conn, node_key, before_ns, _MOST_BLOCKS)
        keys = [key for key, _ in old]
        conn.execute(delete(node_frame).where(tuple_(f.node_key, f.start_ns, f.slice_ns, f.metric_id).in_(keys)))
    return sum(size for _, size in old)


def _check(slices: NodeSlices) -> None:
    for text in (slices.node, slices.serves, *{instance for row in slices.rows.values() for _, instance in row}):
        check_text(text)
    if slices.serves:
        try:
            resources.split(slices.serves)
        except KeyError as error:
            raise RefusedProfile(f"node {slices.node}: {error.args[0]}") from None
    last = max(slices.rows, default=0) + 1
    possible = 0 < slices.slice_ns <= MAX_NS and min(slices.rows, default=0) >= 0
    if not possible or last * slices.slice_ns > time.time_ns() + FUTURE_NS:
        raise RefusedProfile(f"node {slices.node}: its slices are impossible or in the future: check its clock")
    for row in slices.rows.values():
        if not all(0 <= value <= MAX_INT for value in row.values()):
            raise RefusedProfile(f"node {slices.node}: a value of it is negative or too large")


def _grids(slices: NodeSlices) -> _Grids:
    """The rows as arrays by block, metric and instance."""
    grids: _Grids = {}
    for number, row in slices.rows.items():
        block, at = divmod(number, BLOCK)
        metrics = grids.setdefault(block, {})
        for (metric, instance), value in row.items():
            instances = metrics.setdefault(metric, {})
            if instance not in instances:
                if len(instances) >= MAX_INSTANCES:
                    raise RefusedProfile(f"node {slices.node}: {metric} has more than {MAX_INSTANCES} instances")
                instances[instance] = np.full(BLOCK, GAP, dtype=np.int64)
            instances[instance][at] = value
    return grids


def _write_node(conn: Connection, slices: NodeSlices, cluster: str) -> int:
    """Make or update the node's row; its key. Whoever loads the same node waits for this transaction."""
    first = min(slices.rows, default=0) * slices.slice_ns
    last = (max(slices.rows, default=-1) + 1) * slices.slice_ns
    new = {"cluster": cluster, "name": slices.node, "serves": slices.serves, "first_ns": first, "last_ns": last}
    conn.execute(insert_missing(conn, node).values(**new))
    held = node_queries.locked_node(conn, cluster, slices.node)
    if slices.rows:
        serves = slices.serves if last >= held.last_ns else held.serves
        span = {"first_ns": min(first, held.first_ns), "last_ns": max(last, held.last_ns), "serves": serves}
        conn.execute(update(node).where(node.c.key == held.key).values(**span))
    return int(held.key)


def _write_block(
    conn: Connection,
    key: int,
    start_ns: int,
    slice_ns: int,
    grids: Mapping[int, tuple[Column, Mapping[str, NDArray[np.int64]]]],
) -> bool:
    """Unite one block with what is there of it; whether that changed anything. grids: by the metric's id."""
    held = node_queries.node_frames(conn, key, start_ns, slice_ns, grids.keys())
    at = {"node_key": key, "start_ns": start_ns, "slice_ns": slice_ns}
    changed = False
    for metric_id, (column, new) in sorted(grids.items()):
        old = held.get(metric_id, {})
        both = {name: _united(old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())}
        if old.keys() == both.keys() and all(np.array_equal(old[name], both[name]) for name in both):
            continue
        changed = True
        data = codec.encode_ints(np.stack(list(both.values())), smooth=column.kind == "gauge")
        values = {"instances": list(both), "data": data}
        if old:
            here = [node_frame.c[name] == value for name, value in (at | {"metric_id": metric_id}).items()]
            conn.execute(update(node_frame).where(*here).values(**values))
        else:
            conn.execute(insert(node_frame).values(**at, metric_id=metric_id, **values))
    return changed


def _united(old: NDArray[np.int64] | None, new: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Two views of the same slices: GAP is smaller than any value."""
    if old is None or new is None:
        return new if old is None else old  # type: ignore[return-value]  # one of them is there
    return np.maximum(old, new)
