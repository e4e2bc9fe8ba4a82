"""The picture of a comparison: how much longer like segments take in each run than in the quickest. Pure.

%  |        ┬            one group of marks a cluster; in it one mark a run: the undisturbed level with what
   |     ┬  ●   ┬        chance explains (99 of 100), and a short line where the median is
   |  ●  ■  ┴   ▲
 0 +--┴---------┴----
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crosswind.analysis.comparison_result import Comparison

__all__ = ["MOST_CLUSTERS", "Mark", "Picture", "Tick", "picture_of"]

MOST_CLUSTERS = 8
WIDTH, HEIGHT = 960.0, 260.0  # of the drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 58.0, 10.0, 12.0, 30.0
_CHANCE = 2.576  # standard errors: 99 of 100
_RADIUS = 5.0
_SHAPES = ("circle", "square", "up", "diamond", "down", "cross", "bar", "plus")


@dataclass(frozen=True)
class Mark:
    """One run in one cluster. x, y: of the level; low, high: of what chance explains; median: of the median."""

    run: int
    shape: str
    path: str
    x: float
    y: float
    low: float
    high: float
    median: float
    text: str


@dataclass(frozen=True)
class Tick:
    """A line of the picture and what stands beside it."""

    at: float
    label: str


@dataclass(frozen=True)
class Picture:
    """marks in order of cluster and run; ticks of the percentages; groups: where each cluster stands."""

    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    groups: tuple[Tick, ...]


def picture_of(found: Comparison, names: list[str]) -> Picture | None:
    """The clusters with most time of which two runs or more have a level; None: there is none."""
    told = [c for c in found.told_clusters(found.n_clusters) if np.isfinite(found.level_us[:, c]).sum() > 1]
    shown = told[:MOST_CLUSTERS]
    if not shown:
        return None
    level, error, median = (values[:, shown] for values in (found.level_us, found.error_us, found.median_us))
    quickest = np.nanmin(level, axis=0)
    over, chance, middle = 100 * (level / quickest - 1), 100 * _CHANCE * error / quickest, 100 * (median / quickest - 1)
    low = float(np.nanmin(np.fmin(over - chance, middle), initial=0.0))
    high = float(np.nanmax(np.fmax(over + chance, middle), initial=1.0))
    ticks = _ticks(low, high)
    bottom, top = min(low, ticks[0]), max(high, ticks[-1])

    def y(value: float) -> float:
        return TOP + (top - value) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    group = (WIDTH - LEFT - RIGHT) / len(shown)
    step = min(group / (len(names) + 1), 34.0)
    marks = []
    for g, cluster in enumerate(shown):
        for run, name in enumerate(names):
            if not np.isfinite(over[run, g]):
                continue
            x = LEFT + group * (g + 0.5) + step * (run - (len(names) - 1) / 2)
            text = (
                f"{name}, cluster {cluster + 1}: {level[run, g] / 1e3:.4g} ms, "
                f"{over[run, g]:.2f} % over the quickest run, ± {chance[run, g]:.2f} % by chance; "
                f"median {median[run, g] / 1e3:.4g} ms"
            )
            shape = _SHAPES[run % len(_SHAPES)]
            at = y(float(over[run, g]))
            marks.append(
                Mark(
                    run, shape, _path(shape, x, at), x, at, y(float(over[run, g] - chance[run, g])),
                    y(float(over[run, g] + chance[run, g])), y(float(middle[run, g])), text,
                )
            )  # fmt: skip
    groups = tuple(Tick(LEFT + group * (g + 0.5), f"{cluster + 1}") for g, cluster in enumerate(shown))
    return Picture(tuple(marks), tuple(Tick(y(value), f"{value:g} %") for value in ticks), groups)


def legend_path(run: int) -> str:
    """The shape of a run, in a drawing of 14 by 14."""
    return _path(_SHAPES[run % len(_SHAPES)], 7.0, 7.0)


def _ticks(low: float, high: float) -> list[float]:
    """Four to eight round percentages over the range."""
    span = max(high - low, 0.1)
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(unit * factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= 8)
    return [round(step * k, 10) for k in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _path(shape: str, x: float, y: float) -> str:
    """The outline of a mark as SVG has it."""
    r = _RADIUS
    if shape == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "up": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "down": ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "bar": ((-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)),
        "plus": ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
                 (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
        "cross": ((-1, -0.5), (-0.5, -1), (0, -0.5), (0.5, -1), (1, -0.5), (0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5),
                  (-0.5, 1), (-1, 0.5), (-0.5, 0)),
    }[shape]  # fmt: skip
    return "M" + "L".join(f"{x + r * dx:.1f} {y + r * dy:.1f}" for dx, dy in corners) + "Z"
