"""Making the summaries that are missing: of jobs that were loaded before there were any, or by another definition."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, select

from crosswind.db import codec, frames, queries, schema
from crosswind.db.connection import reading, writing
from crosswind.db.job_blocks import Span, assembled
from crosswind.db.summaries import LEAST_PROCESSES, Block, Summarize, Summary, summary_of

__all__ = ["fill_summaries"]


def fill_summaries(engine: Engine, job_key: int, version: int, summarize: Summarize) -> int:
    """Make the summaries of a job that are missing or of another version; how many blocks. None is made of a job that
    changes meanwhile: who changes it makes them.
    """
    with reading(engine) as conn:
        digest = queries.get_digest(conn, job_key)
        missing = _missing(conn, job_key, version)
    for start_ns in missing:
        with reading(engine) as conn:
            made = _made(conn, job_key, start_ns, summarize)
        with writing(engine) as conn:
            if made is None or queries.get_digest(conn, job_key, lock=True) != digest:
                return 0
            here = (schema.summary.c.job_key == job_key, schema.summary.c.start_ns == start_ns)
            conn.execute(delete(schema.summary).where(*here))
            row = made.row(queries.metric_ids_of_job(conn, job_key))
            conn.execute(insert(schema.summary).values(job_key=job_key, start_ns=start_ns, **row))
    return len(missing)


def _missing(conn: Connection, job_key: int, version: int) -> list[int]:
    """The blocks that should have a summary of this version and have none, by their begin."""
    s, c = schema.summary.c, schema.coverage.c
    made = select(s.start_ns).where(s.job_key == job_key, s.version == version)
    query = select(c.start_ns).where(
        c.job_key == job_key, c.n_processes >= LEAST_PROCESSES, c.n_slices > 0, c.start_ns.not_in(made)
    )
    return list(conn.execute(query.order_by(c.start_ns)).scalars())


def _made(conn: Connection, job_key: int, start_ns: int, summarize: Summarize) -> Summary | None:
    """The summary of a block; None: it is not there any more."""
    grid = frames.grid_of(conn, job_key)
    spans = frames.spans_of(conn, job_key, grid) if grid else {}
    if grid is None or start_ns not in spans:
        return None
    span = spans[start_ns]
    c = schema.coverage.c
    covered = conn.execute(select(c.data).where(c.job_key == job_key, c.start_ns == start_ns)).scalar_one()
    processes = queries.get_processes(conn, job_key)[: span.n_processes]
    block = Block(
        values={
            name: assembled(blobs, span.n_processes, span.first_slice, span.n_slices)
            for name, blobs in frames.frame_blobs(conn, job_key, {start_ns: span}).items()
        },
        covered_ns=codec.decode_ints(covered, (span.n_processes, span.n_slices)),
        ranks=np.array([process.rank is not None for process in processes], dtype=np.bool_),
        slice_ns=grid.slice_ns,
        goes_on=_goes_on(span, grid),
    )
    return summary_of(block, summarize)


def _goes_on(span: Span, grid: frames.Grid) -> tuple[bool, bool]:
    end = span.first_slice + span.n_slices
    return span.first_slice > grid.first_slice, end < grid.first_slice + grid.n_slices
