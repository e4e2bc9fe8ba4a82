"""What the batch system says of jobs, into the database. docs/operations.md, "Batch systems"."""

from crosswind.collector.batch_system.asking import ask_sinfo, ask_squeue
from crosswind.collector.batch_system.events import EventReport, apply_events, note_nodes, repair_from_queue
from crosswind.collector.batch_system.slurm import UnreadableReport
from crosswind.collector.batch_system.watch import SlurmJobs

__all__ = [
    "EventReport", "SlurmJobs", "UnreadableReport", "apply_events", "ask_sinfo", "ask_squeue", "note_nodes",
    "repair_from_queue",
]  # fmt: skip
