"""The grid of nodes by time against plain loops over every node and slice."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.timespace import Grid, NodeRows, between, levels, natural_order, runs_of


def test_nodes_are_ordered_by_their_numbers() -> None:
    assert natural_order(["n10", "n9", "n9", "a1", "n09", "x", ""]) == ["", "a1", "n09", "n9", "n10", "x"]
    assert natural_order(["n" + "9" * 5000, "n\N{SUPERSCRIPT TWO}", "n1"])[0] == "n1"
    names = natural_order(f"n{i}" for i in range(1, 30))
    assert between(names, "n5", "n7") == ["n5", "n6", "n7"]
    assert between(names, "n28", "n300") == ["n28", "n29"], "bounds need not be there"
    assert between(names, "", "n2") == ["n1", "n2"]


@pytest.mark.parametrize(("columns", "seed"), [(7, 1), (16, 2), (100, 3), (333, 4)])
def test_no_peak_is_lost_and_nothing_is_invented(columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(11)]
    rows = NodeRows.of(names, 4)
    length, first, n = 4_000_000_000, 1000, 100
    grid = Grid(rows, first * length, (first + n) * length, columns)
    truth = np.full((11, n), np.nan)
    for _ in range(6):
        hosts = [str(h) for h in rng.choice(names, 3, replace=False)] + ["elsewhere"]
        begin, slices = int(rng.integers(-20, n)), int(rng.integers(1, 60))
        values = rng.random((4, slices))
        if any(np.isfinite(truth[names.index(h), max(begin, 0) : begin + slices]).any() for h in hosts[:3]):
            continue  # jobs that share a node are another test
        grid.occupy(hosts, (first + begin) * length, (first + begin + slices) * length)
        grid.add(hosts, first + begin, length, values)
        for row, host in enumerate(hosts[:3]):
            for j in range(slices):
                if 0 <= begin + j < n:
                    truth[names.index(host), begin + j] = values[row, j]
    cells = grid.cells()
    assert cells.shape == (rows.n, columns)
    for r in range(rows.n):
        for c in range(columns):
            low, high = c * n / columns, (c + 1) * n / columns
            seen = truth[r * rows.per_row : (r + 1) * rows.per_row, int(low + 1e-9) : int(np.ceil(high - 1e-9))]
            expected = np.nanmax(seen) if np.isfinite(seen).any() else np.nan
            assert cells[r, c] == pytest.approx(expected, abs=1e-6, nan_ok=True), (r, c)


def test_jobs_on_one_node_add_up() -> None:
    grid = Grid(NodeRows.of(["a", "b"], 10), 0, 8, 4)
    grid.add(["a"], 0, 2, np.array([[1.0, 1, 1, 1]]))
    grid.add(["b", "a"], 1, 2, np.array([[5.0, 5], [2.0, 3]]))
    assert np.array_equal(grid.cells(), [[1, 3, 4, 1], [np.nan, 5, 5, np.nan]], equal_nan=True)


def test_shades() -> None:
    cells = np.array([[np.nan, 0.0, 5.0, 10.0, 99.0]], dtype=np.float32)
    assert levels(cells, 10.0).tolist() == [[0, 1, 128, 255, 255]]
    assert levels(cells, 0.0).tolist() == [[0, 1, 1, 1, 1]]


def test_rows_of_a_job_are_stretches() -> None:
    assert runs_of(np.array([0, 1, 2, 7, 8, 20]), 2) == [[0, 1], [3, 4], [10, 10]]
    assert runs_of(np.array([], dtype=np.intp), 2) == []


def test_an_empty_grid() -> None:
    rows = NodeRows.of([], 10)
    assert (rows.n, rows.labels()) == (0, [])
    assert Grid(rows, 0, 10, 5).cells().shape == (0, 5)
