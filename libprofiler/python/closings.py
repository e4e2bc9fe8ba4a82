"""Which calls ended segments, in words: from the rows of each rank to the columns of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.call_sites import label
from crosswind.profile.in_step import is_site
from crosswind.profile.spool import SpoolFile

__all__ = ["calls_at_sites", "closed_at"]

PLACE_BITS = 16

Ints = NDArray[np.int64]


def closed_at(files: Sequence[SpoolFile], valid: NDArray[np.bool_], grid: Ints) -> tuple[Ints, tuple[str, ...]]:
    """The call that ended each cell of the grid, on the first rank that is valid there: int64 [cell], an index into the
    texts or -1, and the texts. valid: [rank, cell].
    """
    number: dict[str, int] = {}
    found = np.full(grid.size - 1, -1, dtype=np.int64)
    for row, file in enumerate(files):
        open_cells = np.flatnonzero(valid[row] & (found < 0))
        if not open_cells.size:
            continue
        end = file.segments.end
        last = np.minimum(np.searchsorted(end, grid[open_cells + 1]), end.size - 1)
        cells, last = (a[end[last] == grid[open_cells + 1]] for a in (open_cells, last))
        kinds, kind = np.unique(_kinds(file)[last], return_inverse=True)
        texts = [_label(file, k) for k in kinds.tolist()]
        found[cells] = np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int64)[kind]
    return found, tuple(number)


def calls_at_sites(files: Sequence[SpoolFile]) -> tuple[str, ...]:
    """The calls at whose returns call sites cut, most cuts first."""
    cuts: Counter[str] = Counter()
    for file in files:
        kinds, n = np.unique(_kinds(file)[is_site(file.segments.end)], return_counts=True)
        cuts.update({_label(file, kind): k for kind, k in zip(kinds.tolist(), n.tolist(), strict=True)})
    return tuple(name for name, _ in cuts.most_common())


def _kinds(file: SpoolFile) -> Ints:
    return file.segments.function << PLACE_BITS | file.segments.place


def _label(file: SpoolFile, kind: int) -> str:
    function, place = divmod(kind, 1 << PLACE_BITS)
    return label(file.table.functions[function][0], file.sites.get(place))
