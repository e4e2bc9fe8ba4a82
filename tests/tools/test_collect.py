"""`crosswind collect`: files and spool directories into a database, once and in a loop."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from crosswind.analysis import DEFAULT_METHOD
from crosswind.collector import daemon as daemon_module
from crosswind.collector import log
from crosswind.collector.follow import Quota
from crosswind.collector.settings import Settings
from crosswind.db import queries, schema
from crosswind.db.connection import open_database, reading, writing
from crosswind.db.details import get_lost_time
from crosswind.profile import write_profile
from crosswind.tools.collect import collect_command
from support.profiles import make_writer


def jobs(tmp_path) -> list:
    with open_database(f"sqlite:///{tmp_path}/x.db", create=False).connect() as connection:
        return queries.list_jobs(connection)[0]


def test_profiles_with_their_estimates(crosswind, profile_file, tmp_path):
    write_profile(make_writer(), tmp_path / "w.xwp")
    result = crosswind("collect", profile_file, "w.xwp", "--db", "sqlite:///x.db")
    assert result.returncode == 0, result.stderr
    found = {job.job_id: job for job in jobs(tmp_path)}
    assert set(found) == {"1001", "1002"}
    assert found["1001"].estimate["method"] == DEFAULT_METHOD
    assert found["1002"].estimate is None, "no segments: nothing to estimate from"


def test_a_database_may_have_several_clusters(crosswind, profile_file, tmp_path):
    for name in ("red", "blue", "red"):
        result = crosswind("collect", profile_file, "--db", "sqlite:///x.db", "--cluster", name)
        assert result.returncode == 0, result.stderr
    assert sorted((job.cluster, job.job_id) for job in jobs(tmp_path)) == [("blue", "1001"), ("red", "1001")]
    wrong = crosswind("collect", profile_file, "--db", "sqlite:///x.db", "--cluster", "re d")
    assert (wrong.returncode, "letters, digits" in wrong.stderr) == (2, True)


def test_the_same_file_twice_changes_nothing(crosswind, profile_file, tmp_path):
    for loaded in (True, False):
        result = crosswind("collect", profile_file, "--db", "sqlite:///x.db", "--json")
        assert json.loads(result.stdout)["loaded"] is loaded
    assert len(jobs(tmp_path)) == 1


def test_estimates_are_made_again(crosswind, profile_file, tmp_path):
    database = "sqlite:///x.db"
    crosswind("collect", profile_file, "--db", database)
    with writing(open_database(f"sqlite:///{tmp_path}/x.db")) as conn:
        conn.execute(schema.lost_time.delete())
        conn.execute(schema.job.update().values(estimate=None))
    result = crosswind("collect", "--estimate-again", "--db", database)
    assert (result.returncode, result.stderr) == (0, "")
    (job,) = jobs(tmp_path)
    assert job.estimate["method"] == DEFAULT_METHOD
    with reading(open_database(f"sqlite:///{tmp_path}/x.db")) as conn:
        assert get_lost_time(conn, job.key) is not None


def test_a_bad_file_keeps_no_other_out(crosswind, profile_file, tmp_path):
    (tmp_path / "bad.xwp").write_bytes(profile_file.read_bytes()[:200])
    result = crosswind("collect", "bad.xwp", profile_file, "--db", "sqlite:///x.db")
    assert result.returncode == 1
    assert result.stderr.startswith("crosswind collect: bad.xwp: ")
    assert result.stderr.count("\n") == 1
    assert [job.job_id for job in jobs(tmp_path)] == ["1001"]


def test_a_database_that_cannot_be_opened(crosswind, profile_file, tmp_path):
    result = crosswind("collect", profile_file, "--db", f"sqlite:///{tmp_path}/nowhere/x.db")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def spooled(environment, tmp_path, built, job_id):
    """A real process whose spool file is left in spool/."""
    spool = tmp_path / "spool"
    spool.mkdir(exist_ok=True)
    extra = {
        "LD_PRELOAD": str(built),
        "CROSSWIND_SPOOL": str(spool),
        "CROSSWIND_JOB_ID": job_id,
        "CROSSWIND_HELPER_AFTER": "0",
    }
    subprocess.run(["ls", "/"], env={**environment, **extra}, capture_output=True, check=True)
    return spool


def test_what_a_site_chooses_reaches_the_daemon(tmp_path, monkeypatch):
    chosen = []

    class Recorder:
        def __init__(self, _spools, _engine, *, settings, **_others):
            chosen.append(settings)
            self.counts = None

        def run(self):
            """It is enough to know the settings."""

    monkeypatch.setattr(daemon_module, "Daemon", Recorder)
    monkeypatch.setattr(log, "log_to", lambda _stream: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    words = ["--spool", str(tmp_path), "--db", f"sqlite:///{tmp_path}/x.db", "--memory", "0"]
    assert CliRunner().invoke(collect_command, words).exit_code == 0
    words += ["--interval", "3", "--look-budget", "4", "--refresh-share", "0.5", "--listing-share", "0.2", "--delete"]
    words += ["--user-files", "50", "--user-new-files", "5", "--lost-after", "60", "--cluster", "red"]
    assert CliRunner().invoke(collect_command, words).exit_code == 0
    assert chosen == [
        Settings(),
        Settings(
            interval_s=3.0, budget_s=4.0, live_share=0.5, scan_share=0.2, delete=True, quota=Quota(50, 5),
            lost_after_s=60.0, cluster="red",
        ),
    ], "without options they are those of Settings"  # fmt: skip


def test_a_spool_directory_once(crosswind, environment, tmp_path, built):
    spool = spooled(environment, tmp_path, built, "spooled")
    result = crosswind("collect", "--spool", spool, "--db", "sqlite:///x.db", "--once", "--delete")
    assert result.returncode == 0, result.stderr
    assert [job.job_id for job in jobs(tmp_path)] == ["spooled"]
    assert not list(spool.glob("**/*.xw?"))


@contextmanager
def daemon(environment, tmp_path, *arguments):
    """`crosswind collect` on spool/ as a daemon; its log is process.stderr."""
    command = [sys.executable, "-m", "crosswind.tools", "collect", "--spool", "spool", "--db", "sqlite:///x.db"]
    process = subprocess.Popen(
        [*command, "--interval", "0.2", *arguments], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(process, words):
    """The next line of the log that has the words."""
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"the daemon ended without a word of {words}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_daemon_sees_new_files_and_ends_cleanly(environment, tmp_path, built, number):
    spooled(environment, tmp_path, built, "first")
    with daemon(environment, tmp_path) as process:
        loaded = line_with(process, "event=loaded")
        assert re.fullmatch(
            r"time=\S+Z level=info event=loaded kind=finished job=first step=\S+ user=\S+ changed=True "
            r"processes=1 slices=\d+ lag_s=\S+\n",
            loaded,
        )
        spooled(environment, tmp_path, built, "second")
        assert "job=second" in line_with(process, "event=loaded")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert process.poll() is None, "SIGHUP is nothing to it"
        process.send_signal(number)
        begin = time.monotonic()
        assert process.wait(timeout=30) == 0
        assert time.monotonic() - begin < 10
        assert "event=stopped" in process.stderr.read()
    assert {job.job_id for job in jobs(tmp_path)} == {"first", "second"}
    assert not list((tmp_path / "spool" / "claims").iterdir())


def test_the_daemon_shows_its_metrics_on_loopback(environment, tmp_path, built):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    spool = spooled(environment, tmp_path, built, "first")
    (spool / "a.0.1.1.xws").write_bytes(b"no spool file at all" * 1000)
    with daemon(environment, tmp_path, "--metrics-port", str(port)) as process:
        line_with(process, "event=loaded")
        time.sleep(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            shown = answer.read().decode()
    values = dict(line.rsplit(" ", 1) for line in shown.splitlines() if not line.startswith("#"))
    assert float(values['crosswind_collector_loaded_steps_total{kind="finished"}']) == 1
    assert float(values['crosswind_collector_refused_files_total{reason="unreadable"}']) == 1
    assert float(values["crosswind_collector_looks_total"]) >= 2
    assert float(values['crosswind_collector_look_duration_seconds_bucket{le="+Inf"}']) >= 2
    assert float(values["crosswind_collector_followed_files"]) == 0


def test_a_metrics_port_that_is_taken(crosswind, tmp_path):
    (tmp_path / "spool").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = crosswind("collect", "--spool", "spool", "--db", "sqlite:///x.db", "--metrics-port", port)
    assert result.returncode == 1
    assert "choose another port" in result.stderr


def test_json_is_no_log(crosswind, tmp_path):
    (tmp_path / "spool").mkdir()
    result = crosswind("collect", "--spool", "spool", "--db", "sqlite:///x.db", "--json")
    assert result.returncode == 2
    assert "--once" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["--once"]])
def test_nothing_to_collect_is_wrong_usage(crosswind, arguments):
    result = crosswind("collect", "--db", "sqlite:///x.db", *arguments)
    assert result.returncode == 2
    assert "--spool" in result.stderr
