"""The operation of a system as a grid of nodes by time (the thesis' figure 2.1), at the resolution of a screen. Pure.

    columns: equal stretches of time        A job is a rectangle for each stretch of rows that it has. A cell shows
+---+---+---+---+                           the largest value of its nodes in its time, so that no peak is lost
|   | J | J |   |  rows: nodes by name,     however much is drawn together.
+---+---+---+---+  some of them together
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Grid", "NodeRows", "between", "levels", "natural_order", "runs_of"]

_Covered = tuple[slice, NDArray[np.int64], NDArray[np.int64]]

LEVELS = 254  # shades of a cell; 0: nothing ran there


def natural_order(names: Iterable[str]) -> list[str]:
    """Names by their text and numbers, n9 before n10; each once."""
    return sorted(set(names), key=_natural)


def between(names: Sequence[str], first: str, last: str) -> list[str]:
    """Of names in natural order those from `first` to `last`, which need not be among them; "": no bound."""
    low, high = _natural(first), _natural(last)
    return [name for name in names if (not first or _natural(name) >= low) and (not last or _natural(name) <= high)]


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    return [(int(p[:18]), "") if p.isdecimal() else (-1, p) for p in re.split(r"(\d+)", name)], name


@dataclass(frozen=True)
class NodeRows:
    """Nodes in rows: `names` in order, `per_row` of them in each."""

    names: tuple[str, ...]
    per_row: int

    @classmethod
    def of(cls, names: Sequence[str], most: int) -> NodeRows:
        """At most that many rows."""
        return cls(tuple(names), max(1, -(-len(names) // most)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return -(-len(self.names) // self.per_row)

    def labels(self) -> list[str]:
        """What each row is called: its node, or the first and the last of them."""
        return [
            some[0] if len(some) == 1 else f"{some[0]} – {some[-1]}"
            for at in range(0, len(self.names), self.per_row)
            for some in (self.names[at : at + self.per_row],)
        ]


class Grid:
    """float32 [node, column] over [begin_ns, end_ns): NaN where nothing is known, else the sum of what jobs did there,
    or what was seen of the node. extreme: which of the values of a cell it shows, np.fmax or np.fmin.
    """

    def __init__(self, rows: NodeRows, begin_ns: int, end_ns: int, columns: int, extreme: np.ufunc = np.fmax) -> None:
        self.rows, self.begin_ns, self.columns, self._extreme = rows, begin_ns, columns, extreme
        self.column_ns = (end_ns - begin_ns) / columns
        self._row = {name: i for i, name in enumerate(rows.names)}
        self._covered: dict[tuple[int, int, int], _Covered | None] = {}
        self._values = np.full((len(rows.names), columns), np.nan, dtype=np.float32)

    def column(self, at_ns: float) -> int:
        """The column of a time; -1 before the first, `columns` behind the last."""
        return int(np.clip((at_ns - self.begin_ns) // self.column_ns, -1, self.columns))

    def rows_of(self, hosts: Iterable[str]) -> NDArray[np.intp]:
        """The rows of nodes (before they are drawn together) that are on the grid."""
        return np.array([self._row[host] for host in hosts if host in self._row], dtype=np.intp)

    def occupy(self, hosts: Iterable[str], start_ns: int, end_ns: int) -> None:
        """Somebody ran there: what was NaN becomes 0."""
        first, last = max(self.column(start_ns), 0), min(self.column(end_ns - 1), self.columns - 1)
        rows = self.rows_of(hosts)
        if rows.size and first <= last:
            part = self._values[rows, first : last + 1]
            self._values[rows, first : last + 1] = np.where(np.isnan(part), 0, part)

    def add(self, hosts: Sequence[str], first_slice: int, slice_ns: int, values: NDArray[np.float64]) -> None:
        """Add what a job did: all its values [host, slice] (or [1, slice]: the same on every host), once. A column gets
        the largest of its slices; columns shorter than a slice all get its value.
        """
        known = [i for i, host in enumerate(hosts) if host in self._row]
        rows = self.rows_of(hosts[i] for i in known)
        placed = self._in_columns(values[known] if values.shape[0] > 1 else values, first_slice, slice_ns)
        if rows.size and placed is not None:
            columns, found = placed
            self._values[rows, columns] = np.nan_to_num(self._values[rows, columns]) + found

    def see(self, node: str, first_slice: int, slice_ns: int, values: NDArray[np.float64]) -> None:
        """Take what was seen of a node, [slice], NaN where nothing was. Seen twice, the extreme of both counts."""
        placed = self._in_columns(values[np.newaxis], first_slice, slice_ns)
        if node in self._row and placed is not None:
            columns, found = placed
            held = self._values[self._row[node], columns]
            self._values[self._row[node], columns] = self._extreme(held, found[0])

    def _in_columns(
        self, values: NDArray[np.float64], first_slice: int, slice_ns: int
    ) -> tuple[slice, NDArray[np.float64]] | None:
        """The columns that slices cover, and the extreme of the slices in each, [row, column]; None: none."""
        span = (first_slice, slice_ns, values.shape[1])
        if span not in self._covered:  # the same for all nodes of a job, and often for all nodes
            self._covered[span] = self._cover(*span)
        covered = self._covered[span]
        if covered is None:
            return None
        columns, begin, stop = covered
        return columns, _extreme_between(self._extreme, values, begin, stop)

    def _cover(self, first_slice: int, slice_ns: int, n_slices: int) -> _Covered | None:
        """The columns that slices cover, and for each its first slice and the one behind its last, from the first."""
        edges = (first_slice + np.arange(n_slices + 1, dtype=np.float64)) * slice_ns
        inside = (edges[1:] > self.begin_ns) & (edges[:-1] < self.begin_ns + self.columns * self.column_ns)
        if not inside.any():
            return None
        first = max(self.column(edges[:-1][inside][0]), 0)
        last = min(self.column(edges[1:][inside][-1] - 1), self.columns - 1)
        starts = self.begin_ns + np.arange(first, last + 1) * self.column_ns
        begin = np.clip((starts // slice_ns).astype(np.int64) - first_slice, 0, n_slices - 1)
        stop = np.clip(-(-(starts + self.column_ns) // slice_ns).astype(np.int64) - first_slice, begin + 1, n_slices)
        return slice(first, last + 1), begin, stop

    def cells(self) -> NDArray[np.float32]:
        """[row, column]: the extreme of the nodes of a row; NaN where nothing is known of any."""
        pad = self.rows.n * self.rows.per_row - len(self.rows.names)
        padded = np.pad(self._values, ((0, pad), (0, 0)), constant_values=np.nan)
        cells: NDArray[np.float32] = self._extreme.reduce(
            padded.reshape(self.rows.n, self.rows.per_row, self.columns), axis=1
        )
        return cells


def _extreme_between(
    extreme: np.ufunc, values: NDArray[np.float64], begin: NDArray[np.int64], stop: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The extreme of values [row, slice] in each [begin, stop), [row, column]; NaN is passed over."""
    edges = np.stack([begin, stop], axis=1).ravel()
    padded = np.concatenate([values, values[:, -1:]], axis=1)  # reduceat's last index may be the end
    return extreme.reduceat(padded, edges, axis=1)[:, ::2]


def levels(cells: NDArray[np.float32], top: float) -> NDArray[np.uint8]:
    """Shades: 0 where nothing ran, 1 for nothing done, 255 for `top` and more."""
    share = np.clip(np.nan_to_num(cells) / top if top > 0 else np.zeros_like(cells), 0, 1)
    return np.where(np.isnan(cells), 0, 1 + np.rint(share * LEVELS)).astype(np.uint8)


def runs_of(rows: NDArray[np.intp], per_row: int) -> list[list[int]]:
    """Stretches [first, last] of neighbouring rows on the screen; rows: of nodes."""
    shown = np.unique(rows // per_row)
    if not shown.size:
        return []
    cuts = np.flatnonzero(np.diff(shown) > 1)
    return [
        [int(a), int(b)] for a, b in zip(shown[np.r_[0, cuts + 1]], shown[np.r_[cuts, shown.size - 1]], strict=True)
    ]
