"""Which ranks pass their recurring call sites in step, so that equal positions are the same stretch of the run.

Nothing makes ranks wait for one another at a call site. Ranks that exchange halos stay together all the same; the
workers of a master each go their own way, and their 50th task is not the same as that of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segment_log import SITE_BITS

__all__ = ["Stretches", "is_site", "ranks_in_step"]

MAX_APART = 4.0  # segments, in the median
MAX_EDGES = 4096  # that are looked at

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stretches:
    """The segments of one rank, each [record], ascending: positions of begin and end, times in microseconds."""

    begin: Ints
    end: Ints
    start_us: Floats
    duration_us: Floats


def is_site(position: Ints) -> NDArray[np.bool_]:
    """Whether a recurring call site cuts there, and no world-sized collective."""
    return (position & ((1 << SITE_BITS) - 1)) != 0


def ranks_in_step(ranks: Sequence[Stretches]) -> NDArray[np.bool_]:
    """Bool [rank]: the ranks that are at about the same time where most ranks are cut by call sites.

    If fewer than half of the ranks are in step, none is: then the ranks do different things.
    """
    edges = _shared_edges(ranks)
    if edges.size < 2:
        return np.zeros(len(ranks), dtype=np.bool_)
    times = np.stack([_times_at(edges, rank) for rank in ranks])
    middle = np.nanmedian(times, axis=0)
    with np.errstate(invalid="ignore"):
        near = np.abs(times - middle) <= MAX_APART * _segment_lengths(edges, middle)
    reached = np.count_nonzero(~np.isnan(times), axis=1)
    members = (reached > 0) & (2 * np.count_nonzero(near, axis=1) >= reached)
    return members if 2 * np.count_nonzero(members) >= len(ranks) else np.zeros_like(members)


def _shared_edges(ranks: Sequence[Stretches]) -> Ints:
    """Cuts at call sites that at least half of the ranks have, thinned out evenly."""
    edges, n_ranks = np.unique(np.concatenate([r.begin[is_site(r.begin)] for r in ranks]), return_counts=True)
    edges = edges[2 * n_ranks >= len(ranks)]
    return edges[:: max(1, -(-edges.size // MAX_EDGES))]


def _times_at(edges: Ints, rank: Stretches) -> Floats:
    """When a rank was there, in between its cuts by interpolation; NaN: it did not get there."""
    if not rank.begin.size:
        return np.full(edges.size, np.nan)
    row = np.maximum(np.searchsorted(rank.begin, edges, side="right") - 1, 0)
    part = (edges - rank.begin[row]) / (rank.end[row] - rank.begin[row])
    return np.where((part >= 0) & (part < 1), rank.start_us[row] + part * rank.duration_us[row], np.nan)


def _segment_lengths(edges: Ints, times_us: Floats) -> Floats:
    """How long a segment is about each edge, at least 1 us: from it to the next edge between the same collectives."""
    same = np.diff(edges >> SITE_BITS) == 0
    if not same.any():
        return np.full(edges.size, np.inf)
    lengths = np.where(same, np.diff(times_us) / np.diff(edges), np.nan)
    usual = float(np.nanmedian(lengths))
    after = np.append(lengths, usual)
    return np.maximum(np.where(np.isnan(after), usual, after), 1.0)
