"""Servers' traffic against the jobs': planted numbers, gaps, and where the numbers come from."""

import numpy as np
import pytest

from crosswind.analysis.servers import EVIDENCE, explain, server_metrics
from crosswind.collector.agent.metrics import BY_NAME

GAP = -1


def slices(*values):
    return np.array(values, dtype=np.int64)


JOBS = {
    "posix_net_write_bytes": slices(50, 100, 0, 300),
    "stdio_net_write_bytes": slices(0, 0, 10, 0),
    "posix_net_read_bytes": slices(1000, 0, 0, 0),
    "posix_net_write_calls": slices(7, 7, 7, 7),
}
OST = {"ost_write_bytes": slices(100, 100, 100, 100), "ost_read_bytes": slices(0, 0, 0, 0)}


def test_share_is_what_the_jobs_wrote_of_what_the_servers_wrote():
    result = explain({"oss1": OST, "oss2": OST}, JOBS, "write")
    assert result.server.tolist() == [200, 200, 200, 200]
    assert result.jobs.tolist() == [50, 100, 10, 300]
    assert result.share.tolist() == [0.25, 0.5, 0.05, 1.5]
    assert result.total_share == pytest.approx(460 / 800)
    assert result.evidence == {"oss1": "lustre", "oss2": "lustre"}


def test_a_slice_in_which_one_server_was_not_seen_is_a_gap():
    blind = {"ost_write_bytes": slices(100, GAP, 100, 100)}
    result = explain({"oss1": OST, "oss2": blind}, JOBS, "write")
    assert np.isnan(result.server).tolist() == [False, True, False, False]
    assert np.isnan(result.share).tolist() == [False, True, False, False]
    assert result.total_share == pytest.approx(360 / 600), "neither side counts in a gap"


def test_windows_sum_up_and_a_gap_in_one_is_a_gap():
    result = explain({"oss1": OST}, JOBS, "write", window=3)
    assert (result.server.tolist(), result.jobs.tolist()) == ([300, 100], [160, 300])
    blind = {"ost_write_bytes": slices(100, GAP, 100, 100)}
    assert np.isnan(explain({"oss1": blind}, JOBS, "write", window=3).server).tolist() == [True, False]


def test_nothing_moved_has_no_share():
    result = explain({"oss1": OST}, JOBS, "read")
    assert np.isnan(result.share).all()
    assert np.isnan(result.total_share)


def test_a_server_that_says_nothing_makes_all_unknown():
    result = explain({"oss1": OST, "oss2": {}}, JOBS, "write")
    assert np.isnan(result.server).all()
    assert result.evidence["oss2"] == ""


def test_the_most_direct_evidence_counts_and_a_server_sends_what_is_read():
    both = {"net_tx_bytes": slices(5, 5, 5, 5), "net_rx_bytes": slices(9, 9, 9, 9)}
    assert explain({"s": both}, JOBS, "read").server.tolist() == [5] * 4
    assert explain({"s": both}, JOBS, "write").server.tolist() == [9] * 4
    assert explain({"s": both | OST}, JOBS, "write").server.tolist() == [100] * 4


def test_a_metadata_server_moves_no_data():
    mds = {"mdt_calls": slices(1, 2, GAP, 4), "ib_rx_bytes": slices(9, 9, 9, 9)}
    result = explain({"oss1": OST, "mds1": mds}, JOBS, "write")
    assert np.array_equal(result.server, [100, 100, np.nan, 100], equal_nan=True)
    assert result.evidence["mds1"] == "metadata only"


def test_all_metrics_exist():
    assert set(server_metrics()) <= BY_NAME.keys()
    assert all(BY_NAME[m].kind == "counter" for _, reads, writes in EVIDENCE for m in (*reads, *writes))
