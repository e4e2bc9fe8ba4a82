"""What the batch system says of jobs (crosswind.db.batch_schema)."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables. Jobs that are there are linked when the batch system speaks of them."""
    op.create_table(
        "batch_job",
        sa.Column("key", ID, nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("array_job_id", sa.Text(), nullable=False),
        sa.Column("array_task", sa.Text(), nullable=False),
        sa.Column("het_job_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("submit_ns", sa.BigInteger(), nullable=True),
        sa.Column("start_ns", sa.BigInteger(), nullable=True),
        sa.Column("end_ns", sa.BigInteger(), nullable=True),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.Column("cpus", sa.Integer(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_batch_job"),
        sa.UniqueConstraint("cluster", "job_id", "run", name="uq_batch_job_cluster_job_id_run"),
    )
    op.create_index("ix_batch_job_start_ns", "batch_job", ["start_ns"])
    op.create_index("ix_batch_job_state", "batch_job", ["state"])
    op.create_index("ix_batch_job_user_start_ns", "batch_job", ["user", "start_ns"])
    op.create_table(
        "batch_step",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("batch_key", ID, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_batch_step_job_key", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["batch_key"], ["batch_job.key"], name="fk_batch_step_batch_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", name="pk_batch_step"),
    )
    op.create_index("ix_batch_step_batch_key", "batch_step", ["batch_key"])
