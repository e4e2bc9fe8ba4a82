"""Where nodes are plugged in, by version, and where each job was when it was first loaded."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make what is new. Jobs that are there were placed nowhere."""
    op.create_table(
        "topology",
        sa.Column("id", ID, nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("since_ns", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_topology"),
    )
    op.create_index("ix_topology_cluster", "topology", ["cluster"])
    op.create_table(
        "topology_host",
        sa.Column("topology_id", ID, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("switches", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["topology_id"], ["topology.id"], name="fk_topology_host_topology_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("topology_id", "host", name="pk_topology_host"),
    )
    op.add_column("job", sa.Column("topology_id", sa.BigInteger()))
    op.add_column("job", sa.Column("partition", sa.Text(), nullable=False, server_default=""))
