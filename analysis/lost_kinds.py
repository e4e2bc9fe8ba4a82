"""What the time was lost in: computation, point-to-point communication, I/O, or the closing collective itself.

All ranks wait for the last one, so what held a segment up shows on the rank that waited least. Its times are compared
with those of whichever rank came last in the quiet segments of the same cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import Grouping
from crosswind.analysis.result import Estimate
from crosswind.profile.segments import SegmentTable

__all__ = ["KINDS", "lost_by_kind"]

KINDS = {"computation": "comp_us", "point-to-point": "p2p_us", "I/O": "io_us", "collectives": "coll_us"}


def lost_by_kind(table: SegmentTable, estimate: Estimate) -> dict[str, float]:
    """Seconds lost by kind; they add up to ``estimate.interference_s``. Empty where the table has not all times.

    The loss of a hit segment is shared out in proportion to what each time of its last rank exceeds the median of the
    quiet segments of its cluster by; if none does, it is the collectives'.
    """
    if not all(column in table.columns for column in KINDS.values()) or not table.n_segments:
        return {}
    times = _times_of_last_rank(table)
    beyond = np.maximum(times - _usual(times, estimate), 0.0)[:, estimate.hit]
    beyond[-1, beyond.sum(axis=0) <= 0] = 1.0
    lost = (beyond / beyond.sum(axis=0) * estimate.excess_us[estimate.hit]).sum(axis=1) / 1e6
    return {kind: float(seconds) for kind, seconds in zip(KINDS, lost, strict=True)}


def _times_of_last_rank(table: SegmentTable) -> NDArray[np.float64]:
    """Times of the rank that spent least in collectives, [kind, segment], in microseconds; 0 where no rank has any."""
    waited = np.where(table.valid, table.columns["coll_us"], np.inf)
    last = np.argmin(np.nan_to_num(waited, nan=np.inf), axis=0)
    each = np.arange(table.n_segments)
    return np.nan_to_num(np.array([table.columns[column][last, each] for column in KINDS.values()]))


def _usual(times: NDArray[np.float64], estimate: Estimate) -> NDArray[np.float64]:
    """Median of each time over the quiet segments of each segment's cluster, [kind, segment]; 0 where all were hit."""
    quiet = np.flatnonzero(~estimate.hit)
    present, dense = np.unique(estimate.labels[quiet], return_inverse=True)
    usual = np.zeros((times.shape[0], int(estimate.labels.max(initial=0)) + 1))
    groups = Grouping.of(dense.astype(np.int64))
    for kind, row in enumerate(times):
        usual[kind, present] = groups.median(row[quiet])
    return usual[:, estimate.labels]
