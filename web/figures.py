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
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.timeline import resample
from crosswind.analysis.units import DisplayUnit, display_unit
from crosswind.web.hits import shading
from crosswind.web.palette import DASHES, THEMES, Theme

__all__ = ["MAX_POINTS", "SIZES", "Axis", "Line", "Plot", "Size", "points_per_line", "stacked_figure"]

MAX_POINTS = 1500  # bins of a line; more than a screen has pixels for
MAX_NUMBERS = 40_000  # of a figure, some 6 bytes each: lines get fewer bins where there are many of them
LEAST_POINTS = 240  # bins that a line has at least
_EXACT, _BINNED, _EDGE = 6, 4, 3  # digits of a slice's value, of a bin's mean, of a band's edges


@dataclass(frozen=True)
class Size:
    """Pixels: of one plot's heading and axes, and the margins around the whole figure."""

    header: int
    plot: int
    left: int
    right: int
    bottom: int = 38


SIZES = {"wide": Size(header=34, plot=104, left=64, right=16), "narrow": Size(header=56, plot=96, left=46, right=8)}


@dataclass(frozen=True)
class Axis:
    """The time axis: slices [first_slice, first_slice + n_slices) of slice_ns nanoseconds each, UTC."""

    first_slice: int
    n_slices: int
    slice_ns: int

    @property
    def slice_ms(self) -> float:
        """Length of a slice in milliseconds, the unit of plotly's dates."""
        return self.slice_ns / 1e6

    def edge_ms(self, index: int) -> float:
        """Begin of the slice with this index (0: the first), in milliseconds since 1970, UTC."""
        return (self.first_slice + index) * self.slice_ms

    def cut(self, window: slice) -> Axis:
        """The part of the axis that holds these slices."""
        first, end, _ = window.indices(self.n_slices)
        return replace(self, first_slice=self.first_slice + first, n_slices=max(end - first, 0))


@dataclass(frozen=True)
class Line:
    """One series. values: [slice], NaN where there is a gap. low, high: [slice], edges of a band around it, or None."""

    name: str
    title: str
    values: NDArray[np.float64]
    role: Literal["job", "others", "own", "lost", "one"] = "job"
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    def cut(self, window: slice) -> Line:
        """The line over these slices."""
        low, high = (None if edge is None else edge[window] for edge in (self.low, self.high))
        return replace(self, values=self.values[window], low=low, high=high)


@dataclass(frozen=True)
class Plot:
    """One plot of the stack: lines that share a unit. how: how the numbers were measured, in (name, meaning) pairs.

    at_least: what the axis reaches at least, in `unit`, so that next to nothing is not drawn large. withheld: bool
    [slice], where the numbers are known but not shown, or None.
    """

    name: str
    title: str
    unit: str
    lines: tuple[Line, ...]
    group: Literal["job", "background", "nodes"] = "job"
    how: tuple[tuple[str, str], ...] = ()
    at_least: float = 0.0
    withheld: NDArray[np.bool_] | None = None


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
        traces = _traces(plot, window, shown, unit, _y_reference(i), colours, most)
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


def _traces(
    plot: Plot, window: slice, axis: Axis, unit: DisplayUnit, y: str, colours: Theme, max_points: int
) -> list[dict[str, Any]]:
    """The traces of one plot: each line after the two edges of its band."""
    traces: list[dict[str, Any]] = []
    for number, line in enumerate(whole.cut(window) for whole in plot.lines):
        number = _series_number(plot, number)
        colour = _colour(line, number, colours)
        bins = resample(line.values, max_points)
        low, high = line.low, line.high
        place = _place(axis, bins.width) | {"yaxis": y, "hoverinfo": "none"}
        meta = {"plot": plot.name, "series": line.name, "role": line.role}
        if line.role == "lost":
            bars = _bars(np.add.reduceat(np.nan_to_num(line.values), bins.start), unit, colour)
            traces.append(place | bars | {"name": line.title, "meta": meta | {"part": "line"}})
            continue
        if low is None and bins.width > 1:
            low, high = line.values, line.values
        if low is not None and high is not None:
            edges = (resample(low, max_points).low, resample(high, max_points).high)
            traces.extend(_band(edges, bins.width, unit, colour, place, meta, line.title))
        style = _style(line, number, colour) | {"connectgaps": False, "meta": meta | {"part": "line"}}
        values = _numbers(bins.mean, unit, _EXACT if bins.width == 1 else _BINNED)
        traces.append(place | {"name": line.title, "y": values} | style)
    return traces


