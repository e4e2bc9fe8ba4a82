"""The pictures of an experiment, drawn from its results alone: SVG and PNG that are the same for the same results.

Needs matplotlib, the extra `experiment`. Models: figures 2.7, 3.5 and 3.11 of the thesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crosswind.tools.experiment.results import Course, PairResult, Results
from crosswind.tools.experiment.tables import group_title, groups, lower, number, p_value, percent, short_names
from crosswind.tools.output import one_line
from crosswind.web.palette import THEMES

__all__ = ["Picture", "draw"]

THEME = THEMES["light"]
PROBE, MUTED, ACTIVE, ESTIMATE = THEME.series[0], "#6B7780", THEME.hit, THEME.others[0]
SIGNALS = (THEME.series[0], THEME.others[0], THEME.series[1], THEME.series[2], THEME.series[3], THEME.series[4])
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "++++")
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "crosswind", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": THEME.line, "axes.labelcolor": THEME.text,
    "axes.titlelocation": "left", "axes.titlesize": 10, "axes.titleweight": "bold", "axes.axisbelow": True,
    "xtick.color": THEME.text, "ytick.color": THEME.text, "axes.grid": True, "axes.grid.axis": "y",
    "grid.color": THEME.grid, "legend.frameon": False, "legend.fontsize": 8.5, "hatch.linewidth": 0.6,
    "text.parse_math": False, "savefig.dpi": 144,
}  # fmt: skip
WIDTH = 7.4  # inches
MATRIX_WORDS = "Degradation of each probe beside each signal; lines: 95 % interval of the median, dots: runs"
COURSES_WORDS = "Rate of each probe beside each signal over time; shaded while the signal was active; grey: alone"
MAX_PAIRS = 40  # of one picture
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}  # as files: no time in them

Picture = tuple[str, str]  # the name of its files without an end, what it shows in words


def draw(
    results: Results, directory: Path, *, prefix: str = "", ends: Sequence[str] = tuple(METADATA)
) -> list[Picture]:
    """Draw all there is to see of the results into directory as NAME.svg and NAME.png. Raises OSError."""
    drawn = []
    with mpl.rc_context(STYLE):
        for (name, words), figure in _figures(results):
            for end in ends:
                figure.savefig(directory / f"{prefix}{name}.{end}", metadata=METADATA[end])
            drawn.append((f"{prefix}{name}", words))
    return drawn


def _figures(results: Results) -> Iterator[tuple[Picture, Figure]]:
    with_courses = [pair for pair in results.pairs if pair.phases and pair.course]
    measured = [pair for pair in results.pairs if pair.change]
    if results.kind == "matrix":
        if measured:
            yield ("matrix", MATRIX_WORDS), _matrix(results)
        if with_courses:
            yield ("courses", COURSES_WORDS), _courses(results)
    else:
        for pair in with_courses:
            told = f"shaded while {pair.signal} was active; the run of median length of {pair.runs}"
            words = f"Rate of {pair.probe} over time; {told}"
            yield (f"periodic-{pair.probe}--{pair.signal}", words), _periodic(pair)
    if results.kind == "slowdown" or any(pair.estimate.pct for pair in measured):
        shown = measured[:MAX_PAIRS]
        if shown:
            yield ("slowdown", "Time lost beside each signal, measured and estimated"), _slowdown(shown)


def _periodic(pair: PairResult) -> Figure:
    """The probe's rate in each slice, the signal's active phases shaded, the run alone as a thin line."""
    course, alone, phases = pair.course, pair.alone_course, pair.phases
    assert course is not None  # noqa: S101  (whoever calls has looked)
    assert phases is not None  # noqa: S101
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    axes = figure.subplots()
    scale, unit = _scale(_rates([pair]), phases.unit)
    _shade(axes, course, f"{one_line(pair.signal)} active")
    if alone:
        _line(axes, alone, scale, MUTED, 1.1, f"{pair.probe} alone")
    _line(axes, course, scale, PROBE, 1.7, f"{pair.probe} beside {pair.signal}")
    axes.plot([], [], marker="v", color=MUTED, linestyle="", label="end of the run")
    last = max(each.end_s for each in (course, alone) if each)
    axes.set(xlim=(0, last * 1.01), xlabel=f"seconds since {pair.probe} began", ylabel=f"{phases.what}, {unit}")
    axes.set_ylim(bottom=0)
    axes.set_title(_periodic_title(pair))
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _periodic_title(pair: PairResult) -> str:
    phases = pair.phases
    assert phases is not None  # noqa: S101
    dent = [f"{lower(phases.depth_pct)} while active"] if phases.depth_pct is not None else []
    slower = [f"slow-down {percent(pair.change.slow_down_pct)}"] if pair.change else []
    told = f"rank correlation {number(phases.rho, 2)}, p = {p_value(phases.p)} (n = {phases.runs})"
    return ", ".join([*dent, *slower, told]).replace(" -", " −")


def _courses(results: Results) -> Figure:
    """Small pictures, a row per probe and sort of work that is shown of it, a column per signal, table by table."""
    tables = groups(results)
    rows = [(group, pairs) for group in tables for pairs in _rows(group)]
    columns = max(len({pair.signal for pair in group}) for group, _ in rows)
    figure = Figure(figsize=(WIDTH, 0.8 + 1.25 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), columns, squeeze=False, sharex=True, sharey="row")
    above: Sequence[PairResult] = ()
    for row, (group, pairs) in zip(panels, rows, strict=True):
        names, signals = short_names(group), list(dict.fromkeys(pair.signal for pair in group))
        what, unit = next((pair.phases.what, pair.phases.unit) for pair in pairs if pair.phases)
        scale, unit = _scale(_rates(pairs), unit)
        for axes, signal in zip(row, signals, strict=False):
            _small(axes, next((pair for pair in pairs if pair.signal == signal), None), scale)
            if group is not above:
                title = group_title(results, group) if signal == signals[0] and len(tables) > 1 else ""
                axes.set_title(f"{title}\nbeside {one_line(names[signal])}".strip("\n"), fontsize=8.5)
        for axes in row[len(signals) :]:
            axes.set_visible(False)
        row[0].set_ylabel(f"{one_line(names[pairs[0].probe])}\n{one_line(what)}\n{unit}", fontsize=7.5)
        row[0].set_ylim(bottom=0)  # of all that share it
        above = group
    panels[0][0].set_xlim(left=0)
    for axes in panels[-1]:
        axes.set_xlabel("seconds since the probe began", fontsize=8)
    return figure


def _rows(group: Sequence[PairResult]) -> list[list[PairResult]]:
    """The pairs with a course that may share an axis: of the same probe, and the same work of it is shown."""
    found: dict[tuple[str, str], list[PairResult]] = {}
    for pair in group:
        if pair.phases and pair.course:
            found.setdefault((pair.probe, pair.phases.what), []).append(pair)
    return list(found.values())


def _small(axes: Axes, pair: PairResult | None, scale: float) -> None:
    """One of many pictures of a rate over time."""
    axes.tick_params(labelsize=7)
    if pair is None or pair.course is None:
        return
    _shade(axes, pair.course)
    if pair.alone_course:
        _line(axes, pair.alone_course, scale, MUTED, 0.8)
    _line(axes, pair.course, scale, PROBE, 1.2)


def _rates(pairs: Sequence[PairResult]) -> list[float]:
    """All rates that are shown of these."""
    courses = [each for pair in pairs for each in (pair.course, pair.alone_course) if each]
    return [value for each in courses for value in each.rate if value is not None]


def _shade(axes: Axes, course: Course, label: str = "") -> None:
    """While the signal was active."""
    for begin, end in course.phases_s:
        axes.axvspan(begin, end, color=ACTIVE, alpha=0.28, linewidth=0, label=label or None, zorder=0)
        label = ""


def _line(axes: Axes, course: Course, scale: float, colour: str, width: float, label: str = "") -> None:
    """Steps, one a slice, and a mark where the program ended."""
    rate = np.array([np.nan if value is None else value * scale for value in course.rate])
    edges = course.begin_s + course.slice_s * np.arange(rate.size + 1)
    axes.stairs(rate, edges, baseline=None, color=colour, linewidth=width, label=one_line(label))
    axes.plot([course.end_s], [0], marker="v", color=colour, markersize=6, clip_on=False, linestyle="", zorder=5)


def _matrix(results: Results) -> Figure:
    """Grouped bars, a panel per table of pairs."""
    panels = [group for group in groups(results) if any(pair.change for pair in group)]
    figure = Figure(figsize=(WIDTH, 0.6 + 2.5 * len(panels)), layout="constrained")
    signals: dict[str, int] = {}
    for row, (axes, group) in enumerate(zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True)):
        _bars(axes, group, signals)
        axes.set_title(group_title(results, group))
        axes.set_ylabel("rate lost, % of alone")
        if row == len(panels) - 1:
            axes.set_xlabel("probe")
    handles = [
        mpl.patches.Patch(facecolor=SIGNALS[i % len(SIGNALS)], hatch=HATCHES[i % len(HATCHES)], edgecolor="white",
                          label=f"beside {one_line(name)}")
        for name, i in signals.items()
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 3))
    return figure


def _bars(axes: Axes, group: Sequence[PairResult], signals: dict[str, int]) -> None:
    """signals: which colour and hatch each has, filled in on the way, the same in all panels."""
    names = short_names(group)
    probes = list(dict.fromkeys(pair.probe for pair in group))
    beside = list(dict.fromkeys(pair.signal for pair in group))
    width = 0.8 / len(beside)
    lowest = 0.0
    for pair in group:
        if pair.change is None:
            continue
        colour = signals.setdefault(names[pair.signal], len(signals))
        at = probes.index(pair.probe) + width * (beside.index(pair.signal) - (len(beside) - 1) / 2)
        axes.bar(
            at, pair.change.lost_pct, 0.92 * width, color=SIGNALS[colour % len(SIGNALS)],
            hatch=HATCHES[colour % len(HATCHES)], edgecolor="white", linewidth=0,
        )  # fmt: skip
        _interval(axes, at, pair, 0.2 * width, across=True)
        top = max(pair.change.lost_pct, *(pair.change.lost_interval_pct or (0,)), *pair.change.each_pct)
        axes.annotate(f"{pair.change.lost_pct:.0f}", (at, top), (0, 3), textcoords="offset points", ha="center",
                      fontsize=8, color=THEME.crosshair)  # fmt: skip
        lowest = min(lowest, *pair.change.each_pct, *(pair.change.lost_interval_pct or ()))
    axes.set_xticks(range(len(probes)), [one_line(names[probe]) for probe in probes])
    axes.tick_params(axis="x", length=0)
    axes.spines.bottom.set_visible(False)
    axes.axhline(0, color=THEME.line, linewidth=0.8)
    axes.set_ylim(min(lowest - 5, 0), 108)
    axes.set_yticks(range(0, 101, 25))


def _interval(axes: Axes, at: float, pair: PairResult, beside: float, *, across: bool) -> None:
    """The interval of the median as a line, at a place of the other axis, and the runs as dots beside it."""
    assert pair.change is not None  # noqa: S101
    each = np.array(pair.change.each_pct)
    place = np.full(each.size, at + beside)
    dots: dict[str, Any] = {"marker": "o", "markersize": 2.8, "linestyle": "", "color": THEME.crosshair, "zorder": 4}
    axes.plot(*((place, each) if across else (each, place)), **dots)
    if pair.change.lost_interval_pct:
        ends, both = np.array(pair.change.lost_interval_pct), np.array([at, at])
        axes.plot(*((both, ends) if across else (ends, both)), color=THEME.crosshair, linewidth=1.3, zorder=3)


def _slowdown(pairs: Sequence[PairResult]) -> Figure:
    """A row per pair: what was measured against running alone, and what was estimated from each run by itself."""
    figure = Figure(figsize=(WIDTH, 1.15 + 0.32 * len(pairs)), layout="constrained")
    axes = figure.subplots()
    for row, pair in enumerate(pairs):
        assert pair.change is not None  # noqa: S101
        _interval(axes, row, pair, -0.26, across=False)
        axes.plot(pair.change.lost_pct, row, "o", color=PROBE, markersize=7, zorder=5)
        if pair.estimate.pct:
            found = np.array([min(pair.estimate.pct), max(pair.estimate.pct)])
            axes.plot(found, [row + 0.24] * 2, color=ESTIMATE, linewidth=1.3, zorder=3)
            axes.plot(median(pair.estimate.pct), row + 0.24, "D", color=ESTIMATE, markersize=5.5, zorder=5)
    axes.set_yticks(range(len(pairs)), [one_line(f"{pair.probe} beside {pair.signal}") for pair in pairs])
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.axvline(0, color=THEME.line, linewidth=0.8)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("of the run's time lost, %")
    told = [("o", PROBE, "measured against running alone, its 95 % interval, each run as a dot")]
    if any(pair.estimate.pct for pair in pairs):
        told.append(("D", ESTIMATE, "estimated from each run by itself: median, least to most"))
    handles = [mpl.lines.Line2D([], [], color=colour, marker=mark, label=words) for mark, colour, words in told]
    figure.legend(handles=handles, loc="outside upper left", ncols=1)
    return figure


def _scale(values: Sequence[float], unit: str) -> tuple[float, str]:
    """A factor for all values, and the unit with its prefix."""
    highest = max(map(abs, values), default=0.0)
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if highest >= factor:
            return 1 / factor, prefix + unit if unit == "B/s" else f"{prefix}/s"
    return 1.0, unit
