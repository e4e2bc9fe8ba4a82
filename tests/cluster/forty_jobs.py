"""Forty jobs of two users in a real Slurm, of which some are cancelled, time out, fail, run anew or lose their node.

All of them are in the database as they were, on SQLite and on PostgreSQL. `make test-cluster`.

The truth is independent of what is tested: the sizes of the files that the jobs wrote, and Slurm's own queue.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select

from crosswind.collector.batch_system import apply_events, repair_from_queue
from crosswind.db import open_database, queries, reading, resources, schema
from crosswind.db.batch_queries import BatchRow
from crosswind.db.batch_schema import batch_job
from crosswind.db.details import get_totals
from support.batch_runs import find_batch_jobs, steps_of_batch_job
from support.cluster import SLICE_NS, USERS, Cluster, collect_once
from support.preload import PROGRAMS

ALICE, BOB = USERS
JOB, MPI_JOB = PROGRAMS / "cluster_job", PROGRAMS / "cluster_job.openmpi"
NODES = ("n1", "n2")
BLOCK = 4096
WRITTEN = "posix_disk_write_bytes"
HOSTILE_NAMES = ('it\'s "quoted"', "back\\slash", "<b>new\nline</b>", "'; DROP TABLE job; --", "plain")
OPT_OUT, QUEUED_AGAIN, ARRAY, HET, STEPS = "opt-out", "queued again", "array", "het", "steps"
MPIRUN, SRUN_MPI = "mpirun", "srun --mpi"


@dataclass
class Jobs:
    """What was submitted. expected: state of the last run by job id. kinds: job ids by what they are."""

    expected: dict[int, str] = field(default_factory=dict)
    users: dict[int, str] = field(default_factory=dict)
    kinds: dict[str, list[int]] = field(default_factory=dict)
    killed_at: float = 0.0

    def add(self, user: str, state: str, *ids: int, kind: str = "") -> None:
        for job in ids:
            self.expected[job], self.users[job] = state, user
            self.kinds.setdefault(kind, []).append(job)


def writes(seconds: float | str, program: Path = JOB) -> str:
    """A command that writes for so long into files whose names tell job and run."""
    return f"{program} {seconds} truth-$SLURM_JOB_ID-${{SLURM_RESTART_COUNT:-0}}"


def writes_first_long() -> str:
    """A minute in the first run, three seconds in the second."""
    return writes("$((SLURM_RESTART_COUNT ? 3 : 60))")


@pytest.fixture(scope="module")
def jobs(cluster: Cluster, databases: dict[str, str]) -> Jobs:
    """Submit everything, let it happen, and collect into SQLite meanwhile and afterwards."""
    done = Jobs()
    submit_those_that_time_out(cluster, done)
    submit_ordinary(cluster, done)
    cancel_some(cluster, done)
    queue_some_again(cluster, done)
    cluster.collect("n1", databases["sqlite"])  # in the middle of it all: nothing may be lost or doubled by that
    lose_a_node(cluster, done)
    cluster.wait(list(done.expected), timeout=180)
    add_elements_of_arrays(cluster, done)
    (cluster.work / "queue.json").write_text(json.dumps({"jobs": list(cluster.queue().values())}))
    collect_everything(cluster, databases)
    return done


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory, postgresql_server: str) -> dict[str, str]:
    return {
        "sqlite": f"sqlite:///{tmp_path_factory.mktemp('cluster')}/crosswind.db",
        "postgresql": f"{postgresql_server}/postgres",
    }


def submit_those_that_time_out(cluster: Cluster, done: Jobs) -> None:
    for user in USERS:
        job = cluster.submit(user, f"srun {writes(300)}", "-w", "n1", "--time=1")
        done.add(user, "TIMEOUT", job)


def submit_ordinary(cluster: Cluster, done: Jobs) -> None:
    for number in range(16):
        user, tasks = USERS[number % 2], 1 + number % 2
        name = f"--job-name={HOSTILE_NAMES[number % len(HOSTILE_NAMES)]}"
        done.add(user, "COMPLETED", cluster.submit(user, f"srun -n{tasks} {writes(3)}", "-n2", name))
    array = cluster.submit(ALICE, f"srun {writes(3)}", "--array=1-4")
    done.add(ALICE, "COMPLETED", array, kind=ARRAY)
    both = f"#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1\nsrun --het-group=0,1 {writes(3)}"
    leader = cluster.submit(BOB, both)
    done.add(BOB, "COMPLETED", leader, leader + 1, kind=HET)
    for user in USERS:
        steps = f"srun {writes(3)}\nsrun {writes(3)}"
        done.add(user, "COMPLETED", cluster.submit(user, steps), kind=STEPS)
        done.add(user, "COMPLETED", cluster.submit(user, f"srun {writes(2)}", "--crosswind=off"), kind=OPT_OUT)
        done.add(user, "COMPLETED", cluster.submit(user, f"srun {writes(3)}", "--export=NONE"))
        done.add(user, "FAILED", cluster.submit(user, f"srun {writes(3)}\nexit 3"))
        if MPI_JOB.exists():
            script = f"mpirun.openmpi --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 {writes(3, MPI_JOB)}"
            job = cluster.submit(user, script, "-N2", "--ntasks-per-node=1")
            done.add(user, "COMPLETED", job, kind=MPIRUN)
            job = cluster.submit(user, f"srun --mpi=pmix {writes(3, MPI_JOB)}", "-N2", "--ntasks-per-node=1")
            done.add(user, "COMPLETED", job, kind=SRUN_MPI)


def add_elements_of_arrays(cluster: Cluster, done: Jobs) -> None:
    """An element gets its own job id when it starts."""
    (array,) = done.kinds[ARRAY]
    elements = [job for job, row in cluster.queue().items() if row["array_job_id"] == array and job != array]
    done.add(ALICE, "COMPLETED", *elements, kind=ARRAY)


def cancel_some(cluster: Cluster, done: Jobs) -> None:
    ids = [cluster.submit(user, f"srun {writes(60)}") for user in USERS * 2]
    for job, user in zip(ids, USERS * 2, strict=True):
        done.add(user, "CANCELLED", job)
    cluster.wait(ids, "RUNNING")
    time.sleep(4)
    cluster.run("scancel", *map(str, ids))


def queue_some_again(cluster: Cluster, done: Jobs) -> None:
    ids = [cluster.submit(user, f"srun {writes_first_long()}", "--requeue") for user in USERS]
    for job, user in zip(ids, USERS, strict=True):
        done.add(user, "COMPLETED", job, kind=QUEUED_AGAIN)
    cluster.wait(ids, "RUNNING")
    time.sleep(3)
    cluster.run("scontrol", "requeue", ",".join(map(str, ids)))


def lose_a_node(cluster: Cluster, done: Jobs) -> None:
    """Two jobs end with their node; a third is queued again and runs anew."""
    ids = [cluster.submit(user, f"srun {writes(60)}", "-w", "n2", "--no-requeue") for user in USERS]
    again = cluster.submit(ALICE, f"srun {writes_first_long()}", "-w", "n2", "--requeue")
    cluster.wait([*ids, again], "RUNNING", timeout=90)
    others = [job for job in done.expected if cluster.queue()[job]["nodes"] == "n2"]
    cluster.wait([*others, *done.kinds[QUEUED_AGAIN]], timeout=90)
    time.sleep(3)
    cluster.kill_node("n2")
    done.killed_at = time.time()
    for job, user in zip(ids, USERS, strict=True):
        done.add(user, "NODE_FAIL", job)
    done.add(ALICE, "COMPLETED", again, kind=QUEUED_AGAIN)
    cluster.wait(ids, timeout=60)
    cluster.revive()


def collect_everything(cluster: Cluster, databases: dict[str, str]) -> None:
    """Into SQLite node by node; then the same files, all nodes together, into PostgreSQL."""
    for _ in range(2):  # the second time changes nothing
        for node in NODES:
            cluster.collect(node, databases["sqlite"])
    copies = [cluster.work / f"spool-{node}" for node in NODES]
    for node, copy in zip(NODES, copies, strict=True):
        os.rename(cluster.spool_of(node) / "done", copy)
    collect_once(copies, databases["postgresql"])


@dataclass(frozen=True)
class Loaded:
    """One of the databases, and what Slurm's events said put into it."""

    cluster: Cluster
    jobs: Jobs
    engine: Engine
    runs: dict[tuple[int, int], BatchRow]

    def steps(self, job: int, run: int = 0) -> list[tuple[int, str]]:
        with reading(self.engine) as conn:
            return steps_of_batch_job(conn, self.runs[job, run].key)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def loaded(request: pytest.FixtureRequest, cluster: Cluster, jobs: Jobs, databases: dict[str, str]) -> Iterator[Loaded]:
    engine = open_database(databases[request.param])
    report = apply_events(engine, cluster.events(request.param))
    assert report.refused == []
    with reading(engine) as conn:
        runs = {(int(row.job_id), row.run): row for row in find_batch_jobs(conn)}
    yield Loaded(cluster, jobs, engine, runs)
    engine.dispose()


