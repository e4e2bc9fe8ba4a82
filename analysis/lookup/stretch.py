"""One stretch of time: what was higher in it than at other times.

A single stretch cannot tell a cause: whoever was busy then was busy then. So it is compared with all other stretches of
the same length, and that is all that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup.association import LAGS

__all__ = ["Rise", "rises"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rise:
    """Each [suspect], NaN where nothing is known of the stretch. during: mean load in it, or in one that begins up to
    LAGS slices earlier, where that is more; usual: the median of the same over all stretches of that length. p: the
    share of those that are as high; one that no other reaches has 1 / their number.
    """

    during: Floats
    usual: Floats
    p: Floats


def rises(loads: Floats, begin: int, end: int, *, lags: Sequence[int] = LAGS) -> Rise:
    """Compare the slices [begin, end) of loads [suspect, slice] with all others. InputError: no such stretch."""
    if loads.ndim != 2 or not 0 <= begin < end <= loads.shape[1]:
        raise InputError("a stretch lies within the slices of the loads")
    means = _means(loads, end - begin)
    high = means.copy()
    for lag in lags:
        shifted = np.full_like(means, np.nan)
        shifted[:, lag:] = means[:, : means.shape[1] - lag]
        high = np.fmax(high, shifted)
    during = high[:, begin]
    known = ~np.isnan(high)
    count = known.sum(axis=1)
    rounding = 1e-9 * np.max(np.abs(np.nan_to_num(high)), axis=1, initial=0.0)
    as_high = (known & (high >= (during - rounding)[:, None])).sum(axis=1)
    usual = np.array([np.median(row[there]) if there.any() else np.nan for row, there in zip(high, known, strict=True)])
    there = ~np.isnan(during)
    p = np.divide(as_high, count, out=np.full(count.shape, np.nan), where=there & (count > 0))
    return Rise(during, np.where(there, usual, np.nan), p)


def _means(loads: Floats, width: int) -> Floats:
    """Mean over each stretch of `width` slices, by its begin, [suspect, begin], without gaps; NaN where all are."""
    known = ~np.isnan(loads)
    zero = np.zeros((loads.shape[0], 1))
    total = np.concatenate([zero, np.cumsum(np.where(known, loads, 0.0), axis=1)], axis=1)
    number = np.concatenate([zero, np.cumsum(known, axis=1)], axis=1)
    sums, counts = (values[:, width:] - values[:, :-width] for values in (total, number))
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
