"""Clusters of segments as plotly.js draws them: boxes, when they were hit, one histogram. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crosswind.analysis import ClusterView, display_unit
from crosswind.analysis.units import DisplayUnit
from crosswind.web.palette import THEMES, Theme

__all__ = ["SYMBOLS", "cluster_figures"]

# With six colours these tell twenty-four clusters apart; a page has eight at most.
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
_BOX_PX, _PLOT_PX = 34, 260
_RARE = 20  # times as many quiet segments in a bin as hit ones in any: on a linear axis these would not show
_LEFT = {"wide": 70, "narrow": 48}


def cluster_figures(
    views: Sequence[ClusterView], chosen: int, *, theme: str = "light", size: str = "wide"
) -> dict[str, dict[str, Any]]:
    """boxes, timeline and histogram, each ``data`` and ``layout``. views: one or more, longest first. chosen: whose
    histogram. timeline is missing where no hit segment has a time of day. KeyError: unknown theme or size.
    """
    colours, left = THEMES[theme], _LEFT[size]
    figures = {
        "boxes": _boxes(views, chosen, colours, left),
        "histogram": _histogram(views[chosen], chosen, colours, left),
    }
    timeline = _timeline(views, colours, left)
    return figures | ({"timeline": timeline} if timeline else {})


def _boxes(views: Sequence[ClusterView], chosen: int, colours: Theme, left: int) -> dict[str, Any]:
    """One box a cluster, the longest on top; the axis is logarithmic where their lengths differ much."""
    unit = _time_unit(max(view.high_us for view in views))
    low, high = min(view.low_us for view in views), max(view.high_us for view in views)
    data: list[dict[str, Any]] = []
    for number, view in enumerate(views):
        colour = colours.series[number % len(colours.series)]
        data.append(
            {
                "type": "box",
                "orientation": "h",
                "name": _name(number),
                "y": [_name(number)],
                "lowerfence": [_in(view.low_us, unit)],
                "q1": [_in(view.q1_us, unit)],
                "median": [_in(view.median_us, unit)],
                "q3": [_in(view.q3_us, unit)],
                "upperfence": [_in(view.high_us, unit)],
                "line": {"color": colour, "width": 2.5 if number == chosen else 1.2},
                "fillcolor": "rgba(0,0,0,0)",
                "hoverinfo": "x+name",
                "meta": {"cluster": number},
            }
        )
    thresholds = {
        "type": "scatter",
        "mode": "markers",
        "name": "threshold",
        "x": [_in(view.threshold_us, unit) for view in views],
        "y": [_name(number) for number in range(len(views))],
        "marker": {"symbol": "line-ns-open", "size": 16, "color": colours.hit, "line": {"width": 2.5}},
        "hovertemplate": f"threshold %{{x:.4g}} {unit.label}<extra></extra>",
        "meta": {"cluster": -1},
    }
    axis: dict[str, Any] = _axis(colours, f"duration of a segment, {unit.label}")
    if low > 0 and high > 5 * low:
        axis |= _log_axis(_in(low, unit), _in(high, unit))
    layout = _layout(colours, left, _BOX_PX * len(views) + 60) | {
        "xaxis": axis,
        "yaxis": {"autorange": "reversed", "type": "category", "fixedrange": True, "tickfont": {"size": 11}},
    }
    return {"data": [*data, thresholds], "layout": layout}


def _timeline(views: Sequence[ClusterView], colours: Theme, left: int) -> dict[str, Any] | None:
    """A mark for each listed hit segment: when it began, and what it lost."""
    timed = [(n, v) for n, v in enumerate(views) if v.hits.begin_us is not None and v.hits.segment.size]
    if not timed:
        return None
    unit = _time_unit(max(float(view.hits.lost_us.max()) for _, view in timed))
    data = []
    for number, view in timed:
        begins = view.hits.begin_us
        assert begins is not None, "those without were left out"  # noqa: S101
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": _name(number),
                "x": [round(ms, 1) for ms in (begins / 1e3).tolist()],
                "y": [_in(value, unit) for value in view.hits.lost_us.tolist()],
                "customdata": view.hits.segment.tolist(),
                "marker": {
                    "symbol": SYMBOLS[number % len(SYMBOLS)],
                    "size": 6,
                    "opacity": 0.75,
                    "color": colours.series[number % len(colours.series)],
                },
                "hovertemplate": f"segment %{{customdata}}, {_name(number)}: lost %{{y:.3g}} {unit.label}"
                "<br>%{x|%H:%M:%S.%L} UTC<extra></extra>",
                "meta": {"cluster": number},
            }
        )
    layout = _layout(colours, left, _PLOT_PX) | {
        "xaxis": _axis(colours, "time, UTC") | {"type": "date"},
        "yaxis": _axis(colours, f"lost, {unit.label}") | {"rangemode": "tozero", "fixedrange": True},
    }
    return {"data": data, "layout": layout}


def _log_axis(low: float, high: float) -> dict[str, Any]:
    """Ticks at 1, 2 and 5 of each power of ten, written out: plotly.js would write 5 for 0.5."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{power}") for power in powers for step in (1, 2, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _histogram(view: ClusterView, number: int, colours: Theme, left: int) -> dict[str, Any]:
    """Members by duration, those that were hit in another colour and hatched, and the threshold as a line. The axis of
    counts is logarithmic where few were hit.
    """
    edges = view.histogram.edges_us
    unit = _time_unit(float(edges[-1]))
    widths = [_in(b - a, unit) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    begins = [_in(a, unit) for a in edges[:-1].tolist()]
    quiet_colour = colours.series[number % len(colours.series)]
    data = [
        {
            "type": "bar",
            "name": name,
            "x": begins,
            "offset": 0,
            "width": widths,
            "y": counts.tolist(),
            "marker": {"color": colour, "line": {"width": 0}, "pattern": {"shape": pattern, "size": 5}},
            "hovertemplate": f"%{{y}} {name}, from %{{x:.4g}} {unit.label}<extra></extra>",
        }
        for name, counts, colour, pattern in (
            ("not hit", view.histogram.quiet, quiet_colour, ""),
            ("hit", view.histogram.hit, colours.hit, "/"),
        )
    ]
    threshold = _in(view.threshold_us, unit)
    struck = view.histogram.hit[view.histogram.hit > 0]
    rare = bool(struck.size) and int(view.histogram.quiet.max()) > _RARE * int(struck.max())
    axis = _axis(colours, f"duration of a segment, {unit.label}") | (
        _log_axis(begins[0], begins[-1] + widths[-1]) if view.histogram.logarithmic else {}
    )
    layout = _layout(colours, left, _PLOT_PX) | {
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": axis,
        "yaxis": _axis(colours, "segments") | {"fixedrange": True} | ({"type": "log", "dtick": 1} if rare else {}),
        "shapes": [
            {
                "type": "line",
                "name": "threshold",
                "xref": "x",
                "yref": "paper",
                "x0": threshold,
                "x1": threshold,
                "y0": 0,
                "y1": 1,
                "line": {"color": colours.crosshair, "width": 1.5, "dash": "dash"},
                "label": {
                    "text": "threshold",
                    "textangle": 0,
                    "textposition": "end",
                    "xanchor": "left",
                    "yanchor": "top",
                    "font": {"size": 10, "color": colours.text},
                },
            }
        ],
    }
    return {"data": data, "layout": layout}


def _layout(colours: Theme, left: int, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": left, "r": 14, "t": 8, "b": 42, "pad": 0},
        "paper_bgcolor": colours.background,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.text, "size": 11},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }


def _axis(colours: Theme, title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 4},
        "gridcolor": colours.grid,
        "linecolor": colours.line,
        "zerolinecolor": colours.line,
        "showline": True,
    }


def _name(number: int) -> str:
    return f"cluster {number + 1}"


def _time_unit(largest_us: float) -> DisplayUnit:
    """The unit for microseconds up to so many."""
    unit = display_unit("ns", largest_us * 1e3)
    return DisplayUnit(unit.factor * 1e3, unit.label.replace("us", "µs"))


def _in(value_us: float, unit: DisplayUnit) -> float:
    return float(f"{value_us * unit.factor:.5g}")