def truth(cluster: Cluster, job: int, run: int = 0) -> list[Path]:
    """The files that a run wrote."""
    return sorted(cluster.work.glob(f"truth-{job}-{run}.*"))


def test_there_were_forty(jobs):
    assert len(jobs.expected) >= 40


def test_every_job_is_there_with_its_state(loaded):
    last = {job: max(run for j, run in loaded.runs if j == job) for job in {j for j, _ in loaded.runs}}
    assert {job: loaded.runs[job, run].state for job, run in last.items()} == loaded.jobs.expected


def test_slurm_itself_says_the_same(loaded):
    """Nothing is left to repair from its queue."""
    report = repair_from_queue(loaded.engine, (loaded.cluster.work / "queue.json").read_bytes(), time.time_ns())
    assert (report.lost, report.refused) == (0, [])
    with reading(loaded.engine) as conn:
        after = {(int(row.job_id), row.run): row.state for row in find_batch_jobs(conn)}
    assert after == {key: row.state for key, row in loaded.runs.items()}


def test_users_times_and_nodes(loaded):
    for (job, _), run in loaded.runs.items():
        assert run.user == loaded.jobs.users[job]
        assert run.submit_ns is None or run.submit_ns <= run.start_ns + 10**9
        assert run.start_ns <= run.end_ns + 10**9
        assert set(run.hosts) <= set(NODES)
        assert run.hosts
        assert run.cpus >= 1


