"""What Slurm says of jobs: its words as BatchJob, hostile ones too, all of it in the database."""

import errno
import itertools
import json
import logging
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from crosswind.collector.batch_system import (
    SlurmJobs,
    UnreadableReport,
    apply_events,
    note_nodes,
    repair_from_queue,
    watch,
)
from crosswind.collector.batch_system.asking import ask_sinfo, ask_squeue
from crosswind.collector.batch_system.hostlist import MAX_HOSTS, expand
from crosswind.collector.batch_system.slurm import parse_event, parse_queue
from crosswind.collector.errors import SpoolError
from crosswind.db import BatchJob, load_profile, reading
from crosswind.db.batch import link_steps, run_of_step, store_batch_jobs
from crosswind.db.batch_queries import batch_job_of_step
from crosswind.db.events import Event, events_between, store_events
from support.batch_runs import find_batch_jobs, steps_of_batch_job
from support.profiles import make_writer

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


@pytest.fixture
def events(tmp_path):
    folder = tmp_path / "events"
    folder.mkdir(mode=0o700)
    return folder


class TestWords:
    """Of Slurm, as BatchJob."""

    def test_start(self):
        assert parse_event(event("start")) == BatchJob(
            "11", "RUNNING", 1001, run=0, user="alice", partition="normal", name="lmp", start_ns=1001 * S,
            hosts=("n1", "n2"), cpus=8,
        )  # fmt: skip

    def test_end(self):
        said = parse_event(event("end", JOBSTATE="TIMEOUT", EXITCODE="1:15", ARRAYJOBID="7", ARRAYTASKID="3"))
        assert said == BatchJob(
            "11", "TIMEOUT", 1001, user="alice", partition="normal", name="lmp", array_job_id="7", array_task="3",
            submit_ns=1000 * S, start_ns=1001 * S, end_ns=1060 * S, hosts=("n1", "n2"), cpus=8, exit_code=1, signal=15,
        )  # fmt: skip

    def test_queued_again_has_an_end_and_is_pending(self):
        assert parse_event(event("end", JOBSTATE="PENDING")).state == "REQUEUED"

    def test_one_that_never_started(self):
        said = parse_event(event("end", JOBSTATE="CANCELLED", NODES="(null)", START="1060"))
        assert (said.state, said.start_ns, said.hosts) == ("CANCELLED", None, ())

    def test_part_of_a_heterogeneous_job(self):
        assert parse_event(event("end", HETJOBID="9")).het_job_id == "9"

    def test_queue(self):
        failed = {"job_id": 12, "job_state": "FAILED", "exit_code": 256, "end_time": 1050}
        (running, done), refused, known = parse_queue(queue({}, failed | {"array_job_id": 12, "array_task_id": 4}))
        assert (running.state, running.end_ns, running.exit_code) == ("RUNNING", None, None)
        assert (done.state, done.end_ns, done.exit_code, done.signal) == ("FAILED", 1050 * S, 1, 0)
        assert (done.array_job_id, done.array_task) == ("12", "4")
        assert (refused, known) == ([], {"11", "12"})

    def test_queue_of_newer_versions(self):
        wrapped = {"set": True, "infinite": False, "number": 1001}
        none = {"set": False, "infinite": False, "number": 0}
        (job,), _, _ = parse_queue(
            queue({"job_state": ["RUNNING", "RESIZING"], "start_time": wrapped, "array_task_id": none})
        )
        assert (job.state, job.start_ns, job.array_task) == ("RUNNING", 1001 * S, "")

    def test_guesses_of_the_queue_are_not_believed(self):
        (pending,), _, known = parse_queue(queue({"job_state": "PENDING"}, {"job_state": "COMPLETING"}))
        assert (pending.start_ns, pending.end_ns) == (None, None)
        assert known == {"11"}

    @pytest.mark.parametrize(
        "changes",
        [
            {"JOBID": "11; DROP TABLE job"},
            {"JOBID": "-1"},
            {"JOBSTATE": "SPLENDID"},
            {"UID": "4294967296"},
            {"UID": "root"},
            {"END": "soon"},
            {"NODES": "n[1-999999999]"},
            {"NODES": "n[1-9"},
            {"EXITCODE": "0"},
            {"PROCS": "99999999999"},
        ],
    )
    def test_what_no_slurm_says_is_refused_in_one_short_line(self, changes):
        with pytest.raises(UnreadableReport) as caught:
            parse_event(event("end", **changes))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) <= 200

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"null", b'{"event": "other"}', b"[" * 100_000, b"\xff\xfe", b'{"event":"start"}']
    )
    def test_what_is_no_event(self, content):
        with pytest.raises(UnreadableReport):
            parse_event(content)
        with pytest.raises(UnreadableReport):
            parse_queue(content)

    def test_one_bad_job_does_not_hide_the_others(self):
        jobs, refused, _ = parse_queue(queue({"user_id": -1}, {"job_id": 12}))
        assert ([job.job_id for job in jobs], len(refused)) == (["12"], 1)


