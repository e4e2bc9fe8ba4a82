"""What counts as a load, and what tells progress where there is no estimate."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.lookup import (
    LOADS,
    metrics_of_loads,
    metrics_of_progress,
    progress_loss,
    shortfall,
    suspects_of,
)
from crosswind.db import resources
from crosswind.profile.metrics import BY_NAME

SLICE_NS = 4_000_000_000


def test_every_metric_exists_and_feeds_its_resource() -> None:
    for kind, metrics in metrics_of_loads().items():
        assert set(metrics) <= set(resources.FEEDS[kind]), kind
    assert set(metrics_of_progress()) <= set(BY_NAME)


def test_layers_are_added_up() -> None:
    values = {"posix_disk_write_bytes": np.array([1, 2]), "stdio_disk_write_bytes": np.array([10, 0])}
    (suspect,) = suspects_of("job", "fs:disk@a", "fs:disk", values, (0, 2))
    assert suspect.load.tolist() == [11, 2]
    assert suspect.key == ("job", LOADS["fs:disk"][0])


def test_progress_is_what_moves_all_the_time() -> None:
    covered = np.full((2, 6), SLICE_NS)
    frames = {
        "mpi_coll_all_to_all_calls": np.array([[400, 400, 200, 400, 400, 9]] * 2),
        "posix_disk_write_bytes": np.array([[0, 0, 0, 9, 0, 0]] * 2),
    }
    found = progress_loss(frames, covered, SLICE_NS)
    assert found is not None
    assert found[0] == "collective calls"
    assert found[1] == pytest.approx([np.nan, 0, 0.5, 0, 0, np.nan], nan_ok=True)
    assert progress_loss({"posix_disk_write_bytes": frames["posix_disk_write_bytes"]}, covered, SLICE_NS) is None


def test_shortfall() -> None:
    assert shortfall(np.array([10.0, 10.0, 5.0, np.nan, 12.0])) == pytest.approx([0, 0, 0.5, np.nan, -0.2], nan_ok=True)
    assert shortfall(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("running", [(1, 3), (-7, 2), (2, 99), (-9, 0), (4, 9)])
def test_where_a_job_did_not_run_its_load_is_unknown(running: tuple[int, int]) -> None:
    (suspect,) = suspects_of("job", "net", "net", {"mpi_p2p_bytes_out": np.arange(4)}, running)
    assert [k for k in range(4) if not np.isnan(suspect.load[k])] == [k for k in range(4) if k in range(*running)]
