"""When each job lost time, as it was found when the job was loaded (crosswind.db.schema: lost_time)."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table. Jobs that are there have no row until `crosswind collect --estimate-again`."""
    op.create_table(
        "lost_time",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("first_slice", sa.BigInteger(), nullable=False),
        sa.Column("n_slices", sa.Integer(), nullable=False),
        sa.Column("per_slice", sa.LargeBinary(), nullable=False),
        sa.Column("n_stretches", sa.BigInteger(), nullable=False),
        sa.Column("n_stored", sa.Integer(), nullable=False),
        sa.Column("stretches", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_lost_time_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", name="pk_lost_time"),
    )