class TestHostlist:
    """Slurm's lists of nodes."""

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("", ()),
            ("n1", ("n1",)),
            ("n[1-3]", ("n1", "n2", "n3")),
            ("n[08-10,2],login-1", ("n08", "n09", "n10", "n2", "login-1")),
            ("r[1-2]n[1-2].x", ("r1n1.x", "r1n2.x", "r2n1.x", "r2n2.x")),
        ],
    )
    def test_names(self, text, names):
        assert expand(text) == names

    @pytest.mark.parametrize("text", ["n[", "n]", "n[a]", "n[]", "a b", "n[1-2],", "n[1--2]", "../x", "n[1-2]]"])
    def test_what_is_none(self, text):
        with pytest.raises(ValueError, match=r"no list of nodes|no range"):
            expand(text)

    @pytest.mark.parametrize("text", [f"n[1-{MAX_HOSTS + 1}]", "a[1-999]b[1-999]", ",".join(["n[1-99999]"] * 2)])
    def test_too_many(self, text):
        with pytest.raises(ValueError, match="more than"):
            expand(text)


class TestScript:
    """batch/slurm/job_event.sh, as Slurm runs it."""

    def run(self, folder, **variables):
        return subprocess.run([SCRIPT, folder], env=variables, capture_output=True, timeout=10)

    def test_says_what_slurm_said(self, events):
        self.run(events, **START)
        self.run(events, **END)
        first, second = (parse_event(p.read_bytes()) for p in sorted(events.iterdir()))
        assert (first.state, first.hosts, first.cpus) == ("RUNNING", ("n1", "n2"), 8)
        assert second == parse_event(event("end"))

    def test_hostile_name(self, events):
        self.run(events, **{k: v.encode() for k, v in END.items()} | {"JOBNAME": HOSTILE})
        (path,) = events.iterdir()
        assert parse_event(path.read_bytes()).name == 'we"ird \\name \N{REPLACEMENT CHARACTER} </script>é'

    @pytest.mark.parametrize("folder", ["/nonexistent", "/proc"])
    def test_never_fails_and_says_nothing(self, folder):
        done = self.run(folder, **START)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


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


