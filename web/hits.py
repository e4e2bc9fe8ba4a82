"""The stretches of a run that lost time, as a page shades and lists them. Pure: no database, no request."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIT_SHARES", "Hit", "hit_stretches", "shading", "worst_hits"]

HIT_SHARES = (0.02, 0.05, 0.1, 0.2)  # of a slice lost: where the shading begins, and where it gets stronger
_OPACITIES = (0.06, 0.12, 0.18, 0.26)
_MAX_BINS = 500  # of the shading: a stretch is a drawing of its own, and thousands of them are slow


@dataclass(frozen=True)
class Hit:
    """A stretch of slices that lost time. Times are UTC milliseconds; strength counts the HIT_SHARES from 0."""

    from_ms: float
    to_ms: float
    lost_s: float
    strength: int

    @property
    def share(self) -> float:
        """Of the stretch's time, how much was lost."""
        return self.lost_s / ((self.to_ms - self.from_ms) / 1e3)

    def to_json(self) -> dict[str, Any]:
        """The stretch for the page's script."""
        return {"from_ms": self.from_ms, "to_ms": self.to_ms, "lost_s": float(f"{self.lost_s:.4g}")}

    def shape(self, colour: str) -> dict[str, Any]:
        """A rectangle over all plots; the larger the share of its time that was lost, the stronger."""
        return {
            "type": "rect",
            "name": "hit",
            "xref": "x",
            "yref": "paper",
            "x0": self.from_ms,
            "x1": self.to_ms,
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "line": {"width": 0},
            "fillcolor": colour,
            "opacity": _OPACITIES[self.strength],
        }


def hit_stretches(lost_s: NDArray[np.float64], slice_s: float) -> list[tuple[int, int, int]]:
    """Runs of neighbouring slices that were hit about as hard: (first, end, strength from 0), in order.

    lost_s: [slice]. slice_s: length of a slice in seconds. Strength is the number of the last of HIT_SHARES that was
    passed; slices below the first of them are in no run.
    """
    strength = np.digitize(np.nan_to_num(lost_s) / slice_s, HIT_SHARES) - 1
    bounds = np.flatnonzero(np.diff(strength, prepend=-1, append=-1))
    runs = itertools.pairwise(bounds)
    return [(int(first), int(end), int(strength[first])) for first, end in runs if strength[first] >= 0]


def shading(lost_s: NDArray[np.float64], first_slice: int, slice_ns: int) -> list[Hit]:
    """What to shade, in order of time; of long runs bins of several slices, judged by their mean. lost_s: [slice]."""
    width = max(1, -(-lost_s.size // _MAX_BINS))
    starts = np.arange(0, lost_s.size, width)
    binned = np.add.reduceat(np.nan_to_num(lost_s), starts) if starts.size else lost_s
    return _hits(binned, hit_stretches(binned, width * slice_ns / 1e9), first_slice, lost_s.size, width, slice_ns)


def worst_hits(lost_s: NDArray[np.float64], first_slice: int, slice_ns: int, most: int) -> tuple[list[Hit], int]:
    """The stretches of neighbouring hit slices, however hard, that lost most, those first; and how many there are."""
    slice_s = slice_ns / 1e9
    hit = np.nan_to_num(lost_s) / slice_s >= HIT_SHARES[0]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], hit, [False])).astype(np.int8)))
    strength = np.digitize(np.nan_to_num(lost_s) / slice_s, HIT_SHARES) - 1
    runs = [(first, end, int(strength[first:end].max())) for first, end in edges.reshape(-1, 2).tolist()]
    hits = _hits(np.nan_to_num(lost_s), runs, first_slice, lost_s.size, 1, slice_ns)
    return sorted(hits, key=lambda each: -each.lost_s)[:most], len(hits)


def _hits(
    binned: NDArray[np.float64],
    runs: Sequence[tuple[int, int, int]],
    first_slice: int,
    n_slices: int,
    width: int,
    slice_ns: int,
) -> list[Hit]:
    """The runs of bins as stretches of time."""

    def edge_ms(bin_: int) -> float:
        return (first_slice + min(bin_ * width, n_slices)) * slice_ns / 1e6

    return [Hit(edge_ms(a), edge_ms(b), float(binned[a:b].sum()), strength) for a, b, strength in runs]