def _series_number(plot: Plot, number: int) -> int:
    """Which series a line is of: the line of one process is drawn as that of all, but thicker."""
    base = plot.lines[number].name.removesuffix("/one")
    names = [line.name for line in plot.lines]
    return names.index(base) if base in names else number


def _place(axis: Axis, width: int) -> dict[str, Any]:
    """x of the points: the middles of the bins."""
    step = axis.slice_ms * width
    return {"x0": axis.edge_ms(0) + step / 2, "dx": step, "xaxis": "x"}


def _style(line: Line, number: int, colour: str) -> dict[str, Any]:
    """A step line; lonely points between gaps would not show as a line and get a marker."""
    there = np.concatenate(([False], ~np.isnan(line.values), [False]))
    lonely = bool(np.any(there[1:-1] & ~there[:-2] & ~there[2:]))
    width = {"own": 1.0, "one": 2.6}.get(line.role, 1.6)
    style: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if lonely else "lines",
        "line": {"color": colour, "width": width, "shape": "hvh", "dash": _dash(line, number)},
    }
    if lonely:
        style["marker"] = {"size": 4, "color": colour}
    if line.role == "others" and number == 0:
        style |= {"fill": "tozeroy", "fillcolor": _transparent(colour, 0.22)}
    return style


def _band(
    edges: tuple[NDArray, NDArray], width: int, unit: DisplayUnit, colour: str, place: dict, meta: dict, title: str
) -> list[dict[str, Any]]:
    """Two invisible lines, the area between them filled."""
    digits = _EXACT if width == 1 else _EDGE
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0, "shape": "hvh", "color": colour}}
    low, high = (
        place | edge | {"name": f"{title}, {part}", "y": _numbers(values, unit, digits), "meta": meta | {"part": part}}
        for part, values in zip(("low", "high"), edges, strict=True)
    )
    return [low, high | {"fill": "tonexty", "fillcolor": _transparent(colour, 0.16)}]


def _bars(values: NDArray, unit: DisplayUnit, colour: str) -> dict[str, Any]:
    return {"type": "bar", "y": _numbers(values, unit, _EXACT), "marker": {"color": colour, "line": {"width": 0}}}


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


def _numbers(values: NDArray, unit: DisplayUnit, digits: int) -> list[float | int | None]:
    """Values in the display unit, to so many digits, whole ones without a point; gaps as null, which JSON can say."""
    rounded = (
        float(f"{v:.{digits}g}") if v == v and abs(v) != np.inf else None for v in (values * unit.factor).tolist()
    )
    return [v if v is None or v != int(v) else int(v) for v in rounded]


def _colour(line: Line, number: int, colours: Theme) -> str:
    if line.role == "others":
        return colours.others[number % len(colours.others)]
    if line.role == "lost":
        return colours.hit
    if line.role == "own":
        return colours.series[0]
    return colours.series[number % len(colours.series)]


def _dash(line: Line, number: int) -> str:
    if line.role == "own":
        return "dot"
    return DASHES[number % len(DASHES)]


def _transparent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _y_key(i: int) -> str:
    return "yaxis" if i == 0 else f"yaxis{i + 1}"


def _y_reference(i: int) -> str:
    return "y" if i == 0 else f"y{i + 1}"
