"""What tests of the daemon's looks share: the time as it sees it, processes of this machine, what came of it."""

import os
import time
from pathlib import Path

from crosswind.db import queries, reading
from support.growing import CALLS, GrowingSpool
from support.spools import SLICE_NS, SpoolBuilder

METRIC = f"{CALLS}_calls"
NOW_SLICE = time.time_ns() // SLICE_NS
OWN_PIDS = Path("/proc/self/ns/pid").stat().st_ino  # the PID namespace of this process


class Clock:
    """Time as the daemon sees it; monotonic time goes on by itself. It begins after NOW_SLICE, and not before now:
    silence is counted from when a file was written, which may be long after NOW_SLICE was noted.
    """

    def __init__(self):
        self.ns = max(NOW_SLICE + 1, time.time_ns() // SLICE_NS) * SLICE_NS + SLICE_NS // 8

    def __call__(self):
        return self.ns

    def wait(self, seconds):
        self.ns += int(seconds * 1e9)


def own_file(spool, process, job_id="1001", **fields):
    """The file of a process of this machine (its pid) that began ten slices ago, without a slice."""
    started = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    who = {"pid": process, "start_ticks": started, "boot_id": boot_id, "job_id": job_id}
    start_ns = (NOW_SLICE - 10) * SLICE_NS
    return GrowingSpool(spool, SpoolBuilder(**{"start_ns": start_ns, **who, **fields}))


def calls(engine):
    """Per job step its state, and its calls by slice, from NOW_SLICE - 10 on."""
    with reading(engine) as conn:
        found = {}
        for job in queries.list_jobs(conn)[0]:
            frame = queries.get_frames(conn, job.key, [METRIC]).get(METRIC)
            values = frame.values.sum(axis=0).tolist() if frame else []
            found[job.job_id] = job.state, values[: max((i + 1 for i, v in enumerate(values) if v), default=0)]
    return found


class SaysOfAll:
    """A batch system that says the same of every job."""

    def __init__(self, over):
        self.over = over

    def refresh(self):
        pass

    def note_loaded(self):
        pass

    def is_over(self, job_id, uid):
        assert (job_id, uid) == ("1001", os.geteuid())
        return self.over