class TestForTheDaemon:
    """SlurmJobs, which it asks in each look."""

    def test_is_over(self, engine, events):
        jobs = SlurmJobs(engine, events=events)
        jobs.refresh()
        assert jobs.is_over("11", 1001) is None
        (events / "1.json").write_bytes(event("start"))
        jobs.refresh()
        assert (jobs.is_over("11", 1001), jobs.is_over("11", 1002)) == (False, None)
        (events / "2.json").write_bytes(event("end"))
        assert jobs.is_over("11", 1001) is False  # from memory, until the next look
        jobs.refresh()
        assert jobs.is_over("11", 1001) is True

    def test_the_queue_is_asked_beside_the_looks(self, engine):
        let = threading.Event()

        def ask():
            let.wait(30)
            return queue({"job_state": "TIMEOUT", "end_time": 1050}), 2000 * S

        jobs = SlurmJobs(engine, queue_s=1000, ask=ask, ask_nodes=lambda: (nodes(down="down"), 2000 * S))
        jobs.refresh()
        assert jobs.is_over("11", 1001) is None
        let.set()
        end = time.monotonic() + 30
        while not jobs.is_over("11", 1001) and time.monotonic() < end:
            time.sleep(0.01)
            jobs.refresh()
        assert states(engine) == {("11", 0): "TIMEOUT"}
        while not troubles(engine) and time.monotonic() < end:
            time.sleep(0.01)
            jobs.refresh()
        assert troubles(engine) == [("node_down", "n1", 2000, None, "")]

    def test_what_is_wrong_is_logged_once_and_does_no_harm(self, engine, events, caplog):
        events.chmod(0o777)
        jobs = SlurmJobs(engine, events=events, queue_s=1000)
        with caplog.at_level(logging.INFO):
            jobs.refresh()
            jobs.refresh()
        assert sum("chmod go-w" in record.fields.get("error", "") for record in caplog.records) == 1

    def test_events_that_cannot_be_removed_are_no_end_of_the_daemon(self, engine, events, caplog, monkeypatch):
        """As on a read-only mount. What they say counts all the same."""

        def fail(path, missing_ok=False):
            raise OSError(errno.EROFS, "Read-only file system")

        (events / "1.json").write_bytes(event("end"))
        monkeypatch.setattr(Path, "unlink", fail)
        jobs = SlurmJobs(engine, events=events)
        with caplog.at_level(logging.INFO):
            jobs.refresh()
        assert any("Read-only" in record.fields.get("error", "") for record in caplog.records)
        assert jobs.is_over("11", 1001) is True

    def test_an_answer_with_errors_loses_no_job(self, engine):
        repair_from_queue(engine, queue({}), 2000 * S)
        with pytest.raises(UnreadableReport, match="reports errors"):
            repair_from_queue(engine, b'{"errors": [{"error": "down"}], "jobs": []}', 3000 * S)
        assert states(engine) == {("11", 0): "RUNNING"}

    def test_a_lost_job_that_the_queue_knows_again(self, engine, events):
        jobs = SlurmJobs(engine, events=events)
        repair_from_queue(engine, queue({}), 2000 * S)
        repair_from_queue(engine, queue(), 3000 * S)
        assert states(engine) == {("11", 0): "LOST"}
        assert jobs.is_over("11", 1001) is None
        repair_from_queue(engine, queue({}), 4000 * S)
        assert states(engine) == {("11", 0): "RUNNING"}
        (events / "1.json").write_bytes(event("end"))
        jobs.refresh()
        assert jobs.is_over("11", 1001) is True

    def test_steps_are_linked_only_after_news(self, engine, events, monkeypatch):
        asked = []
        monkeypatch.setattr(watch, "link_steps", lambda *_: asked.append(1) or 0)
        jobs = SlurmJobs(engine, events=events)
        for _ in range(3):
            jobs.refresh()
        assert len(asked) == 1
        jobs.note_loaded()
        jobs.refresh()
        assert len(asked) == 2

    @pytest.mark.parametrize("ask", [ask_squeue, ask_sinfo])
    def test_a_command_that_fails(self, ask):
        with pytest.raises(UnreadableReport, match="failed"):
            ask("/nonexistent/command")
        with pytest.raises(UnreadableReport, match="failed"):
            ask("false")


