"""Which job steps run is found without a look at all; a collector that sees a silent one can say so."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make what is new; of steps that are there nobody has said anything."""
    op.add_column("job", sa.Column("heard_ns", sa.BigInteger(), nullable=False, server_default="0"))
    runs = sa.text("state = 'running'")
    op.create_index("ix_job_running", "job", ["cluster", "end_ns"], sqlite_where=runs, postgresql_where=runs)
