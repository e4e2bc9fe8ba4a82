"""Migrations of the schema: one file a step in versions/, applied by crosswind.db.connection.open_database."""
