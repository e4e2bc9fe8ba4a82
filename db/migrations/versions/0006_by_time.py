"""What a site needs over years: frames and background by time, totals apart from them, events, what was pruned.

Frames and background are written anew (on PostgreSQL into partitions, as crosswind.db.partitions makes them), so the
database needs as much free space again while this runs.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DAY_NS = 86400 * 10**9
FIRST_NS = 19723 * DAY_NS
COMPRESSED = {
    "access": "data", "background": "data", "coverage": "data", "frame": "data", "function": "data", "segments": "data",
    "total": "data", "lost_time": "per_slice", "node_frame": "data",
}  # fmt: skip


def upgrade() -> None:
    """Make what is new, move what is there."""
    op.add_column("job", sa.Column("detail", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.create_index("ix_job_job_id_step", "job", ["job_id", "step"])
    op.create_index("ix_job_duration", "job", [sa.text("(end_ns - start_ns)")])
    _make_total()
    _make_frame()
    _make_background()
    _make_event()
    if op.get_bind().dialect.name == "postgresql":
        for table, column in COMPRESSED.items():  # what zstd has compressed is not worth another attempt
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def _make_total() -> None:
    op.create_table(
        "total",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_total_job_key", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["metric_id"], ["metric.id"], name="fk_total_metric_id"),
        sa.PrimaryKeyConstraint("job_key", "metric_id", name="pk_total"),
    )
    op.execute(
        "INSERT INTO total (job_key, metric_id, data) "
        "SELECT job_key, metric_id, totals FROM frame WHERE totals IS NOT NULL"
    )


def _make_frame() -> None:
    columns: list[sa.Column[Any]] = [
        sa.Column("job_key", ID, nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    ]
    filling = (
        "SELECT f.job_key, f.metric_id, j.first_slice * j.slice_ns AS start_ns, f.data "
        "FROM {old} f JOIN job j ON j.key = f.job_key WHERE f.data IS NOT NULL"
    )
    _make_anew("frame", columns, ["job_key", "metric_id", "start_ns"], filling, 7 * DAY_NS)


def _make_background() -> None:
    columns: list[sa.Column[Any]] = [
        sa.Column("resource_id", ID, nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("slice_ns", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    ]
    filling = "SELECT resource_id, metric_id, start_ns, slice_ns, data FROM {old}"
    _make_anew("background", columns, ["resource_id", "metric_id", "start_ns", "slice_ns"], filling, 28 * DAY_NS)


def _make_anew(table: str, columns: list[sa.Column[Any]], key: list[str], filling: str, width_ns: int) -> None:
    """Make a table again without foreign keys, on PostgreSQL partitioned by start_ns. filling: selects its rows."""
    bind = op.get_bind()
    old = f"{table}_before"
    op.rename_table(table, old)
    partitioned = bind.dialect.name == "postgresql"
    if partitioned:
        op.execute(f"ALTER TABLE {old} RENAME CONSTRAINT pk_{table} TO pk_{old}")
    by_time: dict[str, Any] = {"postgresql_partition_by": "RANGE (start_ns)"} if partitioned else {}
    op.create_table(table, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"), **by_time)
    rows = filling.format(old=old)
    if partitioned:
        starts = bind.execute(sa.text(f"SELECT DISTINCT start_ns FROM ({rows}) AS filled")).scalars()  # noqa: S608
        for begin in sorted({_begin(start, width_ns) for start in starts}):
            _make_partition(table, begin, width_ns)
    names = ", ".join(column.name for column in columns)
    op.execute(f"INSERT INTO {table} ({names}) {rows}")
    op.drop_table(old)


def _begin(start_ns: int, width_ns: int) -> int:
    """Begin of the partition; -1: the one of all before FIRST_NS."""
    return -1 if start_ns < FIRST_NS else start_ns - (start_ns - FIRST_NS) % width_ns


def _make_partition(table: str, begin_ns: int, width_ns: int) -> None:
    if begin_ns < 0:
        name, bounds = f"{table}_past", f"FROM (MINVALUE) TO ({FIRST_NS})"
    else:
        name = f"{table}_{datetime.fromtimestamp(begin_ns // 10**9, UTC):%Y%m%d}"
        bounds = f"FROM ({begin_ns}) TO ({begin_ns + width_ns})"
    op.execute(f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES {bounds}")


def _make_event() -> None:
    op.create_table(
        "event",
        sa.Column("id", ID, nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger()),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
        sa.UniqueConstraint("cluster", "kind", "place", "start_ns", name="uq_event_cluster_kind_place_start_ns"),
    )
    op.create_index("ix_event_start_ns", "event", ["start_ns"])
