"""What Slurm says of jobs: its words as BatchJob, hostile ones too."""

import pytest

from crosswind.collector.batch_system import (
    UnreadableReport,
)
from crosswind.collector.batch_system.hostlist import MAX_HOSTS, expand
from crosswind.collector.batch_system.slurm import parse_event, parse_queue
from crosswind.db import BatchJob
from support.slurm_words import S, event, queue


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
