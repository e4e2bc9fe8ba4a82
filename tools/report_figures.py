"""The pictures of reports: arrays in, plotly figures out. Figures 5.9 to 5.15 of the thesis are the models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from crosswind.analysis import Comparison, Estimate
from crosswind.analysis.cluster_view import box_us

__all__ = ["clusters", "comparison", "histograms", "timeline", "worst_cluster"]

MAX_POINTS = 20_000  # of a scatter: more than a screen can show, and the file stays small
MAX_CLUSTERS = 30
QUIET, HIT = "#4c78a8", "#d1495b"
RUNS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")  # Okabe and Ito's
Values = NDArray[np.float64]


def timeline(estimate: Estimate, begin_s: Values, work: Values | None, work_name: str) -> go.Figure:
    """Duration, and work where it is known, of the segments in run order (figure 5.9). Arrays are [segment]."""
    rows = [("duration, ms", estimate.duration_us / 1e3), *([(work_name, work)] if work is not None else [])]
    figure = make_subplots(rows=len(rows), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for row, (title, values) in enumerate(rows, start=1):
        for trace in _quiet_and_hit(begin_s, values, estimate.hit, show_legend=row == 1):
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(title_text=title, rangemode="tozero", row=row, col=1)
    figure.update_xaxes(title_text="seconds since the first segment", row=len(rows), col=1)
    return _finished(figure, 260 * len(rows))


def histograms(
    duration_us: Values, work: Values | None, work_name: str, threshold_us: float | None = None
) -> go.Figure:
    """How many segments took how long and did how much (figures 5.10 and 5.14); the threshold as a dashed line."""
    columns = [("duration, ms", duration_us / 1e3), *([(work_name, work)] if work is not None else [])]
    figure = make_subplots(rows=1, cols=len(columns))
    for column, (title, values) in enumerate(columns, start=1):
        finite = values[np.isfinite(values)]
        counts, edges = np.histogram(finite, bins=80, range=_range(finite))
        middles = (edges[1:] + edges[:-1]) / 2
        figure.add_trace(go.Bar(x=middles, y=counts, marker_color=QUIET, showlegend=False), row=1, col=column)
        figure.update_xaxes(title_text=title, row=1, col=column)
        figure.update_yaxes(title_text="segments", type="log", row=1, col=column)
    if threshold_us is not None:
        figure.add_vline(x=threshold_us / 1e3, line_dash="dash", line_color=HIT, row=1, col=1)
    figure.update_layout(bargap=0)
    return _finished(figure, 320)


def clusters(estimate: Estimate) -> go.Figure:
    """Spread and size of the clusters with the most time (figures 5.11 and 5.12)."""
    shown = estimate.clusters.longest(MAX_CLUSTERS)
    names = [str(i + 1) for i in range(len(shown))]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for name, cluster in zip(names, shown, strict=True):
        figure.add_trace(_box(name, estimate.duration_us[estimate.labels == cluster]), row=1, col=1)
    quiet = estimate.clusters.size[shown] - estimate.clusters.hit[shown]
    figure.add_trace(go.Bar(x=names, y=quiet, name="not hit", marker_color=QUIET), row=2, col=1)
    figure.add_trace(go.Bar(x=names, y=estimate.clusters.hit[shown], name="hit", marker_color=HIT), row=2, col=1)
    figure.update_yaxes(title_text="duration, ms", type="log", row=1, col=1)
    figure.update_yaxes(title_text="segments", row=2, col=1)
    figure.update_xaxes(title_text="cluster, the one with the most time first", type="category", row=2, col=1)
    figure.update_layout(barmode="stack")
    return _finished(figure, 560)


def worst_cluster(estimate: Estimate, begin_s: Values) -> tuple[go.Figure, NDArray[np.bool_], float]:
    """The cluster that lost most over time with its threshold (figure 5.13), its members and the threshold in us."""
    cluster = int(np.argmax(estimate.clusters.lost_s))
    members = estimate.labels == cluster
    threshold_us = float(estimate.clusters.threshold_us[cluster])
    figure = go.Figure(_quiet_and_hit(begin_s[members], estimate.duration_us[members] / 1e3, estimate.hit[members]))
    figure.add_hline(y=threshold_us / 1e3, line_dash="dash", line_color=HIT)
    figure.update_xaxes(title_text="seconds since the first segment")
    figure.update_yaxes(title_text="duration, ms", rangemode="tozero")
    return _finished(figure, 320), members, threshold_us


def comparison(found: Comparison, names: Sequence[str]) -> go.Figure:
    """Undisturbed and median durations of like segments in each run, side by side (after figure 5.15)."""
    shown = found.told_clusters(MAX_CLUSTERS)
    clusters = [str(c + 1) for c in shown]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for row, (title, values_us) in enumerate((("undisturbed", found.level_us), ("median", found.median_us)), start=1):
        for run, (name, color) in enumerate(zip(names, cycle(RUNS), strict=False)):
            bars = go.Bar(
                name=name, x=clusters, y=values_us[run, shown] / 1e3, marker_color=color, showlegend=row == 1,
                legendgroup=str(run), offsetgroup=str(run),
            )  # fmt: skip
            figure.add_trace(bars, row=row, col=1)
        figure.update_yaxes(title_text=f"{title} duration, ms", type="log", row=row, col=1)
    figure.update_xaxes(title_text="cluster, the one with the most time first", type="category", row=2, col=1)
    return _finished(figure, 640)


def _range(values: Values) -> tuple[float, float]:
    """Where the bins of a histogram lie: a hundredth around values too close to one another to be parted."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if high - low > 1e-6 * abs(high):
        return low, high
    margin = 0.01 * abs(high) or 0.5
    return low - margin, high + margin


def _box(name: str, duration_us: Values) -> go.Box:
    """A box from quantiles, with the values beyond the whiskers as points: no need to store all values."""
    low, q1, median, q3, high = box_us(duration_us / 1e3)
    return go.Box(
        x=[name], lowerfence=[low], q1=[q1], median=[median], q3=[q3], upperfence=[high], marker_color=QUIET,
        showlegend=False,
    )  # fmt: skip


def _quiet_and_hit(x: Values, y: Values, hit: NDArray[np.bool_], *, show_legend: bool = True) -> list[go.Scattergl]:
    """Two clouds of points, thinned out evenly to what a screen can show."""
    traces = []
    for name, chosen, color in (("not hit", ~hit, QUIET), ("hit", hit, HIT)):
        members = np.flatnonzero(chosen)
        members = members[:: -(-members.size // MAX_POINTS) or 1]
        traces.append(
            go.Scattergl(
                x=np.round(x[members], 6), y=np.round(y[members], 4), mode="markers", name=name,
                marker={"color": color, "size": 4}, showlegend=show_legend,
            )
        )  # fmt: skip
    return traces


def _finished(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        template="plotly_white", height=height, margin={"l": 70, "r": 20, "t": 20, "b": 50},
        legend={"orientation": "h", "y": 1.08},
    )  # fmt: skip
    return figure
