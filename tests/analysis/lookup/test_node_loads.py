"""What nodes and servers tell, as suspects: the worst node, the sum of the servers, gaps, and times per request."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.lookup import NODE_LOADS, SERVER_LOADS, Role, node_metrics, node_suspects
from crosswind.collector.agent.metrics import BY_NAME

N = np.nan


def told(table, *nodes):
    series = [{name: np.array(values, dtype=float) for name, values in node.items()} for node in nodes]
    return {s.key.title: s for s in node_suspects(table, "x", series)}


def test_every_metric_exists_and_means_what_the_table_says() -> None:
    for load in (*NODE_LOADS, *SERVER_LOADS):
        for metric in (*load.metrics, load.per):
            assert not metric or metric in BY_NAME, metric
        assert all((BY_NAME[m].kind == "gauge") == load.gauge for m in load.metrics)
        if load.unit in ("share", "processors", "ns"):
            assert {BY_NAME[m].unit for m in load.metrics} == {"ns"}, load.title
    assert node_metrics(SERVER_LOADS) <= BY_NAME.keys()


def test_a_sign_is_that_of_the_worst_node() -> None:
    found = told(NODE_LOADS, {"psi_io_some": [1, 5, N, N]}, {"psi_io_some": [2, 0, 4, N]}, {})
    (sign,) = found.values()
    assert sign.role is Role.SIGN
    np.testing.assert_array_equal(sign.load, [2, 5, 4, N])


def test_traffic_is_the_sum_of_the_servers_and_unknown_where_one_is() -> None:
    found = told(SERVER_LOADS, {"ost_write_bytes": [1, 5, N]}, {"ost_write_bytes": [2, 0, 4]}, {"mdt_calls": [7, 7, 8]})
    assert found["bytes written by clients"].role is Role.SUM
    np.testing.assert_array_equal(found["bytes written by clients"].load, [3, 5, N])
    np.testing.assert_array_equal(found["metadata operations of clients"].load, [7, 7, 8])


def test_waiting_is_per_request_and_low_frequency_is_trouble() -> None:
    found = told(
        NODE_LOADS,
        {"lustre_ost_wait": [6, 12, 0, N], "lustre_ost_requests": [2, 3, 0, N], "cpu_frequency": [3e9, 2e9, 3e9, 3e9],
         "lustre_mdt_wait": [1, 2, 3, 4]},
    )  # fmt: skip
    np.testing.assert_array_equal(found["waiting time of a Lustre request for data"].load, [3, 4, N, N])
    assert found["low processor frequency"].load.argmax() == 1
    assert "waiting time of a Lustre request for metadata" not in found


@pytest.mark.parametrize("values", [[0, 0, 0], [5, 5, N], [N, N, N]])
def test_what_never_changes_is_no_suspect(values) -> None:
    assert told(NODE_LOADS, {"psi_io_some": values}) == {}
