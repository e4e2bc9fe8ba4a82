"""The pictures of the study, as SVG that is the same for the same results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from accuracy.real.programs import PROGRAMS
from accuracy.real.study import is_disturbed
from accuracy.real.summary import OFF_PP, TARGET_LEAST, accuracies
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw_accuracy", "draw_estimates"]

Record = Mapping[str, Any]
COLOURS = {"robust": "#0072B2", "thesis": "#D55E00"}
MARKERS = {"none": "s", "calls": "o", "episodes": "^"}
SIZE = 3.0  # inches, of a panel
STYLE = {"svg.hashsalt": "crosswind", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False}  # fmt: skip


def draw_estimates(records: Sequence[Record], path: Path) -> None:
    """Estimated over true percentage, a panel per program. Disturbed runs are pale."""
    with mpl.rc_context(STYLE):
        figure, panels = _panels(records)
        for axes, (program, runs) in panels:
            for record in runs:
                _point(axes, record)
            axes.axline((0, 0), slope=1, color="#888888", linewidth=0.8, zorder=0)
            top = 5 + max(max(r["true_pct"] for r in runs), *(r["estimates"]["robust"]["pct"] or 0 for r in runs))
            axes.fill_between([0, top], [-OFF_PP, top - OFF_PP], [OFF_PP, top + OFF_PP], color="#eeeeee", zorder=-1)
            axes.set(title=program, xlabel="added, % of the run", xlim=(-1, top), ylim=(-1, top))
        panels[0][0].set_ylabel("estimated, % of the run")
        _legend(figure, {kind: marker for kind, marker in MARKERS.items() if any(r["kind"] == kind for r in records)})
        _save(figure, path)


def draw_accuracy(records: Sequence[Record], path: Path) -> None:
    """Accuracy by injected share: the median of the runs, and a bar from the least to the best."""
    with mpl.rc_context(STYLE):
        figure, panels = _panels(records)
        for axes, (program, runs) in panels:
            shares = sorted({r["injected_pct"] for r in runs})
            for side, method in enumerate(COLOURS):
                scores = [accuracies([r for r in runs if r["injected_pct"] == s], method) for s in shares]
                middle = np.array([np.median(one) for one in scores])
                reach = np.abs(np.array([[one.min(), one.max()] for one in scores]).T - middle)
                at = np.arange(len(shares)) + 0.16 * side - 0.08
                axes.errorbar(at, middle, yerr=reach, fmt="o-", color=COLOURS[method], markersize=4, linewidth=1)
            axes.axhline(TARGET_LEAST, color="#888888", linewidth=0.8, linestyle=":")
            axes.set(title=program, xlabel="aimed at, % of the run", ylim=(-0.02, 1.02))
            axes.set_xticks(range(len(shares)), [f"{s:g}" for s in shares])
        panels[0][0].set_ylabel("accuracy")
        _legend(figure, {})
        _save(figure, path)


def _panels(records: Sequence[Record]) -> tuple[Figure, list[tuple[Axes, tuple[str, list[Record]]]]]:
    """A figure with a panel per program, in the order of the programs' table."""
    names = [name for name in PROGRAMS if any(r["program"] == name for r in records)]
    figure = Figure(figsize=(SIZE * len(names), SIZE + 0.5), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    runs = [(PROGRAMS[name].title, [r for r in records if r["program"] == name]) for name in names]
    return figure, list(zip(panels, runs, strict=True))


def _point(axes: Axes, record: Record) -> None:
    for method, colour in COLOURS.items():
        face = colour if method == "robust" else "none"
        pale = 0.25 if is_disturbed(record) else 0.85
        estimated = record["estimates"][method]["pct"] or 0.0
        axes.plot(
            record["true_pct"], estimated, MARKERS[record["kind"]], color=colour, markerfacecolor=face, alpha=pale,
            markersize=5, linestyle="",
        )  # fmt: skip


def _legend(figure: Figure, markers: Mapping[str, str]) -> None:
    lines = [mpl.lines.Line2D([], [], color=c, label=m, marker="" if markers else "o") for m, c in COLOURS.items()]
    lines += [mpl.lines.Line2D([], [], color="#444444", linestyle="", marker=m, label=k) for k, m in markers.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines), frameon=False)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
