"""What was said of jobs, in the database: in any order, twice, with gaps."""

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from crosswind.collector.batch_system import (
    apply_events,
    repair_from_queue,
)
from crosswind.collector.batch_system.slurm import parse_event
from crosswind.collector.errors import SpoolError
from crosswind.db import load_profile, reading
from crosswind.db.batch import link_steps, run_of_step, store_batch_jobs
from crosswind.db.batch_queries import batch_job_of_step
from support.batch_runs import steps_of_batch_job
from support.profiles import make_writer
from support.slurm_words import END, HOSTILE, SCRIPT, S, event, queue, runs, states


class TestApplying:
    """Into the database."""

    def test_any_order_and_twice_is_the_same(self, engine, events):
        said = [event("start"), event("end"), event("start"), event("end")]
        for order in set(itertools.permutations(said)):
            for number, content in enumerate(order):
                (events / f"{number}.json").write_bytes(content)
            assert apply_events(engine, events).refused == []
            assert [p.name for p in events.iterdir()] == []
        (run,) = runs(engine).values()
        assert (run.state, run.start_ns, run.end_ns, run.run) == ("COMPLETED", 1001 * S, 1060 * S, 0)

    @pytest.mark.parametrize(
        ("kept", "expected"),
        [
            ("0123", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("3210", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("2301", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("123", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("213", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("023", [(0, "REQUEUED", None), (1, "COMPLETED", 1300)]),
            ("013", [(0, "REQUEUED", 1060), (1, "COMPLETED", 1300)]),
            ("012", [(0, "REQUEUED", 1060), (1, "RUNNING", None)]),
        ],
    )
    def test_queued_again_is_a_run_of_its_own(self, engine, kept, expected):
        """Also where events come late or one is lost."""
        said = [
            event("start"),
            event("end", JOBSTATE="PENDING"),
            event("start", at=1200, SLURM_JOB_RESTART_COUNT="1"),
            event("end", SUBMIT="1061", START="1200", END="1300"),
        ]
        for number in kept + kept:
            store_batch_jobs(engine, [parse_event(said[int(number)])])
        found = [(r.run, r.state, r.end_ns and r.end_ns // S) for r in runs(engine).values()]
        assert found == expected

    def test_a_later_run_ends_the_earlier_ones(self, engine):
        store_batch_jobs(engine, [parse_event(event("start"))])
        store_batch_jobs(engine, [parse_event(event("start", at=1200, SLURM_JOB_RESTART_COUNT="1"))])
        assert states(engine) == {("11", 0): "REQUEUED", ("11", 1): "RUNNING"}

    def test_queue_repairs_what_was_lost(self, engine):
        store_batch_jobs(engine, [parse_event(event("start")), parse_event(event("start", SLURM_JOB_ID="12"))])
        store_batch_jobs(engine, [parse_event(event("start", at=5000, SLURM_JOB_ID="14"))])
        answer = queue({"job_state": "CANCELLED", "end_time": 1050}, {"job_id": 13})
        report = repair_from_queue(engine, answer, 2000 * S)
        assert states(engine) == {
            ("11", 0): "CANCELLED", ("12", 0): "LOST", ("13", 0): "RUNNING", ("14", 0): "RUNNING",
        }  # fmt: skip
        assert (report.changed, report.lost) == (2, 1)
        assert repair_from_queue(engine, answer, 2000 * S).changed == 0
        store_batch_jobs(engine, [parse_event(event("end", JOBID="12", JOBSTATE="FAILED"))])  # late, but it came
        assert runs(engine)["12", 0].state == "FAILED"

    def test_hostile_names_come_through_as_text(self, engine, events):
        env = {k: v.encode() for k, v in END.items()} | {"JOBNAME": HOSTILE}
        subprocess.run([SCRIPT, events], env=env, check=True)
        apply_events(engine, events)
        (run,) = runs(engine).values()
        assert run.name.isprintable()
        assert run.name.startswith('we"ird \\name')

    def test_bad_files_are_put_away_and_named(self, engine, events, tmp_path):
        secret = tmp_path / "secret"
        secret.write_bytes(event("end"))
        (events / "1.json").write_bytes(b"{")
        (events / "2.json").symlink_to(secret)
        os.mkfifo(events / "3.json")
        (events / "4.json").write_bytes(b" " * 70_000)
        (events / "5.json").write_bytes(event("end", JOBID="5"))
        (events / ".6.7").write_bytes(b"being written")
        report = apply_events(engine, events)
        assert [Path(p).name for p, _ in report.refused] == ["1.json", "2.json", "3.json", "4.json"]
        assert list(states(engine)) == [("5", 0)]
        assert sorted(p.name for p in events.iterdir()) == [".6.7", "refused"]
        assert apply_events(engine, events).refused == []

    def test_directory_that_others_may_write_to(self, engine, events):
        events.chmod(0o777)
        with pytest.raises(SpoolError, match="chmod go-w"):
            apply_events(engine, events)

    def test_steps_are_linked_to_their_run_and_user(self, engine):
        def load(step, uid=1001):
            return load_profile(engine, make_writer(job_id="11", step=step, uid=uid)).job_key

        first, script, other = load("0"), load(""), load("0", uid=1002)
        store_batch_jobs(engine, [parse_event(event("start"))])
        store_batch_jobs(engine, [parse_event(event("start", at=1200, SLURM_JOB_RESTART_COUNT="1"))])
        again = load("0-r1")
        assert (link_steps(engine), link_steps(engine)) == (3, 0)
        with reading(engine) as conn:
            assert [batch_job_of_step(conn, key).run for key in (first, script, again)] == [0, 0, 1]
            assert batch_job_of_step(conn, other) is None
            assert {s for _, s in steps_of_batch_job(conn, batch_job_of_step(conn, first).key)} == {"0", ""}


@pytest.mark.parametrize(
    ("step", "run"),
    [("", 0), ("0", 0), ("r1", 1), ("0-r1", 1), ("mpirun-77-r12", 12), ("7r1", 0), ("r0", 0), ("-r", 0)],
)
def test_run_of_step(step, run):
    assert run_of_step(step) == run
