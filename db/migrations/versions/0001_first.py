"""The first schema: jobs, processes, frames, background. What each table holds: crosswind.db.schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "job",
        sa.Column("key", ID, nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.Column("ranks", sa.BigInteger(), nullable=False),
        sa.Column("n_processes", sa.Integer(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("mpi", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("slice_ns", sa.BigInteger(), nullable=False),
        sa.Column("first_slice", sa.BigInteger(), nullable=False),
        sa.Column("n_slices", sa.Integer(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("fed", sa.JSON(), nullable=False),
        sa.Column("clock", sa.JSON(), nullable=False),
        sa.Column("lost", sa.JSON(), nullable=False),
        sa.Column("dropped_files", sa.JSON(), nullable=False),
        sa.Column("estimate", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("interference_pct", sa.Float(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_job"),
        sa.UniqueConstraint("cluster", "job_id", "step", "uid", name="uq_job_cluster_job_id_step_uid"),
    )
    op.create_index("ix_job_end_ns", "job", ["end_ns"])
    op.create_index("ix_job_interference_pct", "job", ["interference_pct"])
    op.create_index("ix_job_slice_ns", "job", ["slice_ns"])
    op.create_index("ix_job_start_ns", "job", ["start_ns"])
    op.create_index("ix_job_user_start_ns", "job", ["user", "start_ns"])
    op.create_table(
        "metric",
        sa.Column("id", ID, nullable=False),
        sa.Column("column_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metric"),
        sa.UniqueConstraint("name", "column_id", "unit", "kind", name="uq_metric_name_column_id_unit_kind"),
    )
    op.create_table(
        "resource",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_resource"),
        sa.UniqueConstraint("name", name="uq_resource_name"),
    )
    op.create_table(
        "background",
        sa.Column("resource_id", ID, nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("slice_ns", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["metric_id"], ["metric.id"], name="fk_background_metric_id"),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.id"], name="fk_background_resource_id"),
        sa.PrimaryKeyConstraint("resource_id", "metric_id", "start_ns", "slice_ns", name="pk_background"),
    )
    op.create_table(
        "coverage",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_coverage_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", name="pk_coverage"),
    )
    op.create_table(
        "frame",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("totals", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_frame_job_key", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["metric_id"], ["metric.id"], name="fk_frame_metric_id"),
        sa.PrimaryKeyConstraint("job_key", "metric_id", name="pk_frame"),
    )
    op.create_table(
        "function",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_mpi", sa.Boolean(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_function_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", "name", name="pk_function"),
    )
    op.create_table(
        "job_resource",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("resource_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_job_resource_job_key", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.id"], name="fk_job_resource_resource_id"),
        sa.PrimaryKeyConstraint("job_key", "resource_id", name="pk_job_resource"),
    )
    op.create_index("ix_job_resource_resource_id", "job_resource", ["resource_id"])
    op.create_table(
        "process",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=True),
        sa.Column("exe", sa.Text(), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("is_mpi", sa.Boolean(), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("lost", sa.JSON(), nullable=False),
        sa.Column("counters", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_process_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", "number", name="pk_process"),
    )
    op.create_table(
        "segments",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_segments_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", name="pk_segments"),
    )
