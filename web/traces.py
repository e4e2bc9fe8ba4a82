"""The traces of one plot as plotly.js takes them: each line after the two edges of its band. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.timeline import resample
from crosswind.analysis.units import DisplayUnit
from crosswind.web.palette import DASHES, Theme
from crosswind.web.plot_model import Axis, Line, Plot

__all__ = ["traces_of"]

_EXACT, _BINNED, _EDGE = 6, 4, 3  # digits of a slice's value, of a bin's mean, of a band's edges


def traces_of(
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
