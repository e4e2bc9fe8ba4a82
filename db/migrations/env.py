"""What Alembic runs: the steps, within the transaction of the connection that open_database gives it."""

from alembic import context

from crosswind.db.connection import VERSION_TABLE
from crosswind.db.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
