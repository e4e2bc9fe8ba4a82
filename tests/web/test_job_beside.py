"""What stands beside a job: its nodes' agents, how much of the machine was profiled, and what a viewer may not see."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from flask import Flask, g
from flask.testing import FlaskClient

from crosswind.analysis.series_bands import summarize
from crosswind.db import BatchJob, load_profile, open_database, queries, reading
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.profile.model import Column
from crosswind.web import create_app
from crosswind.web.identity import Role, Viewer
from crosswind.web.jobdata import read_background
from crosswind.web.pages.job.coverage import node_seconds
from crosswind.web.pages.job.footprint import LEVELS, RULES, level_of
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_writer
from support.viewers import client_of, proxied_app

START_NS, N_SLICES = FIRST_SLICE * SLICE_NS, 15
GIB = 1 << 30
# Per slice: 16 processors, of which 4 are busy; one GiB written to a disk in slices 6 to 8.
NODE = {
    "cpu_user": (Column(5000, "cpu_user", "ns", "counter"), "", 4 * SLICE_NS),
    "cpu_idle": (Column(5003, "cpu_idle", "ns", "counter"), "", 12 * SLICE_NS),
    "mem_total": (Column(5040, "mem_total", "B", "gauge"), "", 2 * GIB),
    "mem_available": (Column(5041, "mem_available", "B", "gauge"), "", GIB),
    "disk_write_bytes": (Column(5221, "disk_write_bytes", "B", "counter"), "sda", 0),
}


def node_slices(name: str) -> NodeSlices:
    rows = {}
    for j in range(N_SLICES):
        values = {(metric, instance): value for metric, (_, instance, value) in NODE.items()}
        values["disk_write_bytes", "sda"] = GIB if 6 <= j <= 8 else 0
        rows[FIRST_SLICE + j] = values
    return NodeSlices(name, "", SLICE_NS, {metric: column for metric, (column, _, _) in NODE.items()}, rows)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A site: alice's job 1001 on node01 beside bob's writer, an unprofiled job of 3 nodes for the first half, agents
    on node01; the batch system knows all of them.
    """
    url = f"sqlite:///{tmp_path_factory.mktemp('beside')}/c.db"
    engine = open_database(url)
    for profile in (make_lammps(), make_writer()):
        load_profile(engine, profile)
    load_node_slices(engine, node_slices("node01"))
    end_ns = START_NS + N_SLICES * SLICE_NS
    store_batch_jobs(
        engine,
        [
            BatchJob("1001", "COMPLETED", 1000, run=0, start_ns=START_NS, end_ns=end_ns, hosts=("node01",), cpus=4,
                     partition="batch", account="chem", name="<b>melt</b>"),
            BatchJob("1002", "COMPLETED", 1001, run=0, start_ns=START_NS, end_ns=end_ns, hosts=("node01",)),
            BatchJob("77", "COMPLETED", 1002, run=0, start_ns=START_NS, end_ns=START_NS + 6 * SLICE_NS,
                     hosts=("node05", "node06", "node07")),
        ],
    )  # fmt: skip
    link_steps(engine)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def client(beside: str) -> FlaskClient:
    return create_app(beside).test_client()


def line(figure: dict, plot: str, series: str) -> list[float | None]:
    (found,) = [t for t in figure["data"] if (t["meta"]["plot"], t["meta"]["series"]) == (plot, series)
                and t["meta"]["part"] == "line"]  # fmt: skip
    return found["y"]


def test_the_nodes_are_drawn_as_their_agents_saw_them(client: FlaskClient) -> None:
    figure = client.get("/jobs/1/figure.json?stack=nodes").json
    assert [plot["title"] for plot in figure["plots"]] == ["Processors", "Memory", "Disks"]
    assert line(figure, "node_cpu", "busy") == [25.0] * N_SLICES
    assert line(figure, "node_memory", "used") == [1.0] * N_SLICES
    written = line(figure, "node_disk", "disk_write")
    assert written == pytest.approx([256.0 if 6 <= j <= 8 else 0 for j in range(N_SLICES)])
    document = client.get("/jobs/1/plot.json?stack=nodes&plot=node_disk").json
    assert document["columns"]["disk_write"][7] == pytest.approx(GIB / 4)


def test_coverage_counts_nodes_of_jobs_without_a_profile(client: FlaskClient) -> None:
    figure = client.get("/jobs/1/figure.json").json
    assert line(figure, "coverage", "profiled") == pytest.approx([40.0] * 6 + [100.0] * 9)
    text = client.get("/jobs/1?tab=quality").text
    assert "0.0333 of 0.0533 node-hours" in text
    assert "(62 %)" in text


def test_node_seconds_against_a_sum_by_hand() -> None:
    random = np.random.default_rng(3)
    begin = random.integers(0, 900, 40)
    end, nodes = begin + random.integers(0, 300, 40), random.integers(1, 9, 40)
    edges = np.arange(100, 801, 50)
    second = 1_000_000_000
    origin = 1_760_000_000 * second
    found = node_seconds(edges * second + origin, begin * second + origin, end * second + origin, nodes)
    by_hand = [
        sum(n * max(0, min(e, b) - max(s, a)) for s, e, n in zip(begin, end, nodes, strict=True))
        for a, b in pairwise(edges)
    ]
    assert found == pytest.approx(by_hand)