def test_exit_codes(loaded):
    codes = {run.state: (run.exit_code, run.signal) for run in loaded.runs.values()}
    assert codes["COMPLETED"] == (0, 0)
    assert codes["FAILED"] == (3, 0)


def test_arrays_and_heterogeneous_jobs(loaded):
    elements = [loaded.runs[job, 0] for job in loaded.jobs.kinds[ARRAY]]
    assert {run.array_task for run in elements} == {"1", "2", "3", "4"}
    assert len({run.array_job_id for run in elements}) == 1
    leader, other = sorted(loaded.jobs.kinds[HET])
    assert {loaded.runs[job, 0].het_job_id for job in (leader, other)} == {str(leader)}
    assert "0" in dict((step, key) for key, step in loaded.steps(leader))


def test_queued_again_is_two_runs(loaded):
    for job in loaded.jobs.kinds[QUEUED_AGAIN]:
        first, second = (loaded.runs[job, run] for run in (0, 1))
        assert first.state in ("REQUEUED", "NODE_FAIL")
        assert (second.state, second.start_ns > first.start_ns) == ("COMPLETED", True)
        assert {step for _, step in loaded.steps(job, 0)} >= {"0"}
        assert {step for _, step in loaded.steps(job, 1)} >= {"0-r1"}


def test_steps(loaded):
    for job in loaded.jobs.kinds[STEPS]:
        assert {step for _, step in loaded.steps(job)} >= {"0", "1"}


@pytest.mark.parametrize(("kind", "step"), [(MPIRUN, "mpirun-"), (SRUN_MPI, "0")])
def test_ranks_on_two_nodes_are_one_step(loaded, kind, step):
    if kind not in loaded.jobs.kinds:
        pytest.skip("no mpicc.openmpi: MPI on two nodes was not tested")
    for job in loaded.jobs.kinds[kind]:
        (key,) = [key for key, name in loaded.steps(job) if name.startswith(step) and (name == step or kind == MPIRUN)]
        with reading(loaded.engine) as conn:
            ranks = {p.rank: p.host for p in queries.get_processes(conn, key) if p.is_mpi}
            segments = queries.get_segments(conn, key)
            assert (queries.get_job(conn, key).ranks, ranks) == (2, {0: "n1", 1: "n2"})
        assert segments.n_ranks == 2  # also where each node's collector delivered those of its own rank
        assert segments.valid.all()


