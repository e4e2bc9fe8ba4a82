"""The arithmetic of the background: pure functions on arrays, no SQL.

Sums are kept in blocks of `BLOCK` slices. Additions are modulo 2**64, so what was added can always be taken back
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crosswind.db.schema import BLOCK

__all__ = ["add_block", "blocks_of"]


def blocks_of(values: NDArray[np.int64], first_slice: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Cut values [slice], whose first is slice `first_slice`, into (number of the block, int64 [BLOCK]).

    Blocks in which all values are zero are left out.
    """
    for block in range(first_slice // BLOCK, -(-(first_slice + values.size) // BLOCK)):
        begin = block * BLOCK - first_slice
        part = values[max(begin, 0) : begin + BLOCK]
        if part.any():
            whole = np.zeros(BLOCK, dtype=np.int64)
            at = max(-begin, 0)
            whole[at : at + part.size] = part
            yield block, whole


def add_block(
    out: NDArray[np.int64],
    first_slice: int,
    slice_ns: int,
    block: NDArray[np.int64],
    start_ns: int,
    source_ns: int,
    *,
    gauge: bool,
) -> None:
    """Add a block, whose slices have length source_ns and begin at start_ns, to out [slice], whose slices may have
    another length.

    A counter is spread evenly over its slice; sums over the block are kept to the unit. A gauge is the value at the
    end of a slice. Parts of the block outside `out` are ignored.
    """
    span = block.size * source_ns
    begin = max(start_ns // slice_ns, first_slice)
    end = min(-(-(start_ns + span) // slice_ns), first_slice + out.size)
    if begin >= end:
        return
    edges = np.arange(begin, end + 1, dtype=np.int64) * slice_ns - start_ns
    target = out[begin - first_slice : end - first_slice]
    if source_ns == slice_ns:
        at = begin - start_ns // source_ns
        target += block[at : at + target.size]
    elif gauge:
        inside = edges[1:] <= span
        target[inside] += block[(edges[1:][inside] - 1) // source_ns]
    else:
        target += np.diff(_sum_until(block, np.clip(edges, 0, span), source_ns))


def _sum_until(block: NDArray[np.int64], at_ns: NDArray[np.int64], source_ns: int) -> NDArray[np.int64]:
    """The sum of a block's counter from its begin to each of these times after it, in whole units."""
    whole, rest = np.divmod(at_ns, source_ns)
    before = np.concatenate(([0], np.cumsum(block, dtype=np.int64)))
    return before[whole] + np.rint(np.append(block, 0)[whole] * (rest / source_ns)).astype(np.int64)
