"""What Slurm says of jobs and nodes, in its own words, and what the database has of it."""

import json
from pathlib import Path

from crosswind.db import reading
from crosswind.db.events import events_between
from support.batch_runs import find_batch_jobs

SCRIPT = Path(__file__).resolve().parents[2] / "batch" / "slurm" / "job_event.sh"
S = 10**9
HOSTILE = b'we"ird \\name\n\xff\x01</script>' + "é".encode()

START = {  # as Slurm 22.05 sets them
    "SLURM_JOB_ID": "11", "SLURM_JOB_RESTART_COUNT": "0", "SLURM_JOB_UID": "1001", "SLURM_JOB_USER": "alice",
    "SLURM_JOB_ACCOUNT": "(null)", "SLURM_JOB_PARTITION": "normal", "SLURM_JOB_NAME": "lmp",
    "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "4(x2)", "SLURM_SCRIPT_CONTEXT": "prolog_slurmctld",
}  # fmt: skip
END = {
    "JOBID": "11", "JOBSTATE": "COMPLETED", "UID": "1001", "USERNAME": "alice", "ACCOUNT": "", "PARTITION": "normal",
    "JOBNAME": "lmp", "SUBMIT": "1000", "START": "1001", "END": "1060", "NODES": "n[1-2]", "PROCS": "8",
    "EXITCODE": "0:0", "ARRAYJOBID": "0", "ARRAYTASKID": "4294967294", "LIMIT": "00:05:00",
}  # fmt: skip
QUEUED = {
    "job_id": 11, "restart_cnt": 0, "job_state": "RUNNING", "user_id": 1001, "user_name": "alice", "account": "",
    "partition": "normal", "name": "lmp", "submit_time": 1000, "start_time": 1001, "end_time": 1300, "nodes": "n[1-2]",
    "cpus": 8, "exit_code": 0, "array_job_id": 0, "array_task_id": None, "het_job_id": 0,
}  # fmt: skip


def event(kind, at=1001, **changes):
    variables = (START if kind == "start" else END) | changes
    return json.dumps({"event": kind, "at_ns": at * S, **variables}).encode()


def queue(*changes):
    return json.dumps({"meta": {}, "jobs": [QUEUED | change for change in changes]}).encode()


def nodes(down="idle", flags=(), reason="", since=0):
    """Two nodes as sinfo of Slurm 22.05 has them; the first as said."""
    known = {"hostname": "x", "boot_time": 5, "state_flags": [], "reason": "", "reason_changed_at": 0}
    first = {"name": "n1", "state": down, "state_flags": list(flags), "reason": reason, "reason_changed_at": since}
    return json.dumps(
        {"meta": {}, "errors": [], "nodes": [known | first, known | {"name": "n2", "state": "mixed"}]}
    ).encode()


def troubles(engine):
    """Kind, node, begin and end (s) and note of all events, by begin."""
    with reading(engine) as conn:
        found = events_between(conn, 0, 1 << 62)
    return [(e.kind, e.place, e.start_ns // S, None if e.end_ns is None else e.end_ns // S, e.note) for e in found]


def runs(engine):
    with reading(engine) as conn:
        return {(row.job_id, row.run): row for row in find_batch_jobs(conn)}


def states(engine):
    return {key: row.state for key, row in runs(engine).items()}