def test_opt_out_is_there_without_a_profile(loaded):
    for job in loaded.jobs.kinds[OPT_OUT]:
        assert loaded.steps(job) == []
        assert truth(loaded.cluster, job)


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "REQUEUED"])
def test_every_byte_up_to_the_end_is_there_once(loaded, state):
    """What the files say was written is what was counted, in all and in the slices, whatever ended the job.

    A process that is killed between the end of a write and its being counted lacks one.
    """
    checked = 0
    for (job, run), row in loaded.runs.items():
        if row.state != state or job in loaded.jobs.kinds[OPT_OUT]:
            continue
        files = truth(loaded.cluster, job, run)
        written = sum(path.stat().st_size for path in files)
        counted, in_slices = 0, 0
        with reading(loaded.engine) as conn:
            for key, _ in steps_of_batch_job(conn, row.key):
                ours = [p.exe.startswith("cluster_job") for p in queries.get_processes(conn, key)]
                totals, frames = get_totals(conn, key), queries.get_frames(conn, key, {WRITTEN})
                counted += int(totals[WRITTEN][ours].sum()) if WRITTEN in totals else 0
                in_slices += int(frames[WRITTEN].values[ours].sum()) if WRITTEN in frames else 0
        killed = state not in ("COMPLETED", "FAILED")
        missing = len(files) * BLOCK if killed else 0
        if job - 1 in loaded.jobs.kinds[HET] and not files:
            continue  # all of a heterogeneous job is under the id of its first component
        assert written > 0, job
        assert written - missing <= counted <= written, (job, run, written, counted)
        assert written - missing <= in_slices <= written, (job, run, written, in_slices)
        checked += 1
    assert checked > 0


def test_slices_have_no_gap(loaded):
    """From a process's first slice to its last all are there, and all between them are whole.

    A slice ends when the helper wakes, a little late on a busy machine.
    """
    checked = 0
    with reading(loaded.engine) as conn:
        for key in conn.execute(select(schema.job.c.key)).scalars():
            covered = queries.get_covered(conn, key)
            for process, row in zip(queries.get_processes(conn, key), covered, strict=True):
                if not process.exe.startswith("cluster_job"):
                    continue
                (there,) = np.nonzero(row)
                assert np.array_equal(there, np.arange(there[0], there[-1] + 1)), (key, process)
                assert np.all(abs(row[there[1:-1]] - SLICE_NS) < SLICE_NS / 5), (key, process)
                assert abs(row.sum() - (process.end_ns - process.start_ns)) <= 2 * SLICE_NS, (key, process)
                checked += 1
    assert checked >= 40


def test_killed_processes_live_up_to_the_kill(loaded):
    """The last slice is that of the last write, as the file system saw it."""
    for (job, run), row in loaded.runs.items():
        if row.state not in ("CANCELLED", "TIMEOUT", "NODE_FAIL"):
            continue
        last_write = max(path.stat().st_mtime_ns for path in truth(loaded.cluster, job, run))
        with reading(loaded.engine) as conn:
            ends = [queries.get_job(conn, key).end_ns for key, step in steps_of_batch_job(conn, row.key) if step == "0"]
        assert abs(max(ends) - last_write) <= 2 * SLICE_NS, (job, max(ends) - last_write)


def test_nothing_is_there_twice(loaded):
    """No run, no step, no process; and the background is the sum of the jobs."""
    counts: list[Callable] = [
        select(func.count()).select_from(batch_job).group_by(batch_job.c.job_id, batch_job.c.run),
        select(func.count()).select_from(schema.job).group_by(schema.job.c.job_id, schema.job.c.step),
        select(func.count()).select_from(schema.process).where(schema.process.c.count == 1).group_by(
            schema.process.c.host, schema.process.c.pid, schema.process.c.start_ns),
    ]  # fmt: skip
    with reading(loaded.engine) as conn:
        for count in counts:
            assert set(conn.execute(count).scalars()) == {1}
        keys = list(conn.execute(select(schema.job.c.key)).scalars())
        steps = [queries.get_job(conn, key) for key in keys]
        first, last = min(s.first_slice for s in steps), max(s.first_slice + s.n_slices for s in steps)
        names = sorted({name for key in keys for name in queries.resources_of_job(conn, key)})
        together = queries.get_background(conn, names, {WRITTEN}, first, last - first, SLICE_NS)
        own = sum(
            int(resources.share_of(name, frame.values, [p.host for p in queries.get_processes(conn, key)]).sum())
            for key in keys
            for name in queries.resources_of_job(conn, key)
            if name.startswith("fs:disk")
            for frame in queries.get_frames(conn, key, {WRITTEN}).values()
        )
    assert sum(int(values.sum()) for values in together.values()) == own > 0
