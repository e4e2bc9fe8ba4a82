"""A simulated month straight into the tables: what loading every job would leave there, without encoding each anew.

The rows of a template are made once, by the loader's own functions, and copied for each job; the background is
summed up here. tests/db/test_bench.py loads a small month both ways and compares.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from site_month import SLICE_NS, Placed, Site, Template
from sqlalchemy import Connection, Engine, insert, text

from crosswind.analysis.series_bands import summarize
from crosswind.db import codec, resources, schema
from crosswind.db.connection import writing
from crosswind.db.job_writing import block_rows
from crosswind.db.names import metric_ids, resource_ids
from crosswind.db.partitions import make_partitions
from crosswind.db.rows import Rows, rows_of

__all__ = ["fill"]

_JOBS = 200  # in one transaction
_PER_HOST = ("fs:disk", "mem", "cpu")


def fill(engine: Engine, site: Site) -> None:
    """Write a month into an empty database."""
    starts = {job.first_slice * SLICE_NS for job in site.jobs}
    ends = {(job.first_slice + job.template.profile.n_slices) * SLICE_NS for job in site.jobs}
    make_partitions(engine, "frame", starts | ends)
    span = schema.BLOCK * SLICE_NS
    blocks = range(min(starts) // span, max(starts) // span + 8)
    make_partitions(engine, "background", {block * span for block in blocks})
    background = _Background()
    prepared = {id(job.template): _Prepared(job.template) for job in site.jobs}
    for at in range(0, len(site.jobs), _JOBS):
        part = site.jobs[at : at + _JOBS]
        with writing(engine) as conn:
            for job in part:
                background.add(job, prepared[id(job.template)])
            _write_jobs(conn, part, prepared, at + 1)
            _write_background(conn, background.finished(part[-1].first_slice))
    with writing(engine) as conn:
        _write_background(conn, background.finished(None))
        if engine.dialect.name == "postgresql":  # the keys were given, so the next one is not known to it
            conn.execute(text("SELECT setval(pg_get_serial_sequence('job', 'key'), max(key)) FROM job"))


class _Prepared:
    """The rows of a template, and what it adds to the background: per kind and metric [node, slice]."""

    def __init__(self, template: Template) -> None:
        profile = template.profile
        self.rows: Rows = rows_of(profile, "", summarize=summarize)
        self.shares: dict[tuple[str, str], NDArray[np.int64]] = {
            (kind, metric): profile.slices[metric].reshape(template.nodes, template.per_node, -1).sum(axis=1)
            for kind, metrics in self.rows.job["fed"].items()
            for metric in metrics
        }


class _Background:
    """Blocks that jobs still add to: (resource, metric) -> int64 [BLOCK], by the number of the block."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[tuple[str, str], NDArray[np.int64]]] = defaultdict(dict)

    def add(self, job: Placed, prepared: _Prepared) -> None:
        """Add what a job did."""
        n = job.template.profile.n_slices
        for block in range(job.first_slice // schema.BLOCK, (job.first_slice + n - 1) // schema.BLOCK + 1):
            begin = block * schema.BLOCK
            of_job = slice(max(begin - job.first_slice, 0), begin + schema.BLOCK - job.first_slice)
            at = max(job.first_slice - begin, 0)
            sums = self._blocks[block]
            for (kind, metric), share in prepared.shares.items():
                part = share[:, of_job]
                if kind in _PER_HOST:
                    for host, values in zip(job.hosts, part, strict=True):
                        _add(sums, (f"{kind}@{host}", metric), at, values)
                else:
                    _add(sums, (kind, metric), at, part.sum(axis=0))

    def finished(self, first_slice: int | None) -> Iterator[tuple[int, str, str, NDArray[np.int64]]]:
        """Begin (UTC ns), resource, metric and values of the blocks that end before a slice; None: of all."""
        done = [b for b in self._blocks if first_slice is None or (b + 1) * schema.BLOCK <= first_slice]
        for block in sorted(done):
            for (resource, metric), values in sorted(self._blocks.pop(block).items()):
                if values.any():
                    yield block * schema.BLOCK * SLICE_NS, resource, metric, values


def _add(
    sums: dict[tuple[str, str], NDArray[np.int64]], key: tuple[str, str], at: int, values: NDArray[np.int64]
) -> None:
    if key not in sums:
        sums[key] = np.zeros(schema.BLOCK, dtype=np.int64)
    sums[key][at : at + values.size] += values


def _write_background(conn: Connection, blocks: Iterator[tuple[int, str, str, NDArray[np.int64]]]) -> None:
    found = list(blocks)
    if not found:
        return
    named = resource_ids(conn, {resource for _, resource, _, _ in found})
    metrics = {row.name: row.id for row in conn.execute(schema.metric.select())}
    rows = [
        {
            "resource_id": named[resource],
            "metric_id": metrics[metric],
            "start_ns": start_ns,
            "slice_ns": SLICE_NS,
            "data": codec.encode_ints(values),
        }
        for start_ns, resource, metric, values in found
    ]
    conn.execute(insert(schema.background), rows)


def _write_jobs(conn: Connection, jobs: tuple[Placed, ...], prepared: dict[int, _Prepared], first_key: int) -> None:
    """All but the background of some jobs."""
    first = prepared[id(jobs[0].template)].rows
    ids = metric_ids(conn, first.columns)
    by_name = {column.name: number for column, number in ids.items()}
    tables: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    used = {
        job.number: sorted(n for kind in prepared[id(job.template)].rows.job["fed"]
                           for n in resources.resource_names(kind, job.hosts))
        for job in jobs
    }  # fmt: skip
    named = resource_ids(conn, {name for names in used.values() for name in names})
    for key, job in enumerate(jobs, first_key):
        rows = prepared[id(job.template)].rows
        profile = job.profile()
        tables[schema.job].append(_job_row(job, profile, rows, key, [ids[c] for c in rows.columns]))
        of_job = {"job_key": key}
        tables[schema.process] += [
            {**of_job, **row, "host": p.host, "uid": p.uid, "start_ns": p.start_ns, "end_ns": p.end_ns}
            for row, p in zip(rows.processes, profile.processes, strict=True)
        ]
        for table, blocks in block_rows(rows, by_name).items():
            move = job.first_slice * SLICE_NS
            tables[table] += [{**of_job, **row, "start_ns": row["start_ns"] + move} for row in blocks]
        tables[schema.total] += [{**of_job, "metric_id": by_name[m], "data": d} for m, d in rows.totals.items()]
        tables[schema.function] += [{**of_job, **row} for row in rows.functions]
        tables[schema.job_sums].append({**of_job, **rows.sums, "n_hosts": len(job.hosts)})
        tables[schema.job_resource] += [{**of_job, "resource_id": named[name]} for name in used[job.number]]
    for table, found in tables.items():
        conn.execute(insert(table), found)


def _job_row(job: Placed, profile: Any, rows: Rows, key: int, columns: list[int]) -> dict[str, Any]:  # noqa: ANN401
    pct = float(job.number * 7919 % 1000) / 25
    return {
        **rows.job,
        "key": key,
        "job_id": profile.job.id,
        "user": profile.job.user,
        "uid": profile.job.uid,
        "hosts": list(job.hosts),
        "start_ns": profile.job.start_ns,
        "end_ns": profile.job.end_ns,
        "first_slice": job.first_slice,
        "columns": columns,
        "digest": f"{job.number:032x}",
        "estimate": {"interference_pct": pct, "class": "low", "certain": True, "warnings": []},
        "interference_pct": pct,
    }
