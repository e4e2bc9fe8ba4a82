"""The database: schema, migrations, loading, and every query. SQLite or PostgreSQL, by URL. docs/database.md."""

from crosswind.db.batch import BatchJob
from crosswind.db.connection import open_database, reading
from crosswind.db.errors import DatabaseError, RefusedProfile
from crosswind.db.evaluation import Evaluation
from crosswind.db.queries import Frame, JobRow
from crosswind.db.store import LoadResult, load_profile

__all__ = [
    "BatchJob",
    "DatabaseError",
    "Evaluation",
    "Frame",
    "JobRow",
    "LoadResult",
    "RefusedProfile",
    "load_profile",
    "open_database",
    "reading",
]
