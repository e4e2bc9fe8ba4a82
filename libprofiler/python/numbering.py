"""Which ranks number their world-sized collectives alike, so that equal numbers are the same collectives.

A rank that missed some counts on with a difference from then on, and each of its segments would be compared with other
ones of the rest. Two things tell: how many there were in all, of ranks that came to MPI_Finalize, and which function
closed the same segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.in_step import is_site
from crosswind.profile.segment_log import SITE_BITS

__all__ = ["NOT_COMPARED", "NO_COMMON_NUMBERS", "Closings", "closings_of", "ranks_numbered_alike"]

NOT_COMPARED = "its segments are left out: it counted other collectives than most ranks"
NO_COMMON_NUMBERS = "the segments of its run are left out: the ranks counted different collectives"
ENDS = ("MPI_Finalize", "MPI_Session_finalize")
# Which of these completes a request, and when, is chance: one that closes a segment says nothing.
WAITS = frozenset(
    "MPI_" + name for name in ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
)
MAX_DIFFERENT = 0.05  # of the collectives that are looked at
MAX_COLLECTIVES = 2048  # that are looked at
UNKNOWN = np.int32(1 << 30)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Closings:
    """What closed the segments of one rank. worlds: int64 [segment], ascending, numbers of world-sized collectives.

    functions: their numbers in `names`, [segment], -1 for those that waited for a request. end: how many collectives
    there were when MPI_Finalize began, None where it did not.
    """

    worlds: Ints
    functions: Ints
    names: Sequence[str]
    end: int | None


def closings_of(
    names: Sequence[str], begin: Ints, end: Ints, function: Ints, duration: NDArray[np.float64]
) -> Closings:
    """The closings of the records of a rank, each [record], ascending: positions, numbers of functions, durations.

    Left out are records that merge several collectives, and those next to a record without extent: one call completed
    several collectives there, or one was counted later, and elsewhere they may have ended in another order.
    """
    worlds, ends_at_world = end >> SITE_BITS, ~is_site(end)
    reach = worlds - (begin >> SITE_BITS)
    plain = (reach <= 1) & (duration > 0)
    follows = np.append(begin[1:] != end[:-1], True)
    clear = ends_at_world & (reach == 1) & plain & (np.append(plain[1:], True) | follows)
    waits = np.isin(function, [i for i, name in enumerate(names) if name in WAITS])
    last = names[int(function[-1])] if end.size else ""
    return Closings(
        worlds=worlds[clear],
        functions=np.where(waits, -1, function)[clear],
        names=names,
        end=int(worlds[-1]) if last in ENDS else None,
    )


def ranks_numbered_alike(ranks: Sequence[Closings]) -> Bools:
    """Bool [rank]: those that number collectives as most ranks do. None does if there is no such majority.

    Each rank has records. One that was killed is judged by the functions alone.
    """
    if not ranks:
        return np.zeros(0, dtype=np.bool_)
    alike = _end_alike(ranks) & _close_alike(ranks)
    return alike if 2 * np.count_nonzero(alike) >= len(ranks) else np.zeros_like(alike)


def _end_alike(ranks: Sequence[Closings]) -> Bools:
    """Bool [rank]: false for those that ended with another number than more than half of the ranks that ended."""
    ended = np.array([r.end is not None for r in ranks], dtype=np.bool_)
    ends = np.array([r.end or 0 for r in ranks], dtype=np.int64)
    if not ended.any():
        return ~ended
    numbers, n_ranks = np.unique(ends[ended], return_counts=True)
    if 2 * n_ranks.max() <= np.count_nonzero(ended):
        return np.zeros_like(ended)
    return ~ended | (ends == numbers[np.argmax(n_ranks)])


def _close_alike(ranks: Sequence[Closings]) -> Bools:
    """Bool [rank]: false for those whose segments often are closed by another function than those of most ranks.

    A rank that waits for collectives more often than rarely is not judged: what ends when is chance there.
    """
    functions = _functions(ranks, _some_worlds(ranks))
    functions = functions[:, 2 * np.count_nonzero(functions != UNKNOWN, axis=0) >= len(ranks)]
    waits, known = functions < 0, (functions >= 0) & (functions < UNKNOWN)
    functions[waits] = UNKNOWN
    n_known = np.count_nonzero(known, axis=0)
    # where one function has the majority, it is the one in the middle of all in order
    middle = np.sort(functions, axis=0)[np.maximum(n_known - 1, 0) // 2, np.arange(n_known.size)]
    same = known & (functions == middle)
    has_majority = 2 * np.count_nonzero(same, axis=0) > n_known
    known &= n_known > 1
    n_looked_at, n_waits = np.count_nonzero(known, axis=1), np.count_nonzero(waits, axis=1)
    different = np.count_nonzero(known & ~(same & has_majority), axis=1)
    waits_rarely = n_waits <= MAX_DIFFERENT * (n_looked_at + n_waits)
    return ~waits_rarely | (different <= np.maximum(1, MAX_DIFFERENT * n_looked_at))


def _some_worlds(ranks: Sequence[Closings]) -> Ints:
    """Collectives that end segments, at most MAX_COLLECTIVES, as many of each rank, chosen at random: no period of the
    program meets that.
    """
    random = np.random.default_rng(0)
    share = -(-MAX_COLLECTIVES // len(ranks))
    chosen = [
        r.worlds if r.worlds.size <= share else r.worlds[random.integers(r.worlds.size, size=share)] for r in ranks
    ]
    worlds = np.unique(np.concatenate(chosen))
    return worlds if worlds.size <= MAX_COLLECTIVES else np.sort(random.choice(worlds, MAX_COLLECTIVES, replace=False))


def _functions(ranks: Sequence[Closings], worlds: Ints) -> NDArray[np.int32]:
    """What closed the segments that these collectives end, int32 [rank, collective]: a number for each name, -1 for a
    wait, UNKNOWN.
    """
    numbers: dict[str, int] = {}
    out = np.full((len(ranks), worlds.size), UNKNOWN, dtype=np.int32)
    for row, rank in zip(out, ranks, strict=True):
        if not rank.worlds.size:
            continue
        used, which = np.unique(rank.functions, return_inverse=True)
        common = [numbers.setdefault(rank.names[i], len(numbers)) if i >= 0 else -1 for i in used.tolist()]
        at = np.minimum(np.searchsorted(rank.worlds, worlds), rank.worlds.size - 1)
        found = rank.worlds[at] == worlds
        row[found] = np.array(common, dtype=np.int32)[which[at[found]]]
    return out
