"""Slices in blocks: what a page shows is read without the rest, and a running job grows by its new slices alone.

What is there stays as it is, each job as one block of all its slices. On PostgreSQL the slices of nodes are written
anew, into partitions by time, so the database needs as much free space again as these take while this runs.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DAY_NS = 86400 * 10**9
WIDTH_NS = 7 * DAY_NS
FIRST_NS = 19723 * DAY_NS


def upgrade() -> None:
    """Make what is new, move what is there."""
    _make_coverage()
    _make_summary()
    _make_node_frame()
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in {"coverage": ["data"], "summary": ["sums", "bands"], "node_frame": ["data"]}.items():
            for column in columns:  # what zstd has compressed is not worth another attempt
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def _make_coverage() -> None:
    _set_aside("coverage", foreign_keys=("job_key",))
    op.create_table(
        "coverage",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("n_slices", sa.Integer(), nullable=False),
        sa.Column("n_processes", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_coverage_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", "start_ns", name="pk_coverage"),
    )
    op.execute(
        "INSERT INTO coverage (job_key, start_ns, n_slices, n_processes, digest, data) "
        "SELECT c.job_key, j.first_slice * j.slice_ns, j.n_slices, j.n_processes, '', c.data "
        "FROM coverage_before c JOIN job j ON j.key = c.job_key"
    )
    op.drop_table("coverage_before")


def _make_summary() -> None:
    op.create_table(
        "summary",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("sums", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("series", sa.JSON(), nullable=False),
        sa.Column("bands", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_summary_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", "start_ns", name="pk_summary"),
    )


def _make_node_frame() -> None:
    """Without foreign keys, on PostgreSQL in partitions as crosswind.db.partitions makes them."""
    bind = op.get_bind()
    partitioned = bind.dialect.name == "postgresql"
    by_time: dict[str, Any] = {"postgresql_partition_by": "RANGE (start_ns)"} if partitioned else {}
    _set_aside("node_frame", foreign_keys=("node_key", "metric_id"))
    op.create_table(
        "node_frame",
        sa.Column("node_key", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("slice_ns", sa.BigInteger(), nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("instances", sa.JSON(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("node_key", "start_ns", "slice_ns", "metric_id", name="pk_node_frame"),
        **by_time,
    )
    if partitioned:
        starts = bind.execute(sa.text("SELECT DISTINCT start_ns FROM node_frame_before")).scalars()
        for begin in sorted({_begin(start) for start in starts}):
            _make_partition(begin)
    columns = "node_key, start_ns, slice_ns, metric_id, instances, data"
    op.execute(f"INSERT INTO node_frame ({columns}) SELECT {columns} FROM node_frame_before")  # noqa: S608
    op.drop_table("node_frame_before")


def _set_aside(table: str, foreign_keys: tuple[str, ...]) -> None:
    """Rename a table to TABLE_before, so that it can be made anew under its name."""
    op.rename_table(table, f"{table}_before")
    if op.get_bind().dialect.name == "postgresql":
        for name in (f"pk_{table}", *(f"fk_{table}_{column}" for column in foreign_keys)):
            op.execute(f"ALTER TABLE {table}_before RENAME CONSTRAINT {name} TO {name}_before")


def _begin(start_ns: int) -> int:
    """Begin of the partition; -1: the one of all before FIRST_NS."""
    return -1 if start_ns < FIRST_NS else start_ns - (start_ns - FIRST_NS) % WIDTH_NS


def _make_partition(begin_ns: int) -> None:
    if begin_ns < 0:
        name, bounds = "node_frame_past", f"FROM (MINVALUE) TO ({FIRST_NS})"
    else:
        name = f"node_frame_{datetime.fromtimestamp(begin_ns // 10**9, UTC):%Y%m%d}"
        bounds = f"FROM ({begin_ns}) TO ({begin_ns + WIDTH_NS})"
    op.execute(f"CREATE TABLE {name} PARTITION OF node_frame FOR VALUES {bounds}")
