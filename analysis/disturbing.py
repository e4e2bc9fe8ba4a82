"""Which jobs to look at first when others lost time: a ranking that is cheap enough for a list. Pure.

For each job: its share of all bytes that moved on network file systems while it ran, times the time that other jobs
lost to interference meanwhile. Both are sums over the job's run; that they coincide is no proof of a cause. The lookup
tests a single case slice by slice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.db.disturbing import Losses, Movers

__all__ = ["Disturbing", "rank_disturbing"]


@dataclass(frozen=True)
class Disturbing:
    """One job. share: of the bytes on network file systems while it ran, 0 to 1. lost_s: seconds that `others` other
    jobs lost meanwhile. score_s: the product, what the ranking is by.
    """

    key: int
    share: float
    lost_s: float
    others: int

    @property
    def score_s(self) -> float:
        """Seconds of others' lost time that fall to this job by its share."""
        return self.share * self.lost_s


def rank_disturbing(
    movers: Movers,
    losses: Losses,
    traffic: NDArray[np.float64],
    shown: NDArray[np.bool_],
    first_slice: int,
    slice_ns: int,
    *,
    least_others: int = 1,
    most: int = 200,
) -> list[Disturbing]:
    """The jobs beside which others lost time, the largest score first, at most `most`.

    traffic: bytes of all jobs, [slice] from first_slice on. shown: [slice], those that count. least_others: jobs beside
    which fewer others lost time are left out, so that no single other job can be recognised.
    """
    if not movers.key.size:
        return []
    edges = np.arange(traffic.size + 1, dtype=np.float64) + first_slice
    begin, end = movers.start_ns / slice_ns, movers.end_ns / slice_ns
    inside = _between(shown.astype(np.float64), edges, begin, end)
    moved = movers.moved_bytes * inside / np.maximum(end - begin, 1e-9)  # as if evenly over its run
    share = np.clip(moved / np.maximum(_between(traffic * shown, edges, begin, end), 1), 0, 1)
    order = np.argsort(losses.key)
    at = np.searchsorted(losses.key[order], movers.key)
    own_row = order[np.minimum(at, order.size - 1)] if order.size else np.zeros(at.shape, dtype=np.int64)
    is_own = losses.key[own_row] == movers.key if order.size else np.zeros(at.shape, dtype=np.bool_)
    own_ns = np.where(is_own, losses.of_job_ns[own_row], 0) if order.size else np.zeros(at.shape)
    lost_s = np.clip(_between(losses.per_slice_ns * shown, edges, begin, end) - own_ns, 0, None) / 1e9
    others = _overlapping(losses, movers) - is_own
    score = np.where(others >= least_others, share * lost_s, 0)
    best = np.argsort(-score, kind="stable")[:most]
    return [
        Disturbing(int(movers.key[i]), float(share[i]), float(lost_s[i]), int(others[i])) for i in best if score[i] > 0
    ]


def _between(
    values: NDArray[np.float64], edges: NDArray[np.float64], begin: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums of values [slice] from begin to end (in slices, with fractions), [job]."""
    until = np.concatenate(([0.0], np.cumsum(values)))
    return np.interp(end, edges, until) - np.interp(begin, edges, until)


def _overlapping(losses: Losses, movers: Movers) -> NDArray[np.int64]:
    """How many of the jobs that lost time ran beside each, [job]; itself included where it is one of them."""
    ended = np.searchsorted(np.sort(losses.end_ns), movers.start_ns, side="right")
    begun = np.searchsorted(np.sort(losses.start_ns), movers.end_ns, side="left")
    return begun - ended
