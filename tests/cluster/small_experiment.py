"""An experiment on the simulated site, as small as it can be, and what the site itself is. `make test-cluster`.

The truth is what the programs say of themselves, and what lies on the file server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.site import NoSite, experiment_options, running_site, settings, start_site

from crosswind.profile import read_profile, summarize
from crosswind.tools.experiment.records import RunRecord, read_records
from support import cluster as cluster_support
from support import file_server
from support.cluster import Cluster, running_cluster, why_not

MBIT = 200
FILE = """
[experiment]
name = "small"
on = "slurm"
repetitions = 1

[programs.writer]
command = [
  "{load}/load-pattern", "--pattern", "write-seek", "--chunk", "1M", "--flush", "--seconds", "8", "--dir", "{scratch}",
]
measure = "rate"
nodelist = ["n1"]
seconds = 8

[programs.noise]
command = [
  "{load}/load-pattern", "--pattern", "write-seek", "--chunk", "1M", "--flush", "--seconds", "16", "--dir", "{scratch}",
]
measure = "rate"
nodes = 2
nodelist = ["n1", "n2"]
seconds = 16

[[pairs]]
probes = ["writer"]
signals = ["noise"]
lead_s = 1
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Cluster]:
    """A site of these tests' own."""
    reason = why_not() or file_server.why_not()
    if reason:
        pytest.skip(reason)
    with running_site(MBIT) as cluster:
        yield cluster
    assert not cluster.state.exists()
    assert not file_server.NAMESPACE.exists()


@pytest.fixture(scope="module")
def results(site: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the whole experiment."""
    directory = tmp_path_factory.mktemp("small")
    running = start(site, directory)
    output, errors = running.communicate(timeout=300)
    assert running.returncode == 0, output + errors
    return directory / "out"


def start(site: Cluster, directory: Path) -> subprocess.Popen:
    (directory / "small.toml").write_text(FILE)
    command = [sys.executable, "-m", "crosswind.tools", "experiment", "run", "small.toml", "-o", "out"]
    return subprocess.Popen(
        [*command, *experiment_options(site)], cwd=directory, env={**os.environ, **settings(site)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def of(records: list[RunRecord], probe: str, signal: str | None) -> RunRecord:
    (found,) = [r for r in records if (r.probe, r.signal, r.status) == (probe, signal, "done")]
    return found


def test_nodes_share_the_file_server_and_the_host_does_not_see_it(site):
    shared = file_server.mount(site)
    site.run("srun", "-w", "n1", "cp", "/etc/hostname", shared / "from-n1")
    assert site.run("srun", "-w", "n2", "cat", shared / "from-n1") == Path("/etc/hostname").read_text()
    assert (file_server.brick(site) / "from-n1").exists()
    assert list(shared.iterdir()) == []
    site.run("srun", "-w", "n1", "rm", shared / "from-n1")


def test_tests_refuse_to_start_a_cluster_beside_one_that_was_left_running(site, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_support, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(cluster_support, "STANDING", tmp_path / "standing")
    (tmp_path / "standing").write_text(f"{site.state}\n")
    with pytest.raises(AssertionError, match="end it with make cluster-down"), running_cluster():
        pass


def test_no_site_starts_while_tests_use_the_cluster(site):
    with pytest.raises(NoSite, match="tests are using the simulated cluster"):
        start_site()


def test_runs_are_profiled_measured_and_left_clean(site, results):
    records = read_records(results)
    alone, beside = of(records, "writer", None), of(records, "writer", "noise")
    for record in (alone, beside):
        folder = results / "runs" / record.key
        for program in record.programs:
            profile = read_profile(folder / program.profile)
            assert profile.job.id == program.job_id
            assert program.begin_ns <= program.report["start_ns"] <= program.report["end_ns"] <= program.end_ns
            # All that it says to have written went to the network file system, and was counted once.
            assert summarize(profile)["totals"]["posix_net_write_bytes"]["sum"] == program.report["total"]
        assert not list(folder.glob("*.spool"))
    noise = beside.of("signal")
    assert (noise.stopped, noise.report["ended"], noise.report["ranks"]) == (True, "stopped", 2)
    assert beside.of("probe").report["total"] < 0.7 * alone.of("probe").report["total"]  # three share the link
    assert list(site.spool_of("n1").glob("*.xws")) == []  # the plugin has profiled none of it a second time
    left = [path for path in file_server.brick(site).rglob("*") if path.is_file() and ".glusterfs" not in path.parts]
    assert left == []


def test_the_servers_agent_saw_what_the_programs_wrote(results):
    for record in read_records(results):
        assert record.outside.source == "servers fs1"
        assert 0.9 < record.outside.own_bytes / record.outside.server_bytes < 1.1, record.key


def test_what_is_interrupted_leaves_no_job(site, tmp_path):
    running = start(site, tmp_path)
    end = time.monotonic() + 60
    while not (jobs := site.run("squeue", "-h", "-t", "RUNNING")):
        assert time.monotonic() < end
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode != 0, errors
    assert site.run("squeue", "-h") == "", jobs
    assert not list((tmp_path / "out" / "runs").glob("*/record.json"))
    for node in ("n1", "n2"):
        assert site.run("srun", "-w", node, "sh", "-c", "ls /dev/shm | grep crosswind || true") == ""
    json.loads((tmp_path / "out" / "plan.json").read_text())
