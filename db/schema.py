"""The tables. Migrations build them (db/migrations); a test checks that both agree.

    job 1---* process     one row per process image
        1---* coverage    a block of its slices: how much of each each process was profiled, [process, slice]
              1---* frame *---1 metric      a metric in the block, [process, slice], unless it is zero everywhere
              1---1 summary     what the block comes to: sums over the processes, series and their spread, [slice]
        1---* total *---1 metric      the counters at the very end, [process]
        1---1 job_sums    some of them added up, for lists of jobs (crosswind.db.sums)
        1---* function    calls, bytes, time per process, [process, 4]
        1---1 segments    the bulk-synchronous view
        1---1 lost_time   when it lost time to interference, as found when it was loaded
        *---* resource 1---* background *---1 metric     sums over ALL jobs, one row per resource, metric and block
    node 1---* node_frame *---1 metric      what its agent saw: one array [instance, slice] per metric and block

A block of a job begins at start_ns (crosswind.db.job_blocks). A block of the background is `BLOCK` slices: block b of
length L covers the slices [b*BLOCK, (b+1)*BLOCK) of the global numbering and `start_ns` is b*BLOCK*L. Sums are modulo
2**64, so adding and taking back are exact whatever was added.
Frames, of jobs and nodes, and background have no foreign keys: PostgreSQL keeps them in partitions by start_ns that
come and go without a lock on any other table (crosswind.db.partitions).

    event     what happened that jobs may have felt
    topology 1---* topology_host      one version of a cluster's tree of switches: job.topology_id says by which
                                      version a job's share of the background of its switches was summed up

Times are UTC ns. Text and JSON never hold application data, only what docs/format.md lists.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
    true,
)

__all__ = [
    "BLOCK",
    "GAP",
    "background",
    "coverage",
    "event",
    "frame",
    "function",
    "job",
    "job_resource",
    "job_sums",
    "lost_time",
    "metadata",
    "metric",
    "node",
    "node_frame",
    "process",
    "resource",
    "segments",
    "summary",
    "topology",
    "topology_host",
    "total",
]

BLOCK = 1024
GAP = -1  # in frames of nodes: nothing is known of that slice

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only where the primary key is spelled INTEGER.
_Id = BigInteger().with_variant(Integer(), "sqlite")


def _of_job() -> Column[int]:
    return Column("job_key", _Id, ForeignKey("job.key", ondelete="CASCADE"), primary_key=True)


_RUNS = text("state = 'running'")

metric = Table(
    "metric",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("column_id", BigInteger, nullable=False),  # the stable id of metrics.toml
    Column("name", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("kind", Text, nullable=False),
    UniqueConstraint("name", "column_id", "unit", "kind"),
)

resource = Table(
    "resource",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

job = Table(
    "job",
    metadata,
    Column("key", _Id, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("uid", BigInteger, nullable=False),
    Column("user", Text, nullable=False),
    Column("hosts", JSON, nullable=False),
    Column("ranks", BigInteger, nullable=False),
    Column("n_processes", Integer, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("command", Text, nullable=False),
    Column("mpi", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("slice_ns", BigInteger, nullable=False),
    Column("first_slice", BigInteger, nullable=False),
    Column("n_slices", Integer, nullable=False),
    Column("columns", JSON, nullable=False),  # ids of the metrics that were measured, zero or not
    Column("fed", JSON, nullable=False),  # {kind of resource: [metrics]}: what this job was added to the background of
    Column("clock", JSON, nullable=False),
    Column("lost", JSON, nullable=False),
    Column("dropped_files", JSON, nullable=False),
    Column("estimate", JSON(none_as_null=True)),
    Column("interference_pct", Float),  # of the estimate, for sorting
    Column("digest", Text, nullable=False),  # of everything that was loaded
    Column("detail", Boolean, nullable=False, server_default=true()),  # false: slices and segments were pruned
    Column("topology_id", BigInteger),  # the version of the topology when it was first loaded; null: there was none
    Column("partition", Text, nullable=False, server_default=""),  # of the batch system, as known then; "": it was not
    Column("heard_ns", BigInteger, nullable=False, server_default="0"),  # when a collector last saw it run in silence
    UniqueConstraint("cluster", "job_id", "step", "uid"),
    Index(None, "start_ns"),
    Index(None, "end_ns"),
    Index(None, "user", "start_ns"),
    Index(None, "slice_ns"),
    Index(None, "interference_pct"),
    Index(None, "job_id", "step"),
    Index("ix_job_duration", text("(end_ns - start_ns)")),
    Index("ix_job_running", "cluster", "end_ns", sqlite_where=_RUNS, postgresql_where=_RUNS),
)

job_sums = Table(
    "job_sums",
    metadata,
    _of_job(),
    Column("n_hosts", Integer, nullable=False),
    Column("cpu_ns", BigInteger, nullable=False),
    Column("fs_bytes", BigInteger, nullable=False),  # on network file systems and local disks
    Column("fs_requests", BigInteger, nullable=False),
    Column("fs_metadata_calls", BigInteger, nullable=False),
    Column("net_fs_bytes", BigInteger, nullable=False),  # on network file systems alone
    Column("opens", BigInteger, nullable=False),  # of any file
    Index(None, "n_hosts"),
    Index(None, "fs_bytes"),
)

process = Table(
    "process",
    metadata,
    _of_job(),
    Column("number", Integer, primary_key=True),  # row of the frames
    Column("host", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("rank", BigInteger),
    Column("exe", Text, nullable=False),
    Column("uid", BigInteger, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("count", BigInteger, nullable=False, default=1),  # short processes share a row
    Column("is_mpi", Boolean, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("lost", JSON, nullable=False),
    Column("counters", Text, nullable=False),
    Column("omp_num_threads", Text, nullable=False, server_default=""),
)

frame = Table(
    "frame",
    metadata,
    Column("job_key", _Id, primary_key=True),
    Column("metric_id", _Id, primary_key=True),
    Column("start_ns", BigInteger, primary_key=True),  # of its block
    Column("data", LargeBinary, nullable=False),  # [n_processes, n_slices] of the block
)

total = Table(
    "total",
    metadata,
    _of_job(),
    Column("metric_id", _Id, ForeignKey("metric.id"), primary_key=True),
    Column("data", LargeBinary, nullable=False),  # [process]
)

coverage = Table(
    "coverage",
    metadata,
    _of_job(),
    Column("start_ns", BigInteger, primary_key=True),  # of the block: its first slice * slice_ns of the job
    Column("n_slices", Integer, nullable=False),
    Column("n_processes", Integer, nullable=False),  # the job's first so many; those that came later were not there
    Column("digest", Text, nullable=False),  # of the block's coverage and frames
    Column("data", LargeBinary, nullable=False),  # [n_processes, n_slices]
)

summary = Table(
    "summary",
    metadata,
    _of_job(),
    Column("start_ns", BigInteger, primary_key=True),  # of the block
    Column("metrics", JSON, nullable=False),  # ids of those that are not zero in the block
    Column("sums", LargeBinary, nullable=False),  # [metric, slice], over the processes
    Column("version", Integer, nullable=False),  # of the definition of the series; 0: there are none
    Column("series", JSON, nullable=False),  # names of those that are not zero in the block
    Column("bands", LargeBinary, nullable=False),  # single precision [2 + series, 4, slice]
)

function = Table(
    "function",
    metadata,
    _of_job(),
    Column("name", Text, primary_key=True),
    Column("is_mpi", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),  # [process, 4]: calls, bytes out, bytes in, ns
)

access = Table(
    "access",
    metadata,
    _of_job(),
    Column("name", Text, primary_key=True),  # steps_CLASS_WAY, sizes_CLASS_WAY, files_CLASS
    Column("width", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),  # [process, width]
)

segments = Table("segments", metadata, _of_job(), Column("data", LargeBinary, nullable=False))

lost_time = Table(
    "lost_time",
    metadata,
    _of_job(),
    Column("first_slice", BigInteger, nullable=False),
    Column("n_slices", Integer, nullable=False),
    Column("per_slice", LargeBinary, nullable=False),  # [n_slices], ns
    Column("n_stretches", BigInteger, nullable=False),  # that were found
    Column("n_stored", Integer, nullable=False),  # those that lost most
    Column("stretches", LargeBinary, nullable=False),  # [5, n_stored]: begin, end (UTC ns), lost ns, segments, hit
)

job_resource = Table(
    "job_resource",
    metadata,
    _of_job(),
    Column("resource_id", _Id, ForeignKey("resource.id"), primary_key=True, index=True),
)

background = Table(
    "background",
    metadata,
    Column("resource_id", _Id, primary_key=True),
    Column("metric_id", _Id, primary_key=True),
    Column("start_ns", BigInteger, primary_key=True),
    Column("slice_ns", BigInteger, primary_key=True),
    Column("data", LargeBinary, nullable=False),  # [BLOCK]
)

node = Table(
    "node",
    metadata,
    Column("key", _Id, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("serves", Text, nullable=False),  # the resource whose server it is, or ""
    Column("first_ns", BigInteger, nullable=False),
    Column("last_ns", BigInteger, nullable=False),
    UniqueConstraint("cluster", "name"),
)

node_frame = Table(
    "node_frame",
    metadata,
    Column("node_key", _Id, primary_key=True),
    Column("start_ns", BigInteger, primary_key=True),
    Column("slice_ns", BigInteger, primary_key=True),
    Column("metric_id", _Id, primary_key=True),
    Column("instances", JSON, nullable=False),  # devices, disks, targets, ...; [""]: of the whole node
    Column("data", LargeBinary, nullable=False),  # [instance, BLOCK], GAP where nothing is known
)

topology = Table(
    "topology",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("since_ns", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Index(None, "cluster"),
)

topology_host = Table(
    "topology_host",
    metadata,
    Column("topology_id", _Id, ForeignKey("topology.id", ondelete="CASCADE"), primary_key=True),
    Column("host", Text, primary_key=True),
    Column("switches", JSON, nullable=False),  # above it, the one it is plugged into first
)

event = Table(
    "event",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("kind", Text, nullable=False),  # crosswind.db.events.EVENT_KINDS
    Column("place", Text, nullable=False),  # a node, a resource; "": the whole cluster
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger),  # null: it has not ended
    Column("source", Text, nullable=False),
    Column("note", Text, nullable=False),
    UniqueConstraint("cluster", "kind", "place", "start_ns"),
    Index(None, "start_ns"),
)
