"""The tables of what the batch system says of jobs. Migrations build them (db/migrations).

    batch_job 1---* batch_step 1---1 job      which job steps (crosswind.db.schema.job) a run of a job consists of

A job that is queued again keeps its id and runs anew: each run is a row. Jobs without any profile have a row, too.
"""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from crosswind.db.schema import _Id as Id
from crosswind.db.schema import metadata

__all__ = ["batch_job", "batch_step"]

batch_job = Table(
    "batch_job",
    metadata,
    Column("key", Id, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("run", Integer, nullable=False),  # 0, and one more each time the job was queued again
    Column("uid", BigInteger, nullable=False),
    Column("user", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("partition", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("array_job_id", Text, nullable=False),  # "": no element of an array
    Column("array_task", Text, nullable=False),
    Column("het_job_id", Text, nullable=False),  # of the first component of a heterogeneous job; "": none
    Column("state", Text, nullable=False),  # crosswind.db.batch.STATES
    Column("submit_ns", BigInteger),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
    Column("hosts", JSON, nullable=False),
    Column("cpus", Integer),
    Column("exit_code", Integer),
    Column("signal", Integer),
    UniqueConstraint("cluster", "job_id", "run"),
    Index(None, "start_ns"),
    Index(None, "state"),
    Index(None, "user", "start_ns"),
)

batch_step = Table(
    "batch_step",
    metadata,
    Column("job_key", Id, ForeignKey("job.key", ondelete="CASCADE"), primary_key=True),
    Column("batch_key", Id, ForeignKey("batch_job.key", ondelete="CASCADE"), nullable=False, index=True),
)
