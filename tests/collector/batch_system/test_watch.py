"""What the daemon asks of Slurm: which jobs are over, beside its looks and whatever fails."""

import errno
import logging
import threading
import time
from pathlib import Path

import pytest

from crosswind.collector.batch_system import (
    SlurmJobs,
    UnreadableReport,
    repair_from_queue,
    watch,
)
from crosswind.collector.batch_system.asking import ask_sinfo, ask_squeue
from support.slurm_words import S, event, nodes, queue, states, troubles


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
