"""The picture of a lookup as a table: its course in so few rows that one can read them, each the way to its stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.timeline import resample
from crosswind.web.figures import Axis
from crosswind.web.lookup_answer import Line, Lookup

__all__ = ["MOST_ROWS", "Row", "load_rows", "lookup_rows"]

MOST_ROWS = 60

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A stretch [begin_ms, end_ms), UTC. loss: what was lost in it, in s, or the mean by which the job fell short.
    load: the mean. Both None where they are not known or not shown.
    """

    begin_ms: int
    end_ms: int
    loss: float | None
    load: float | None


def lookup_rows(axis: Axis, lookup: Lookup, line: Line | None) -> list[Row]:
    """The job's dents and the load that is drawn below them; none where there are no dents to draw."""
    if lookup.per_slice is None:
        return []
    loss = lookup.per_slice
    load = np.full(loss.shape, np.nan) if line is None or line.values is None else line.values
    bins = resample(loss, MOST_ROWS)
    lost = np.add.reduceat(np.nan_to_num(loss), bins.start) if lookup.loss == "lost time" else bins.mean
    return _rows(axis, bins.start, lost, resample(load, MOST_ROWS).mean)


def load_rows(axis: Axis, load: Floats) -> list[Row]:
    """A load alone."""
    bins = resample(load, MOST_ROWS)
    return _rows(axis, bins.start, np.full(bins.mean.shape, np.nan), bins.mean)


def _rows(axis: Axis, start: NDArray[np.int64], loss: Floats, load: Floats) -> list[Row]:
    edges = [round(axis.edge_ms(int(at))) for at in (*start, axis.n_slices)]
    return [Row(*row) for row in zip(edges, edges[1:], _numbers(loss), _numbers(load), strict=False)]


def _numbers(values: Floats) -> Sequence[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
