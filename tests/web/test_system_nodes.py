"""Colours of the system's grid that agents tell: their numbers, what is bounded, and whose nodes when a user sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.collector.agent.metrics import BY_NAME
from crosswind.db import load_profile, open_database
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.db.schema import BLOCK
from crosswind.web import create_app, node_grid
from crosswind.web.grid_metrics import METRICS, JobMetric, NodeMetric
from support.profiles import FIRST_SLICE, SLICE_NS, make_profile
from support.system_grid import START_MS, picture
from support.viewers import client_of, proxied_app

N = 20
WHEN = f"from={START_MS}&to={START_MS + N * 4000}"
PEAK = 13  # the slice in which n2 waited


def told(node: str, cluster_first: int = FIRST_SLICE, n: int = N, slice_ns: int = SLICE_NS) -> NodeSlices:
    """n2 waits 2 s of slice PEAK, all others 1 s of each; half of the memory is in use; frequency dips there."""
    rows = {}
    for i in range(n):
        at_peak = node == "n2" and i == PEAK
        rows[cluster_first + i] = {
            ("psi_io_some", ""): 2_000_000_000 if at_peak else 1_000_000_000,
            ("mem_total", ""): 64 << 30,
            ("mem_available", ""): 32 << 30,
            ("cpu_frequency", ""): 1_200_000_000 if at_peak else 3_000_000_000,
            ("net_rx_bytes", "eth0"): 4_000_000,
            ("net_tx_bytes", "eth1"): 8_000_000,
            ("nfs_wait", "srv"): 30_000_000,
            ("nfs_queue_time", "srv"): 10_000_000,
            ("nfs_calls", "srv"): 0 if i == 3 else 10,
        }
    metrics = {name for row in rows.values() for name, _ in row}
    return NodeSlices(node, "", slice_ns, {name: BY_NAME[name] for name in metrics}, rows)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> str:
    """alice on n1 and n2 in slices 2 to 11, bob on n2 in slices 5 to 8 and on n3; agents on all, and on the server."""
    url = f"sqlite:///{tmp_path_factory.mktemp('nodes')}/nodes.db"
    engine = open_database(url)
    for number, (user, hosts, at, n) in enumerate((("alice", ("n1", "n2"), 2, 10), ("bob", ("n2", "n3"), 5, 4)), 1):
        profile = make_profile(
            job_id=str(number), user=user, uid=number, hosts=hosts, n_slices=n, first_slice=FIRST_SLICE + at, factor={}
        )
        load_profile(engine, profile)
    for node in ("n1", "n2", "n3", "n4"):
        load_node_slices(engine, told(node))
    load_node_slices(engine, told("n1"), cluster="elsewhere")
    load_node_slices(engine, NodeSlices("oss1", "fs:net", SLICE_NS, told("n1").columns, told("n1").rows))
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def staff(town: str) -> FlaskClient:
    return create_app(town).test_client()


def test_each_metric_is_one_that_agents_know() -> None:
    for name, metric in METRICS.items():
        assert isinstance(metric, NodeMetric) == name.startswith("node_")
        if isinstance(metric, NodeMetric):
            kinds = {BY_NAME[one].kind for one in metric.read}
            assert kinds == ({"gauge"} if metric.gauge else {"counter"}), name
        else:
            assert isinstance(metric, JobMetric)


def test_cells_hold_what_agents_saw(staff: FlaskClient) -> None:
    answer, values = picture(staff, f"{WHEN}&metric=node_wait_io")
    assert answer["rows"] == ["n1", "n2", "n3", "n4"], "nodes, and no servers"
    assert (answer["columns"], answer["metric"]["unit"], answer["metric"]["top"]) == (N, "%", 100)
    expected = np.full((4, N), 25.0)
    expected[1, PEAK] = 50
    assert values == pytest.approx(expected, abs=0.2)
    _, values = picture(staff, f"{WHEN}&metric=node_memory")
    assert values == pytest.approx(50, abs=0.2)
    answer, values = picture(staff, f"{WHEN}&metric=node_network")
    assert values[2, 0] == pytest.approx(12e6 / 4 / 2**20, rel=0.01)
    assert "all devices" in answer["metric"]["how"]
    answer, values = picture(staff, f"{WHEN}&metric=node_nfs_wait")
    assert answer["metric"]["unit"] == "ms"
    assert values[0, 0] == pytest.approx(4, rel=0.01)
    assert np.isnan(values[:, 3]).all(), "of no request there is no mean"


def test_decimation_keeps_peaks_and_dips(tmp_path: Path) -> None:
    """2500 slices in 480 columns keep a peak and a dip of one slice, and never add two blocks up in a column."""
    url = f"sqlite:///{tmp_path}/long.db"
    engine = open_database(url)
    n = 2 * BLOCK + 400
    load_profile(engine, make_profile(hosts=("n2",), n_slices=n, rates={"cpu_time": 900_000_000}, factor={}))
    load_node_slices(engine, told("n2", n=n))
    engine.dispose()
    client = create_app(url).test_client()
    when = f"from={START_MS}&to={START_MS + n * 4000}"
    _, waits = picture(client, f"{when}&metric=node_wait_io")
    assert waits.shape == (1, 480)
    column = PEAK * 480 // n
    assert (waits[0, column], np.median(waits)) == pytest.approx((50, 25), abs=0.2)
    answer, frequency = picture(client, f"{when}&metric=node_frequency")
    assert answer["metric"]["unit"] == "GHz"
    assert (frequency[0, column], np.median(frequency)) == pytest.approx((1.2, 3.0), abs=0.02)
    _, processors = picture(client, f"{when}&metric=cpu")
    assert processors == pytest.approx(np.median(processors), rel=0.02), "no column holds two blocks' worth"


def test_a_user_sees_own_nodes_while_own_jobs_ran_and_enough_others(town: str) -> None:
    """alice: slices 2 to 11; on n2 bob alone was beside her in 5 to 8, so what is not hers was his."""
    answer, values = picture(client_of(proxied_app(town), "alice"), f"{WHEN}&metric=node_wait_io")
    assert answer["rows"] == ["n1", "n2"]
    shown = ~np.isnan(values)
    assert np.flatnonzero(shown[0]).tolist() == list(range(2, 12))
    assert np.flatnonzero(shown[1]).tolist() == [2, 3, 4, 9, 10, 11]
    assert any("at least 3" in note for note in answer["notes"])
    assert any("while your jobs were on them" in note for note in answer["notes"])
    assert (~np.isnan(picture(client_of(proxied_app(town), "sam"), f"{WHEN}&metric=node_wait_io")[1])).all()


def test_an_agent_of_another_cluster_tells_a_user_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/clusters.db"
    engine = open_database(url)
    load_profile(engine, make_profile(user="alice", hosts=("n1",), n_slices=10, factor={}))
    load_node_slices(engine, told("n1"), cluster="elsewhere")
    engine.dispose()
    answer, values = picture(client_of(proxied_app(url), "alice"), f"{WHEN}&metric=node_wait_io")
    assert np.isnan(values).all()
    assert any("No agent watched" in note for note in answer["notes"])


def test_too_many_nodes_are_sampled_and_told(staff: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_grid, "MOST_VALUES", 2 * N)
    answer, values = picture(staff, f"{WHEN}&metric=node_wait_io")
    assert (~np.isnan(values)).all(axis=1).sum() == 2
    assert any("2 of 5 watched nodes" in note for note in answer["notes"])


def test_slices_of_agents_may_be_longer_or_shorter(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/mixed.db"
    engine = open_database(url)
    load_profile(engine, make_profile(hosts=("n1", "n3"), n_slices=10, factor={}))
    load_node_slices(engine, told("n1", FIRST_SLICE * 4, 4 * N, SLICE_NS // 4))
    load_node_slices(engine, told("n3", FIRST_SLICE // 2, N // 2, SLICE_NS * 2))
    engine.dispose()
    _, values = picture(create_app(url).test_client(), f"{WHEN}&metric=node_network")
    mega = 12e6 / 2**20
    assert values[0] == pytest.approx(mega, rel=0.01), "12 MB in each second"
    assert values[1] == pytest.approx(mega / 8, rel=0.01)