def test_what_the_batch_system_and_the_agents_know_is_in_the_footprint(client: FlaskClient) -> None:
    text = client.get("/jobs/1").text
    assert "1.98 in use on average of 4" in text  # processors: poor below half
    assert 'class="bar-poor" data-bar="cpu"' in text
    assert "&lt;b&gt;melt&lt;/b&gt;" in text
    assert "0.586 GiB" in text  # two processes of 300 MiB in a node of 2 GiB


@pytest.mark.parametrize("rule", RULES.values(), ids=str)
def test_levels_turn_at_their_thresholds(rule) -> None:
    sign = -1 if rule.more_is_better else 1
    assert level_of(rule, rule.look - sign * 1e-6) == "fine"
    assert level_of(rule, rule.look + sign * 1e-6) == "look"
    assert level_of(rule, rule.poor + sign * 1e-6) == "poor"
    assert level_of(rule, None) == "unknown"
    assert len({icon for icon, _ in LEVELS.values()}) == len({word for _, word in LEVELS.values()}) == len(LEVELS)


def test_a_user_sees_grey_where_too_few_others_ran(beside: str) -> None:
    alice = client_of(proxied_app(beside), "alice")
    figure = alice.get("/jobs/1/figure.json").json
    assert not [plot for plot in figure["plots"] if plot["group"] == "background"]
    assert any("at least 3" in note and "local disk of node01" in note for note in figure["notes"])
    assert not any("No other profiled job" in note for note in figure["notes"])
    nodes = alice.get("/jobs/1/figure.json?stack=nodes").json
    assert nodes["plots"] == []  # bob alone is beside alice: what is not hers would be his
    quality = alice.get("/jobs/1?tab=quality").text
    assert "node-hours that the batch" not in quality
    assert alice.get("/jobs/2/figure.json").status_code == 404
    assert "bob" not in alice.get("/jobs/1").text


def test_several_jobs_of_ones_own_are_no_crowd(beside: str, tmp_path: Path) -> None:
    """Beside alice's jobs and bob's one the nodes in use are told to staff only: those that are not hers are his."""
    copy = tmp_path / "own.db"
    copy.write_bytes(Path(beside.removeprefix("sqlite:///")).read_bytes())
    engine = open_database(f"sqlite:///{copy}")
    end_ns = START_NS + N_SLICES * SLICE_NS
    more = [
        BatchJob(f"9{n}", "COMPLETED", 1000, user="alice", start_ns=START_NS, end_ns=end_ns, hosts=("node09",))
        for n in range(3)
    ]
    store_batch_jobs(engine, more)
    engine.dispose()
    told = "node-hours that the batch"
    app = proxied_app(f"sqlite:///{copy}")
    assert told not in client_of(app, "alice").get("/jobs/1?tab=quality").text
    assert told in client_of(app, "sam").get("/jobs/1?tab=quality").text


def test_a_resource_is_shared_only_with_who_used_it_at_that_time(beside: str) -> None:
    engine = open_database(beside)
    later = load_profile(engine, make_writer(job_id="9", first_slice=FIRST_SLICE + N_SLICES)).job_key
    with reading(engine) as conn:
        jobs = {key: queries.get_job(conn, key) for key in (1, 2, later)}
        assert queries.shared_names(conn, jobs[1], ["fs:disk@node01", "fs:disk@node05"]) == {"fs:disk@node01"}
        assert queries.shared_names(conn, jobs[2], ["fs:disk@node01", "fs:disk@node05"]) == {"fs:disk@node01"}
        assert not queries.shared_names(conn, jobs[1], ["fs:disk@node05"])
        assert not queries.shared_names(conn, jobs[later], ["fs:disk@node01", "cpu@node01"])
    engine.dispose()


def test_of_a_wide_job_only_shared_nodes_are_read_and_nothing_is_missed(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path}/wide.db")
    hosts = [f"node{i:02d}" for i in range(8)]
    wide = load_profile(engine, make_lammps(hosts=hosts, n_ranks=16), summarize=summarize).job_key
    load_profile(engine, make_writer(hosts=hosts[2:3]))
    with Flask("staff").app_context(), reading(engine) as conn:
        g.viewer = Viewer("helen", Role.SUPPORT)
        job = queries.get_job(conn, wide)
        for found in read_background(conn, job):
            span = (job.first_slice, job.n_slices, job.slice_ns)
            whole = queries.get_background_sum(conn, found.names, found.total, *span)
            for metric, values in found.total.items():
                np.testing.assert_array_equal(values, whole[metric], found.kind)
            if found.kind == "fs:disk":
                assert len(found.names) == len(hosts)
                assert any(np.any(found.total[name] > found.own[name]) for name in found.total)
    engine.dispose()
