"""What a plot is before it is drawn: a time axis, lines that share a unit, and pixels. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["SIZES", "Axis", "Line", "Plot", "Size"]


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
