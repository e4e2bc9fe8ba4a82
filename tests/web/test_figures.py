"""The figure against arrays whose picture is known, and against plotly's own schema."""

from __future__ import annotations

import itertools
import json

import numpy as np
import plotly.graph_objects as go
import pytest

from crosswind.web.figures import SIZES, Axis, Line, Plot, stacked_figure
from crosswind.web.palette import THEMES

NAN = float("nan")
AXIS = Axis(first_slice=440_000_000, n_slices=4, slice_ns=4_000_000_000)


def plot(name: str = "io", *lines: Line, unit: str = "B/s") -> Plot:
    own = lines or (Line("w", "write", np.array([1.0, 2.0, NAN, 4.0]) * 2**20),)
    return Plot(name, f"title of {name}", unit, own, how=(("posix_disk_write_bytes", "bytes written"),))


def lines_of(figure: dict, part: str = "line") -> list[dict]:
    return [trace for trace in figure["data"] if trace["meta"]["part"] == part]


def test_values_are_in_the_unit_of_the_axis_and_gaps_are_null() -> None:
    figure = stacked_figure([plot()], AXIS)
    assert lines_of(figure)[0]["y"] == [1.0, 2.0, None, 4.0]
    assert figure["layout"]["yaxis"]["title"]["text"] == "MiB/s"
    assert figure["plots"][0]["unit"] == "MiB/s"


def test_points_stand_in_the_middle_of_their_slices() -> None:
    trace = lines_of(stacked_figure([plot()], AXIS))[0]
    assert trace["x0"] == 1_760_000_000_000 + 2000
    assert trace["dx"] == 4000


def test_one_x_axis_for_all_plots_and_a_y_axis_each() -> None:
    figure = stacked_figure([plot("a"), plot("b"), plot("c")], AXIS)
    layout = figure["layout"]
    assert [key for key in layout if key.startswith("xaxis")] == ["xaxis"]
    assert {trace["xaxis"] for trace in figure["data"]} == {"x"}
    assert [trace["yaxis"] for trace in lines_of(figure)] == ["y", "y2", "y3"]
    assert layout["xaxis"]["anchor"] == "y3"
    assert (layout["hovermode"], layout["hoversubplots"], layout["xaxis"]["spikemode"]) == ("x", "axis", "across")
    assert all(layout[key]["fixedrange"] for key in ("yaxis", "yaxis2", "yaxis3"))


@pytest.mark.parametrize("size", list(SIZES))
def test_plots_do_not_overlap_and_leave_room_for_their_headings(size: str) -> None:
    figure = stacked_figure([plot(str(i)) for i in range(7)], AXIS, size=size)
    pixels, height = SIZES[size], figure["layout"]["height"] - SIZES[size].bottom
    domains = [figure["layout"][f"yaxis{i + 1}" if i else "yaxis"]["domain"] for i in range(7)]
    tops = [(1 - high) * height for _, high in domains]
    assert [heading["top"] for heading in figure["plots"]] == pytest.approx([top - pixels.header for top in tops])
    for (low, high), (_, next_high) in itertools.pairwise(domains):
        assert (high - low) * height == pytest.approx(pixels.plot)
        assert (low - next_high) * height == pytest.approx(pixels.header)
    assert domains[-1][0] == pytest.approx(0)


def test_band_lies_between_its_edges() -> None:
    spread = Line("m", "MPI", np.full(4, 0.5), low=np.full(4, 0.25), high=np.full(4, 0.75))
    figure = stacked_figure([plot("time", spread, unit="share")], AXIS)
    assert lines_of(figure, "low")[0]["y"] == [25.0] * 4
    assert lines_of(figure, "high")[0]["y"] == [75.0] * 4
    assert lines_of(figure, "high")[0]["fill"] == "tonexty"
    assert figure["plots"][0]["legend"][0]["traces"] == [0, 1, 2]


def test_long_series_are_binned_and_keep_their_extremes() -> None:
    values = np.ones(10_000)
    values[1234], values[7777] = 9.0, 0.0
    axis = Axis(0, 10_000, 4_000_000_000)
    figure = stacked_figure([plot("n", Line("n", "calls", values), unit="1/s")], axis, max_points=1000)
    line, low, high = (lines_of(figure, part)[0] for part in ("line", "low", "high"))
    assert len(line["y"]) == 1000
    assert line["y"][123] == pytest.approx(1.8)
    assert (max(high["y"]), min(low["y"])) == (9.0, 0.0)
    assert (line["x0"], line["dx"]) == (20_000, 40_000)
    assert figure["points"]["width"] == 10


