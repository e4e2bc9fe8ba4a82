"""The other side: with how many other jobs' lost time did one job's load coincide, beyond chance?

Every victim is tested as its own lookup would test it, with this one job as the only suspect. Most coincide with
nothing, which a rank correlation alone tells; only the others are compared with chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.lookup.association import associate
from crosswind.analysis.lookup.discovery import false_discovery_rate
from crosswind.analysis.lookup.suspects import RATE, Suspect, Suspicion, Test, rank_suspects

__all__ = ["Coincidences", "coincidences"]

LEAST_RHO = 0.1  # below it no victim is compared with chance
# Chance may do as well in none of 3999 draws. Losses that themselves come and go over the run fit a stranger's
# load several times as often as their p says, and here one load meets many losses.
MOST_P = 0.0005

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Coincidences(Generic[V, K]):
    """tested: how many victims could be. lines: those whose dents coincided with a load, the surest first, with the
    load that fits best; q there is that over all victims.
    """

    tested: int
    lines: tuple[tuple[V, Suspicion[K]], ...]


def coincidences(
    victims: Iterable[tuple[V, NDArray[np.float64], Sequence[Suspect[K]]]], *, test: Test = associate
) -> Coincidences[V, K]:
    """Test each victim: whatever it is for the caller, its loss [slice], and the job's loads on its slices. test: as
    for `rank_suspects`.

    Of the victims in the list at most a share of RATE is expected to be chance (Benjamini and Hochberg over all that
    were tested; those not compared with chance count with p = 1, a victim with several loads by its best p times their
    number).
    """
    best: list[tuple[V, Suspicion[K] | None]] = []
    for victim, loss, suspects in victims:
        rho = test(loss, np.array([s.load for s in suspects]), surrogates=0).rho if suspects else np.zeros(0)
        if not np.isnan(rho).all():
            likely = bool(np.nanmax(rho) >= LEAST_RHO)
            best.append((victim, _best(loss, suspects, test) if likely else None))
    p = np.array([1.0 if line is None else line.p for _, line in best])
    q = false_discovery_rate(p)
    found = [
        (victim, replace(line, q=float(q[i])))
        for i, (victim, line) in enumerate(best)
        if line is not None and q[i] <= RATE
    ]
    found.sort(key=lambda row: (row[1].q, -row[1].effect))
    return Coincidences(len(best), tuple(found))


def _best(loss: NDArray[np.float64], suspects: Sequence[Suspect[K]], test: Test) -> Suspicion[K] | None:
    """The finding of a victim's own lookup that is surest, its p times the number of loads; None: there is none."""
    found = [line for line in rank_suspects(loss, suspects, test=test).lines if line.found and line.p < MOST_P]
    if not found:
        return None
    line = min(found, key=lambda each: each.p)
    return replace(line, p=min(1.0, line.p * len(suspects)))
