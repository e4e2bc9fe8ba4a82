"""Access patterns of the processes, and their OMP_NUM_THREADS (crosswind.db.schema: access, process)."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table and the column; of jobs that are there neither is known."""
    op.add_column("process", sa.Column("omp_num_threads", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "access",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_access_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", "name", name="pk_access"),
    )
