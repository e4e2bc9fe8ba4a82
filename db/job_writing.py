"""Writing and deleting the rows of one job, and adding to the background what changes in it. Used by all that load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, insert, update

from crosswind.db import codec, names, queries, schema
from crosswind.db.background import blocks_of
from crosswind.db.names import batches, insert_missing
from crosswind.db.queries import BlockKey
from crosswind.db.resources import Place
from crosswind.db.rows import Rows, shares_of
from crosswind.profile.model import Column, Profile

__all__ = [
    "Changes",
    "add_to_background",
    "block_rows",
    "contribution",
    "delete_rows",
    "starts_ns",
    "taken_back",
    "write_rows",
]

_WHOLE = (
    schema.process,
    schema.total,
    schema.function,
    schema.access,
    schema.segments,
    schema.job_resource,
    schema.job_sums,
)
_BLOCKS = (schema.frame, schema.coverage, schema.summary)

# What changes in the background: (resource, metric, begin of the block, length of its slices) -> int64 [BLOCK] to add
Changes = dict[tuple[str, Column, int, int], NDArray[np.int64]]


def contribution(profile: Profile, fed: Mapping[str, Sequence[str]], place: Place) -> Changes:
    """What a job has in the background. fed, place: which metrics it fed to which kind of resource, and where it was,
    when it was loaded.
    """
    columns = {c.name: c for c in profile.columns}
    return {
        (resource, columns[metric], block * schema.BLOCK * profile.slice_ns, profile.slice_ns): values
        for (resource, metric), share in shares_of(profile, fed, place).items()
        for block, values in blocks_of(share, profile.first_slice)
    }


def taken_back(changes: Changes, old: Changes) -> Changes:
    """The changes, less what was added before. What is the same is left out."""
    both = dict(changes)
    for block, values in old.items():
        both[block] = both.get(block, 0) - values
    return {block: values for block, values in both.items() if values.any()}


def starts_ns(rows: Rows) -> set[int]:
    """Where the frames lie in time."""
    return {block.span.first_slice * rows.job["slice_ns"] for block in rows.blocks}


def delete_rows(conn: Connection, key: int, since_ns: int, *, keep: Sequence[Any] = ()) -> None:
    """Delete what is under a job: of its blocks those that begin at a time or later. keep: tables to leave as they are.

    since_ns is not before the job's first block: so PostgreSQL looks at no older partition.
    """
    for table in _BLOCKS:
        conn.execute(delete(table).where(table.c.job_key == key, table.c.start_ns >= since_ns))
    for table in _WHOLE:
        if table not in keep:
            conn.execute(delete(table).where(table.c.job_key == key))


def write_rows(conn: Connection, key: int, rows: Rows, digest: str) -> None:
    """Write what delete_rows leaves missing, and the job's row.

    Names come before blocks of the background, and both in sorted order, so that two loaders on PostgreSQL never wait
    for each other in a circle.
    """
    resource_ids = names.resource_ids(conn, rows.resources)
    metric_ids = names.metric_ids(conn, rows.columns)
    by_name = {c.name: metric_ids[c] for c in rows.columns}
    job = {**rows.job, "columns": [metric_ids[c] for c in rows.columns], "digest": digest}
    conn.execute(update(schema.job).where(schema.job.c.key == key).values(**job))
    parts = {
        **block_rows(rows, by_name),
        schema.process: rows.processes,
        schema.total: [{"metric_id": by_name[m], "data": data} for m, data in rows.totals.items()],
        schema.function: rows.functions,
        schema.access: rows.access,
        schema.segments: [] if rows.segments is None else [{"data": rows.segments}],
        schema.job_resource: [{"resource_id": resource_ids[name]} for name in rows.resources],
        schema.job_sums: [rows.sums],
    }
    for table, of_job in parts.items():
        if of_job:
            conn.execute(insert(table), [{"job_key": key, **row} for row in of_job])


def block_rows(rows: Rows, metric_ids: Mapping[str, int]) -> dict[Any, list[dict[str, Any]]]:
    """The rows of the tables of blocks, without the job's key."""
    parts: dict[Any, list[dict[str, Any]]] = {table: [] for table in _BLOCKS}
    for block in rows.blocks:
        at = {"start_ns": block.span.first_slice * rows.job["slice_ns"]}
        size = {"n_slices": block.span.n_slices, "n_processes": block.span.n_processes}
        parts[schema.coverage].append({**at, **size, "digest": block.digest, "data": block.coverage})
        parts[schema.frame] += [{**at, "metric_id": metric_ids[m], "data": data} for m, data in block.frames.items()]
        if block.summary is not None:
            parts[schema.summary].append({**at, **block.summary.row(metric_ids)})
    return parts


def add_to_background(conn: Connection, changes: Changes) -> None:
    """Add to the blocks of the background, making those that are missing and dropping those that become zero. First all
    are made, then all locked.
    """
    resource_ids = names.resource_ids(conn, {resource for resource, *_ in changes})
    metric_ids = names.metric_ids(conn, {column for _, column, *_ in changes})
    blocks = {
        BlockKey(resource_ids[resource], metric_ids[column], start_ns, slice_ns): values
        for (resource, column, start_ns, slice_ns), values in changes.items()
    }
    b = schema.background.c
    keys = sorted(blocks)
    for part in batches(keys):
        conn.execute(insert_missing(conn, schema.background), [{**key._asdict(), "data": b""} for key in part])
    here = [column == bindparam(f"at_{column.name}") for column in (b.resource_id, b.metric_id, b.start_ns, b.slice_ns)]
    for part in batches(keys):
        kept, dropped = [], []
        for key, data in queries.locked_blocks(conn, part).items():
            at = {f"at_{name}": value for name, value in key._asdict().items()}
            values = blocks[key] + codec.decode_ints(data, (schema.BLOCK,)) if data else blocks[key]
            if values.any():
                kept.append({**at, "data": codec.encode_ints(values)})
            else:
                dropped.append(at)
        if kept:
            conn.execute(update(schema.background).where(*here).values(data=bindparam("data")), kept)
        if dropped:
            conn.execute(delete(schema.background).where(*here), dropped)
