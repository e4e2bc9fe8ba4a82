"""From arrays to a plotly.js figure: plots stacked over one time axis. Pure: no database, no request.

All plots are subplots of ONE figure that share ONE x axis, so that plotly.js itself keeps a single zoom, draws its
spike line across every plot and hovers over all of them at once. Nothing has to be synchronised by script.

    y domain 1 +--------------------+      each plot: `header` pixels for the page's own heading (title, legend,
               | header             |      readings), then `plot` pixels of axes
               | axes of plot 0     |
               | header             |
               | axes of plot 1     |
             0 +--------------------+ time axis
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.units import DisplayUnit, display_unit
from crosswind.web.hits import shading
from crosswind.web.palette import THEMES, Theme
from crosswind.web.plot_model import SIZES, Axis, Line, Plot, Size
from crosswind.web.traces import traces_of

__all__ = ["MAX_POINTS", "SIZES", "Axis", "Line", "Plot", "Size", "points_per_line", "stacked_figure"]

MAX_POINTS = 1500  # bins of a line; more than a screen has pixels for
MAX_NUMBERS = 40_000  # of a figure, some 6 bytes each: lines get fewer bins where there are many of them
LEAST_POINTS = 240  # bins that a line has at least


def stacked_figure(
    plots: Sequence[Plot],
    axis: Axis,
    lost_s: NDArray[np.float64] | None = None,
    *,
    theme: str = "light",
    size: str = "wide",
    max_points: int = MAX_POINTS,
    window: slice = slice(None),
) -> dict[str, Any]:
    """The figure as plotly.js takes it (``data``, ``layout``), and what the page writes onto it (``plots``).

    lost_s: seconds lost in each slice, [slice]; stretches above hits.HIT_SHARES are shaded over the whole height. Lines
    longer than max_points are binned: the line is the mean of a bin, its band the smallest and largest value. window:
    the slices to draw (default: all); units are those of the whole run, so that they stay when the reader zooms.
    KeyError: unknown theme or size.
    """
    colours, pixels = THEMES[theme], SIZES[size]
    height = len(plots) * (pixels.header + pixels.plot) + pixels.bottom
    shown = axis.cut(window)
    most = points_per_line(plots, max_points)
    data: list[dict[str, Any]] = []
    layout = _layout(shown, colours, pixels, height, len(plots))
    headings = []
    for i, plot in enumerate(plots):
        unit = display_unit(plot.unit, _values_of(plot))
        first = len(data)
        traces = traces_of(plot, window, shown, unit, _y_reference(i), colours, most)
        data.extend(traces)
        layout[_y_key(i)] = _y_axis(i, pixels, height, colours, unit, plot.at_least)
        headings.append(_heading(plot, unit, traces, first, i * (pixels.header + pixels.plot)))
    hits = [] if lost_s is None else shading(lost_s[window], shown.first_slice, axis.slice_ns)
    layout["shapes"] = [hit.shape(colours.hit) for hit in hits] + _withheld(plots, window, shown, colours)
    return {
        "data": data,
        "layout": layout,
        "plots": headings,
        "points": _points(shown, most),
        "hits": [hit.to_json() for hit in hits],
    }


def points_per_line(plots: Sequence[Plot], max_points: int = MAX_POINTS) -> int:
    """How many bins a line may have so that the figure stays small: bands and lines count alike."""
    rows = sum(3 for plot in plots for _ in plot.lines)
    return min(max_points, max(LEAST_POINTS, MAX_NUMBERS // max(rows, 1)))


def _layout(axis: Axis, colours: Theme, pixels: Size, height: int, n_plots: int) -> dict[str, Any]:
    """Everything but the y axes and the shading."""
    return {
        "height": height,
        "margin": {"l": pixels.left, "r": pixels.right, "t": 0, "b": pixels.bottom, "pad": 0},
        "paper_bgcolor": colours.background,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.text, "size": 11},
        "showlegend": False,
        "hovermode": "x",
        "hoversubplots": "axis",
        "hoverdistance": -1,
        "spikedistance": -1,
        "dragmode": "zoom",
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": {
            "type": "date",
            "range": [axis.edge_ms(0), axis.edge_ms(axis.n_slices)],
            "anchor": _y_reference(max(n_plots - 1, 0)),
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "hovered data",
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": colours.crosshair,
            "gridcolor": colours.grid,
            "linecolor": colours.line,
            "showline": True,
            "ticks": "outside",
            "tickcolor": colours.line,
            "zeroline": False,
            "title": {"text": "time, UTC", "standoff": 4},
        },
    }


def _y_axis(i: int, pixels: Size, height: int, colours: Theme, unit: DisplayUnit, at_least: float) -> dict[str, Any]:
    """The y axis of plot i: its place between the margins, its unit as the title."""
    drawn = height - pixels.bottom
    top = i * (pixels.header + pixels.plot) + pixels.header
    return {
        "domain": [max(0.0, 1 - (top + pixels.plot) / drawn), 1 - top / drawn],
        "anchor": "x",
        "fixedrange": True,
        "rangemode": "tozero",
        "autorangeoptions": {"include": at_least * unit.factor},
        "nticks": 4,
        "gridcolor": colours.grid,
        "zeroline": True,
        "zerolinecolor": colours.line,
        "ticks": "",
        "title": {"text": unit.label, "standoff": 2},
        "automargin": False,
    }


def _withheld(plots: Sequence[Plot], window: slice, axis: Axis, colours: Theme) -> list[dict[str, Any]]:
    """A grey area for each stretch of a plot that is withheld; the line has a gap there."""
    shapes = []
    for i, plot in enumerate(plots):
        mask = np.zeros(0, dtype=np.bool_) if plot.withheld is None else plot.withheld[window]
        edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            shape = {
                "type": "rect",
                "name": "withheld",
                "xref": "x",
                "yref": f"{_y_reference(i)} domain",
                "x0": axis.edge_ms(first),
                "x1": axis.edge_ms(end),
                "y0": 0,
                "y1": 1,
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": colours.line,
                "opacity": 0.45,
            }
            if (end - first) * 4 > axis.n_slices:  # room for the word
                shape["label"] = {"text": "withheld", "font": {"size": 10, "color": colours.text}}
            shapes.append(shape)
    return shapes


def _heading(plot: Plot, unit: DisplayUnit, traces: list[dict], first: int, top: int) -> dict[str, Any]:
    """What the page writes over plot and axes: text, and which traces belong to each legend entry."""
    entries: dict[str, dict[str, Any]] = {}
    for offset, trace in enumerate(traces):
        entry = entries.setdefault(trace["meta"]["series"], {"traces": []})
        entry["traces"].append(first + offset)
        if trace["meta"]["part"] == "line":
            style = trace.get("line") or {"color": trace["marker"]["color"], "dash": "solid"}
            entry |= {"title": trace["name"], "line": first + offset, "colour": style["color"], "dash": style["dash"]}
    return {
        "name": plot.name,
        "title": plot.title,
        "unit": unit.label,
        "group": plot.group,
        "withheld": plot.withheld is not None and bool(plot.withheld.any()),
        "top": top,
        "how": [list(pair) for pair in plot.how],
        "legend": list(entries.values()),
    }


def _points(axis: Axis, max_points: int) -> dict[str, Any]:
    """How many slices one point stands for, for the page's note and its readings."""
    width = max(1, -(-axis.n_slices // max_points))
    return {
        "first_ms": axis.edge_ms(0),
        "slice_ms": axis.slice_ms,
        "width": width,
        "count": -(-axis.n_slices // width),
        "first_slice": axis.first_slice,
        "n_slices": axis.n_slices,
    }


def _values_of(plot: Plot) -> NDArray[np.float64]:
    """All values that the axis has to hold."""
    held = [values for line in plot.lines for values in (line.values, line.high) if values is not None]
    return np.concatenate([*held, [plot.at_least]])


def _y_key(i: int) -> str:
    return "yaxis" if i == 0 else f"yaxis{i + 1}"


def _y_reference(i: int) -> str:
    return "y" if i == 0 else f"y{i + 1}"
