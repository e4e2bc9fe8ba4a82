"""Sums of each job step, so that lists of jobs filter and sort by them without unpacking arrays."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from crosswind.db.codec import decode_ints

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PART = 500  # jobs whose sums are written at once
MOST = (1 << 63) - 1
OPENS = ("open", "openat", "creat", "fopen", "freopen", "MPI_File_open")
MOVED = [
    f"{layer}_{place}_{op}" for layer in ("posix", "stdio") for place in ("net", "disk") for op in ("read", "write")
]
SUMS = {
    "cpu_ns": ["cpu_time"],
    "fs_bytes": [f"{moved}_bytes" for moved in MOVED],
    "fs_requests": [f"{moved}_calls" for moved in MOVED],
    "fs_metadata_calls": ["posix_net_meta_calls", "posix_disk_meta_calls"],
    "net_fs_bytes": [f"{moved}_bytes" for moved in MOVED if "_net_" in moved],
}
NAMES = ("n_hosts", *SUMS, "opens")


def upgrade() -> None:
    """Make the table, and add up what is there."""
    op.create_table(
        "job_sums",
        sa.Column("job_key", ID, nullable=False),
        sa.Column("n_hosts", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in NAMES[1:]),
        sa.ForeignKeyConstraint(["job_key"], ["job.key"], name="fk_job_sums_job_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_key", name="pk_job_sums"),
    )
    _fill()
    op.create_index("ix_job_sums_n_hosts", "job_sums", ["n_hosts"])
    op.create_index("ix_job_sums_fs_bytes", "job_sums", ["fs_bytes"])


def _fill() -> None:
    bind = op.get_bind()
    keys = bind.execute(sa.text("SELECT key FROM job ORDER BY key")).scalars().all()
    target = sa.table("job_sums", sa.column("job_key"), *(sa.column(name) for name in NAMES))
    for at in range(0, len(keys), PART):
        rows = [{"job_key": key, **_sums(bind, key)} for key in keys[at : at + PART]]
        bind.execute(sa.insert(target), rows)


def _sums(bind: Any, key: int) -> dict[str, int]:  # noqa: ANN401 (Alembic's own type)
    n, n_hosts = bind.execute(
        sa.text("SELECT n_processes, json_array_length(hosts) FROM job WHERE key = :key"), {"key": key}
    ).one()
    names = sorted({name for some in SUMS.values() for name in some})
    totals = sa.text(
        "SELECT m.name, t.data FROM total t JOIN metric m ON m.id = t.metric_id "
        "WHERE t.job_key = :key AND m.name IN :names"
    ).bindparams(sa.bindparam("names", expanding=True))
    functions = sa.text("SELECT name, data FROM function WHERE job_key = :key AND name IN :names").bindparams(
        sa.bindparam("names", expanding=True)
    )
    found = bind.execute(totals, {"key": key, "names": names})
    sums = {name: int(decode_ints(data, (n,)).sum(dtype=object)) for name, data in found}
    opened = bind.execute(functions, {"key": key, "names": OPENS})
    opens = sum(int(decode_ints(data, (n, 4))[:, 0].sum(dtype=object)) for _, data in opened)
    added = {column: sum(sums.get(name, 0) for name in names) for column, names in SUMS.items()}
    return {"n_hosts": n_hosts, **{name: min(value, MOST) for name, value in {**added, "opens": opens}.items()}}