class TestNodes:
    """What sinfo says of nodes, as events."""

    def test_a_node_goes_down_and_comes_back(self, engine):
        note_nodes(engine, nodes(), 1000 * S)
        assert troubles(engine) == []
        for at in (1060, 1120):
            note_nodes(engine, nodes(down="down", reason="Not responding", since=1050), at * S)
            assert troubles(engine) == [("node_down", "n1", 1050, None, "Not responding")]
        note_nodes(engine, nodes(), 1180 * S)
        assert troubles(engine) == [("node_down", "n1", 1050, 1180, "Not responding")]
        note_nodes(engine, nodes(), 1240 * S)
        assert troubles(engine) == [("node_down", "n1", 1050, 1180, "Not responding")]

    def test_newer_versions_have_lists_and_wrapped_numbers(self, engine):
        row = {"name": "n1", "state": ["DOWN", "DRAIN"], "reason_changed_at": {"set": True, "number": 50}}
        note_nodes(engine, json.dumps({"nodes": [row]}).encode(), 60 * S)
        assert troubles(engine) == [("node_down", "n1", 50, None, "")]

    @pytest.mark.parametrize("reason", ["new disks", {"description": "new disks", "time": {"set": True, "number": 50}}])
    def test_the_newest_have_groups_of_nodes(self, engine, reason):
        """As Slurm 24.11 answers: under another name, and a node once for each partition that it is in."""
        groups = [
            {"node": {"state": state}, "nodes": {"total": 2, "nodes": names}, "reason": why, "partition": {"name": p}}
            for p in ("cpu", "all")
            for state, names, why in (
                (["IDLE", "DRAIN"], ["n1"], reason),
                (["DOWN"], ["n[2-3]"], ""),
                (["IDLE"], ["n4"], ""),
            )
        ]
        report = note_nodes(engine, json.dumps({"errors": [], "sinfo": groups}).encode(), 60 * S)
        since = 60 if reason == "new disks" else 50
        assert sorted(troubles(engine)) == [
            ("maintenance", "n1", since, None, "new disks"),
            ("node_down", "n2", 60, None, ""),
            ("node_down", "n3", 60, None, ""),
        ]
        assert (report.nodes, report.refused) == (3, [])
        note_nodes(engine, json.dumps({"sinfo": [groups[2] | {"nodes": {"nodes": ["n[1-4]"]}}]}).encode(), 120 * S)
        assert [end for *_, end, _ in troubles(engine)] == [120] * 3

    @pytest.mark.parametrize("group", [3, {}, {"nodes": 3}, {"node": {"state": []}, "nodes": {"nodes": ["n[1-"]}}])
    def test_a_bad_group_keeps_no_other_out(self, engine, group):
        good = {"node": {"state": ["DOWN"]}, "nodes": {"nodes": ["n1"]}, "reason": ""}
        answer = json.dumps({"sinfo": [group, good]}).encode()
        assert len(note_nodes(engine, answer, 1000 * S).refused) == 1
        assert [node for _, node, *_ in troubles(engine)] == ["n1"]

    def test_one_that_is_drained_is_in_maintenance(self, engine):
        note_nodes(engine, nodes(flags=["DRAIN"], reason="new disks", since=10), 20 * S)
        note_nodes(engine, nodes(down="down", flags=["DRAIN"], reason="new disks", since=30), 40 * S)
        assert troubles(engine) == [
            ("maintenance", "n1", 10, 40, "new disks"),
            ("node_down", "n1", 30, None, "new disks"),
        ]

    def test_a_node_that_slurm_no_longer_knows_stays_as_it_was(self, engine):
        note_nodes(engine, nodes(down="down"), 1000 * S)
        note_nodes(engine, b'{"nodes": []}', 2000 * S)
        assert [end for *_, end, _ in troubles(engine)] == [None]

    def test_the_events_of_others_are_left_alone(self, engine):
        store_events(engine, [Event("", "node_down", "n1", 5, source="alice", note="by hand")])
        note_nodes(engine, nodes(), 1000 * S)
        note_nodes(engine, nodes(), 1000 * S, cluster="red")
        assert [(end, note) for *_, end, note in troubles(engine)] == [(None, "by hand")]

    def test_a_time_to_come_is_no_begin(self, engine):
        note_nodes(engine, nodes(down="down", since=9000), 1000 * S)
        assert [start for _, _, start, *_ in troubles(engine)] == [1000]

    @pytest.mark.parametrize(
        "answer", [b"", b"[]", b"{}", b'{"nodes": 3}', b"\xff", b'{"nodes": [], "errors": [{"error": "down"}]}']
    )
    def test_what_is_no_answer_changes_nothing(self, engine, answer):
        note_nodes(engine, nodes(down="down"), 1000 * S)
        with pytest.raises(UnreadableReport):
            note_nodes(engine, answer, 2000 * S)
        assert len(troubles(engine)) == 1

    @pytest.mark.parametrize("row", [3, {}, {"name": "../x", "state": "down"}, {"name": "n" * 99, "state": "down"}])
    def test_a_bad_row_keeps_no_other_out(self, engine, row):
        answer = json.loads(nodes(down="down"))
        answer["nodes"].insert(0, row)
        assert len(note_nodes(engine, json.dumps(answer).encode(), 1000 * S).refused) == 1
        assert [node for _, node, *_ in troubles(engine)] == ["n1"]

    def test_a_reason_is_printable_and_short(self, engine):
        note_nodes(engine, nodes(down="down", reason="a\nb\x1b" + "x" * 9999), 1000 * S)
        ((*_, note),) = troubles(engine)
        assert note.isprintable()
        assert len(note) == 1024


@pytest.mark.parametrize(
    ("step", "run"),
    [("", 0), ("0", 0), ("r1", 1), ("0-r1", 1), ("mpirun-77-r12", 12), ("7r1", 0), ("r0", 0), ("-r", 0)],
)
def test_run_of_step(step, run):
    assert run_of_step(step) == run
