"""What counts as a load, and what tells progress where there is no estimate."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis import SERIES
from crosswind.analysis.lookup import (
    LOADS,
    PROGRESS,
    metrics_of_loads,
    progress_loss,
    shortfall,
    suspects_of,
)
from crosswind.db import resources


def test_every_metric_exists_and_feeds_its_resource() -> None:
    for kind, metrics in metrics_of_loads().items():
        assert set(metrics) <= set(resources.FEEDS[kind]), kind
    assert set(PROGRESS) <= {series.name for series in SERIES}


def test_layers_are_added_up() -> None:
    values = {"posix_disk_write_bytes": np.array([1, 2]), "stdio_disk_write_bytes": np.array([10, 0])}
    (suspect,) = suspects_of("job", "fs:disk@a", "fs:disk", values, (0, 2))
    assert suspect.load.tolist() == [11, 2]
    assert suspect.key == ("job", LOADS["fs:disk"][0])


def test_progress_is_what_moves_all_the_time() -> None:
    rare = {"write_disk": np.array([0.0, 0, 0, 9, 0, 0])}
    found = progress_loss({"coll_calls": np.array([400.0, 400, 200, 400, 400, 9])} | rare)
    assert found is not None
    assert found[0] == "collective calls"
    assert found[1] == pytest.approx([np.nan, 0, 0.5, 0, 0, np.nan], nan_ok=True)
    assert progress_loss(rare) is None


def test_shortfall() -> None:
    assert shortfall(np.array([10.0, 10.0, 5.0, np.nan, 12.0])) == pytest.approx([0, 0, 0.5, np.nan, -0.2], nan_ok=True)
    assert shortfall(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("running", [(1, 3), (-7, 2), (2, 99), (-9, 0), (4, 9)])
def test_where_a_job_did_not_run_its_load_is_unknown(running: tuple[int, int]) -> None:
    (suspect,) = suspects_of("job", "net", "net", {"mpi_p2p_bytes_out": np.arange(4)}, running)
    assert [k for k in range(4) if not np.isnan(suspect.load[k])] == [k for k in range(4) if k in range(*running)]
