"""`crosswind agent`, `receive`, `servers`: from a node's /proc over a transport into the database, as a user has it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from crosswind.collector import log
from crosswind.collector.agent.nodefile import NodeWriter
from crosswind.collector.agent.sample import Slice
from crosswind.db import load_profile, node_queries, reading
from crosswind.db.connection import open_database
from crosswind.db.schema import GAP
from crosswind.tools import agent
from support.profiles import WRITER_RATES, make_writer


@pytest.fixture
def folders(tmp_path):
    for name in ("spool", "shared", "arrived"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def start(folders, environment):
    """Start a verb that runs until it is told to end; all are gone at the end."""
    running = []

    def begin(*arguments):
        command = [sys.executable, "-m", "crosswind.tools", *arguments]
        running.append(
            subprocess.Popen(command, cwd=folders, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        )
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def stopped(process):
    """End it as a service manager does; its log."""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return err.decode()


def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def nodes_in(folders):
    with reading(open_database(f"sqlite:///{folders}/x.db")) as conn:
        return node_queries.list_nodes(conn)


def test_one_slice_as_json(crosswind, folders):
    result = crosswind("agent", "--spool", "spool", "--slice", "500ms", "--once", "--json", "--node", "n7")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    cpu = {v["metric"]: v["value"] for v in document["values"] if v["metric"].startswith("cpu_") and v["unit"] == "ns"}
    assert (document["node"], document["slice_s"]) == ("n7", 0.5)
    assert sum(cpu.values()) == pytest.approx(os.cpu_count() * 5e8, rel=0.3), "the time of all processors"
    assert list((folders / "spool").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--server", "warp"], "no shared resource is named"),
        (["--sources", "cpu,warp"], "there is no source warp"),
        (["--db", "sqlite:///x.db", "--ship", "shared"], "exclude each other"),
        (["--node", "../n1"], "letters, digits"),
        (["--node", "n1..local"], "letters, digits"),
        (["--node", "n" * 65], "letters, digits"),
        (["--node", ""], "this host has no name"),
        (["--cluster", "a/b"], "letters, digits"),
        (["--ship", "shared", "--outbox-size", "0"], "outbox-size"),
    ],
)
def test_wrong_usage(crosswind, folders, options, said):
    result = crosswind("agent", "--spool", "spool", *options)
    assert result.returncode == 2
    assert said in result.stderr


def test_work_that_fails_is_logged_and_done_again(monkeypatch):
    lines, done = [], []

    def work():
        done.append(len(done))
        if len(done) == 3:
            last.set()
        raise RuntimeError("a bug")

    monkeypatch.setattr(log, "log_event", lambda level, event, **fields: lines.append((event, fields["reason"])))
    last = threading.Event()
    agent._repeat(work, 0.001, last)
    assert done == [0, 1, 2, 3], "once more at the end"
    assert lines == [("failed", "RuntimeError('a bug')")] * 4


def test_the_agents_cluster_is_that_of_its_node(crosswind, folders, start):
    running = start("agent", "--spool", "spool", "--slice", "100ms", "--node", "n7", "--sources", "cpu",
                    "--cluster", "red", "--db", "sqlite:///x.db", "--interval", "0.5")  # fmt: skip
    wait_for(lambda: list((folders / "spool").glob("*.xwn")))
    stopped(running)
    assert [(node.name, node.cluster) for node in nodes_in(folders)] == [("n7", "red")]


def test_nowhere_to_ship_to(crosswind, folders):
    result = crosswind("agent", "--spool", "spool", "--ship", "nowhere")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "make it" in result.stderr


def test_the_collector_loads_what_the_agent_wrote(crosswind, folders, start):
    agent = start("agent", "--spool", "spool", "--slice", "200ms", "--node", "n7", "--sources", "cpu")
    wait_for(lambda: sum(f.stat().st_size for f in (folders / "spool").iterdir()) > 2000)
    assert stopped(agent) == ""
    result = crosswind("collect", "--spool", "spool", "--db", "sqlite:///x.db", "--once", "--json")
    assert json.loads(result.stdout)["node_slices"] >= 3
    assert [node.name for node in nodes_in(folders)] == ["n7"]
    assert not list((folders / "spool").glob("*.xwn"))


def test_shipped_over_a_shared_directory(crosswind, folders, start):
    ship = ("--ship", "shared", "--interval", "0.5")
    agent = start("agent", "--spool", "spool", "--slice", "100ms", "--node", "n7", "--sources", "cpu", *ship)
    receiver = start("receive", "--from", "shared", "--spool", "arrived", "--interval", "0.2")
    wait_for(lambda: list((folders / "arrived").glob("*.xwn")))
    assert "event=shipped" in stopped(agent)
    wait_for(lambda: not list((folders / "shared").iterdir()))
    assert "event=delivered" in stopped(receiver)
    crosswind("collect", "--spool", "arrived", "--db", "sqlite:///x.db", "--once")
    (node,) = nodes_in(folders)
    with reading(open_database(f"sqlite:///{folders}/x.db")) as conn:
        n = (node.last_ns - node.first_ns) // 10**8
        series = node_queries.get_node_series(conn, node.key, ["cpu_idle"], node.first_ns // 10**8, n, 10**8)
    assert n >= 15
    assert np.count_nonzero(series["cpu_idle", ""] != GAP) >= 0.5 * n, "the rest of a busy machine's slices came late"


def test_the_agent_loads_by_itself(folders, start):
    db = ("--db", "sqlite:///x.db", "--interval", "0.5")
    agent = start("agent", "--spool", "spool", "--slice", "100ms", "--node", "n7", "--server", "fs:net", *db)
    wait_for(lambda: list((folders / "spool").glob("*.xwn")))
    assert "event=nodes_loaded" in stopped(agent)
    assert [(node.name, node.serves) for node in nodes_in(folders)] == [("n7", "fs:net")]


class TestServers:
    """A server that moved twice what the one job wrote, and was not seen for a while."""

    @pytest.fixture
    def job(self, folders):
        profile = make_writer(rates={name.replace("_disk_", "_net_"): rate for name, rate in WRITER_RATES.items()})
        engine = open_database(f"sqlite:///{folders}/x.db")
        load_profile(engine, profile)
        engine.dispose()
        wrote = sum(v.sum(axis=0) for m, v in profile.slices.items() if m.endswith("net_write_bytes"))
        header = {"node": "oss1", "slice_ns": profile.slice_ns, "serves": "fs:net"}
        writer = NodeWriter(folders / "spool" / "a.xwn", header)
        for i, value in enumerate(wrote.tolist()):
            if i != 5:
                values = {("ost_write_bytes", "OST0"): 2 * value, ("ost_read_bytes", "OST0"): 0}
                writer.append(Slice(profile.first_slice + i, 0, 1, values))
        writer.close()
        return profile, wrote

    def test_the_share_that_the_job_explains(self, crosswind, folders, job):
        profile, wrote = job
        crosswind("collect", "--spool", "spool", "--db", "sqlite:///x.db", "--once")
        arguments = ("servers", "--job", profile.job.id, "--db", "sqlite:///x.db", "--window", "1")
        result = crosswind(*arguments, "--json")
        assert result.returncode == 0, result.stderr
        document = json.loads(result.stdout)["write"]
        assert document["total_share"] == pytest.approx(0.5)
        assert document["server_bytes"][5] is None
        assert document["share"][5] is None
        n = profile.n_slices
        assert document["jobs_bytes"][:n] == wrote.tolist()
        assert document["evidence"] == {"oss1": "lustre"}
        assert "write: 50 % explained" in crosswind(*arguments).stdout

    def test_no_server_was_watched(self, crosswind, job):
        profile, _ = job
        result = crosswind("servers", "--job", profile.job.id, "--db", "sqlite:///x.db")
        assert (result.returncode, result.stderr.count("\n")) == (1, 1)
        assert "run crosswind agent --server fs:net" in result.stderr

    @pytest.mark.parametrize("options", [["--job", "nope"], ["--resource", "warp"]])
    def test_what_is_not_there(self, crosswind, job, options):
        result = crosswind("servers", *options, "--db", "sqlite:///x.db")
        assert (result.returncode, result.stderr.count("\n")) == (1, 1)
