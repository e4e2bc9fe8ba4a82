"""One job step as lists and pages show it: the columns of its row, read alike by every query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from crosswind.db import schema

__all__ = ["JOB_COLUMNS", "JobRow", "job_row"]


@dataclass(frozen=True)
class JobRow:
    """One job step as lists show it. estimate: the document of `estimate --json`, or None. state: running, killed,
    finished.
    """

    key: int
    cluster: str
    job_id: str
    step: str
    user: str
    uid: int
    hosts: tuple[str, ...]
    ranks: int
    n_processes: int
    start_ns: int
    end_ns: int
    command: str
    mpi: str
    state: str
    slice_ns: int
    first_slice: int
    n_slices: int
    estimate: dict[str, Any] | None
    lost: dict[str, int]
    detail: bool = True  # false: its slices and segments were pruned


JOB_COLUMNS = [schema.job.c[name] for name in JobRow.__dataclass_fields__]


def job_row(row: Row[Any]) -> JobRow:
    """A row of a query that selects JOB_COLUMNS."""
    return JobRow(**{**row._mapping, "hosts": tuple(row.hosts)})
