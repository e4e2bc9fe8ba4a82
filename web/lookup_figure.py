"""The picture of a lookup: the job's dents over the load that was chosen, on one time axis. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.db.queries import JobRow
from crosswind.web.figures import SIZES, Axis, Plot, stacked_figure
from crosswind.web.figures import Line as Drawn
from crosswind.web.lookup_answer import Line, Lookup
from crosswind.web.palette import THEMES

__all__ = ["load_figure", "lookup_figure"]


def lookup_figure(job: JobRow, lookup: Lookup, line: Line | None, *, theme: str, size: str) -> dict[str, Any]:
    """The figure as plotly.js takes it (``data``, ``layout``); empty where there is nothing to draw.

    line: the load below the dents; None, or one without a course: the dents alone.
    """
    if lookup.per_slice is None:
        return {"data": [], "layout": {}}
    lost = lookup.loss == "lost time"
    title = "Time lost to interference in each slice" if lost else f"How far the job fell short: {lookup.loss}"
    loss = Drawn("loss", lookup.loss, np.maximum(lookup.per_slice, 0.0), "lost" if lost else "job")
    plots = [Plot("loss", title, "s" if lost else "share", (loss,), at_least=job.slice_ns / 1e10 if lost else 0.1)]
    if line is not None and line.values is not None:
        below = Drawn("load", line.who, line.values, "one" if line.job is not None else "others")
        plots.append(Plot("load", line.words, line.unit, (below,)))
    axis = Axis(job.first_slice, job.n_slices, job.slice_ns)
    drawn = stacked_figure(plots, axis, lookup.per_slice if lost else None, theme=theme, size=size)
    if lookup.window is not None:
        begin, end = lookup.window
        drawn["layout"]["shapes"].append(_outline(axis.edge_ms(begin), axis.edge_ms(end), theme))
    return _with_titles(drawn, plots, theme=theme, size=size)


def load_figure(
    title: str, unit: str, values: NDArray[np.float64], axis: Axis, *, theme: str, size: str
) -> dict[str, Any]:
    """One load over a time; empty where none of it is shown. values: [slice], NaN where unknown or withheld."""
    if np.isnan(values).all():
        return {"data": [], "layout": {}}
    plots = [Plot("load", title, unit, (Drawn("load", title, values, "others"),))]
    return _with_titles(stacked_figure(plots, axis, theme=theme, size=size), plots, theme=theme, size=size)


def _with_titles(drawn: dict[str, Any], plots: list[Plot], *, theme: str, size: str) -> dict[str, Any]:
    """The figure with a title above each plot, and values at the pointer."""
    colours, pixels = THEMES[theme], SIZES[size]
    height = len(plots) * (pixels.header + pixels.plot)
    drawn["layout"]["annotations"] = [
        {
            "text": _plain(plot.title),
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": 1 - (i * (pixels.header + pixels.plot) + pixels.header * 0.8) / height,
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"color": colours.text, "size": 13},
        }
        for i, plot in enumerate(plots)
    ]
    for trace in drawn["data"]:
        if trace["meta"]["part"] == "line":
            trace.pop("hoverinfo", None)
            trace["hovertemplate"] = "%{y:.4g}<extra></extra>"
        else:
            trace["hoverinfo"] = "skip"
    return {"data": drawn["data"], "layout": drawn["layout"]}


def _plain(text: str) -> str:
    """Text in which plotly.js finds no markup: a job may be called <b>."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _outline(from_ms: float, to_ms: float, theme: str) -> dict[str, Any]:
    """The stretch that was asked about."""
    return {
        "type": "rect",
        "name": "asked",
        "xref": "x",
        "yref": "paper",
        "x0": from_ms,
        "x1": to_ms,
        "y0": 0,
        "y1": 1,
        "line": {"width": 1.5, "dash": "dot", "color": THEMES[theme].crosshair},
    }