def test_lost_seconds_are_summed_over_a_bin() -> None:
    axis = Axis(0, 10, 4_000_000_000)
    lost = np.full(10, 0.5)
    lost_plot = plot("lost", Line("lost", "lost", lost, "lost"), unit="s")
    bars = stacked_figure([lost_plot], axis, lost, max_points=3)["data"][0]
    assert bars["type"] == "bar"
    assert bars["y"] == [2.0, 2.0, 1.0]


def test_shading_covers_all_plots_over_the_hit_slices() -> None:
    lost = np.array([0.0, 2.0, 1.8, 0.0])
    shapes = stacked_figure([plot("a"), plot("b")], AXIS, lost)["layout"]["shapes"]
    assert len(shapes) == 1
    shape = shapes[0]
    assert (shape["x0"], shape["x1"]) == (1_760_000_004_000, 1_760_000_012_000)
    assert (shape["yref"], shape["y0"], shape["y1"]) == ("paper", 0, 1)
    weaker = stacked_figure([plot()], AXIS, lost / 10)["layout"]["shapes"][0]
    assert weaker["opacity"] < shape["opacity"]


def test_next_to_nothing_is_not_drawn_large() -> None:
    small = Plot("lost", "lost", "s", (Line("lost", "lost", np.full(4, 1e-5), "lost"),), at_least=0.4)
    assert stacked_figure([small], AXIS)["layout"]["yaxis"]["autorangeoptions"]["include"] == 0.4
    trickle = Plot("net", "net", "B/s", (Line("w", "write", np.full(4, 100.0)),), at_least=1 << 20)
    axis = stacked_figure([trickle], AXIS)["layout"]["yaxis"]
    assert (axis["title"]["text"], axis["autorangeoptions"]["include"]) == ("MiB/s", 1.0)


def test_a_lonely_point_gets_a_marker() -> None:
    lonely = Line("w", "write", np.array([NAN, 1.0, NAN, NAN]))
    assert lines_of(stacked_figure([plot("a", lonely)], AXIS))[0]["mode"] == "lines+markers"
    assert lines_of(stacked_figure([plot("a", Line("w", "write", np.ones(4)))], AXIS))[0]["mode"] == "lines"


def test_series_differ_by_colour_and_by_dash() -> None:
    many = tuple(Line(str(i), str(i), np.ones(4)) for i in range(6))
    styles = [trace["line"] for trace in lines_of(stacked_figure([plot("a", *many)], AXIS))]
    assert len({style["color"] for style in styles}) == len({style["dash"] for style in styles}) == 6


@pytest.mark.parametrize("theme", list(THEMES))
def test_plotly_accepts_the_figure_and_json_has_no_nan(theme: str) -> None:
    lost = np.array([0.0, 2.0, NAN, 0.0])
    figure = stacked_figure(
        [
            plot("lost", Line("lost", "lost", lost, "lost"), unit="s"),
            plot("a", Line("a", "a", np.ones(4), "job", np.zeros(4), np.ones(4))),
            plot("b", Line("o", "others", np.ones(4), "others"), Line("o/own", "own", np.ones(4), "own")),
        ],
        AXIS,
        lost,
        theme=theme,
    )
    go.Figure({"data": figure["data"], "layout": figure["layout"]})
    json.dumps(figure, allow_nan=False)


def test_no_slices_no_plots() -> None:
    empty = stacked_figure([], Axis(5, 0, 4_000_000_000), np.zeros(0))
    assert empty["data"] == []
    assert empty["plots"] == []


def test_what_is_withheld_is_grey_where_it_is_and_a_gap_in_the_line() -> None:
    hidden = np.array([False, True, True, False])
    values = np.where(hidden, NAN, 1.0)
    others = Plot("o", "o", "1/s", (Line("o", "others", values, "others"),), "background", withheld=hidden)
    figure = stacked_figure([plot("a"), others], AXIS)
    (shape,) = figure["layout"]["shapes"]
    assert (shape["name"], shape["yref"], shape["label"]["text"]) == ("withheld", "y2 domain", "withheld")
    assert (shape["x0"], shape["x1"]) == (1_760_000_004_000, 1_760_000_012_000)
    assert lines_of(figure)[-1]["y"] == [1, None, None, 1]
    assert [heading["withheld"] for heading in figure["plots"]] == [False, True]
    go.Figure({"data": figure["data"], "layout": figure["layout"]})
