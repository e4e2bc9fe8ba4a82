"""The heat map's cells and the figures of clusters, from numbers that are known."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from crosswind.analysis import cluster_view, estimate
from crosswind.web.cluster_figures import cluster_figures
from crosswind.web.figures import MAX_NUMBERS, Axis, Line, Plot, points_per_line, stacked_figure
from crosswind.web.pages.job.heat import binned
from support.profiles import make_segments

NAN = float("nan")


@pytest.mark.parametrize(("cells", "expected"), [("mean", 2.5), ("low", 1.0), ("high", 4.0)])
def test_a_cell_is_what_was_asked_for(cells: str, expected: float) -> None:
    values = np.array([[1.0, 2.0, NAN, NAN, 7.0], [3.0, 4.0, NAN, NAN, NAN], [5.0, NAN, 0.0, 0.0, 0.0]])
    z = binned(values, 2, 2, cells)
    assert z.shape == (2, 3)
    assert z[0, 0] == expected
    assert np.isnan(z[0, 1])
    assert (z[0, 2], z[1, 0], z[1, 1]) == (7.0, 5.0, 0.0)


def test_a_small_map_is_left_as_it_is() -> None:
    values = np.array([[1.0, NAN], [0.0, 2.0]])
    for cells in ("mean", "low", "high"):
        np.testing.assert_array_equal(binned(values, 1, 1, cells), values)
    assert binned(np.zeros((0, 5)), 1, 1, "mean").shape == (0, 5)


def test_clusters_are_figures_that_plotly_takes() -> None:
    table = make_segments(2, 400, 1_760_000_000_000_000, 20.0, {100: 30.0, 300: 30.0})
    views = cluster_view(table, estimate(table))
    figures = cluster_figures(views, 0, theme="dark", size="narrow")
    for figure in figures.values():
        go.Figure(figure)
        json.dumps(figure, allow_nan=False)
    box = figures["boxes"]["data"][0]
    assert box["median"][0] == pytest.approx(20, rel=0.01)
    assert len(figures["timeline"]["data"][0]["x"]) == 2
    threshold = figures["histogram"]["layout"]["shapes"][0]["x0"]
    assert box["median"][0] < threshold < 50
    assert [sum(bars["y"]) for bars in figures["histogram"]["data"]] == [398, 2]


def test_a_wide_job_stays_small_and_keeps_its_peak() -> None:
    rng = np.random.default_rng(1)
    lines = [Line(f"s{i}", f"s{i}", rng.random(10_000) * 1e9) for i in range(24)]
    lines[3].values[7777] = 1e10
    plots = [Plot(f"p{i}", "p", "B/s", tuple(lines[6 * i : 6 * i + 6])) for i in range(4)]
    figure = stacked_figure(plots, Axis(0, 10_000, 4_000_000_000))
    assert len(json.dumps(figure)) < 300_000
    assert points_per_line(plots) * 3 * 24 <= MAX_NUMBERS
    (high,) = [t for t in figure["data"] if t["meta"]["series"] == "s3" and t["meta"]["part"] == "high"]
    assert max(high["y"]) == pytest.approx(1e10 / 2**30, rel=1e-2)
    part = stacked_figure(plots, Axis(0, 10_000, 4_000_000_000), window=slice(7770, 7790))
    (line,) = [t for t in part["data"] if t["meta"]["series"] == "s3" and t["meta"]["part"] == "line"]
    assert line["y"][7] == pytest.approx(1e10 / 2**30, rel=1e-5)
    assert line["x0"] == 7770.5 * 4000
