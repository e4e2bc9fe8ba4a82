"""What the agents of the nodes saw (crosswind.db.schema: node, node_frame)."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "node",
        sa.Column("key", ID, nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("serves", sa.Text(), nullable=False),
        sa.Column("first_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_node"),
        sa.UniqueConstraint("cluster", "name", name="uq_node_cluster_name"),
    )
    op.create_table(
        "node_frame",
        sa.Column("node_key", ID, nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("slice_ns", sa.BigInteger(), nullable=False),
        sa.Column("metric_id", ID, nullable=False),
        sa.Column("instances", sa.JSON(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["node_key"], ["node.key"], name="fk_node_frame_node_key", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["metric_id"], ["metric.id"], name="fk_node_frame_metric_id"),
        sa.PrimaryKeyConstraint("node_key", "start_ns", "slice_ns", "metric_id", name="pk_node_frame"),
    )
