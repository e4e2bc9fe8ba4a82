"""The ranked list: what rose when the victim lost time, and which of it is more than chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup.association import SURROGATES, Association, associate
from crosswind.analysis.lookup.discovery import false_discovery_rate

__all__ = ["Ranking", "Role", "Suspect", "Suspicion", "Test", "coarse_slices", "rank_suspects"]

RATE = 0.03  # false discoveries that a list may hold
LEAST_SHARE = 0.02  # of the victim's loss: what explains less is no finding, however certain
MOST_SLICES = 2000  # of a victim: longer ones are looked at in coarser slices
MOST_SURROGATES = 1 << 16

K = TypeVar("K")
Test = Callable[..., Association]  # with the parameters of `associate`


class Role(Enum):
    """What a series is to a victim, in the order of a list. LOAD: one job's work, which may be the cause. SUM: that of
    many, such as a server's traffic. SIGN: what a node or server felt, such as time that it waited; it names the
    resource, not who loaded it, and the victim itself may have made it.
    """

    LOAD = 0
    SUM = 1
    SIGN = 2


@dataclass(frozen=True)
class Suspect(Generic[K]):
    """What may have disturbed a job: one series of another job, a node, a server or a background.

    key: whatever tells it apart for the caller. resource: the shared resource on which it meets the victim. load:
    [slice] on the victim's slices, in any unit; NaN where unknown, or where the job did not run.
    """

    key: K
    resource: str
    load: NDArray[np.float64]
    role: Role = Role.LOAD


@dataclass(frozen=True)
class Suspicion(Generic[K]):
    """One line of the list. found: whether it is more than chance and explains something.

    lag: slices by which the loss follows the load. rho, p: see `associate`; q: false-discovery rate at which it counts.
    effect: the share of what the victim lost beyond its usual that goes with this load, 0 to 1; shares of suspects that
    rise together overlap.
    """

    suspect: Suspect[K]
    found: bool
    effect: float
    rho: float
    lag: int
    p: float
    q: float


@dataclass(frozen=True)
class Ranking(Generic[K]):
    """The list: findings first, by rank correlation, then the rest by p; in both by role. repeats: whether
    the victim lost time in enough separate stretches for anything to be found.
    """

    lines: tuple[Suspicion[K], ...]
    repeats: bool


def rank_suspects(
    loss: NDArray[np.float64], suspects: Sequence[Suspect[K]], *, seed: int = 0, test: Test = associate
) -> Ranking[K]:
    """All suspects that could be tested.

    loss: [slice], what the victim lost in each slice (seconds, or how far it fell short), NaN where it was not there.
    test: `associate`, or what gives the same sooner. Chance is drawn so often that one suspect among all can be found.
    Correlation is not a cause: a list names what to look at. InputError: loads of another length than the loss.
    """
    if not suspects:
        return Ranking((), True)
    if any(s.load.shape != loss.shape for s in suspects):
        raise InputError("a load must have the slices of the loss")
    width = coarse_slices(loss.size)
    coarse = _coarser(loss, width)
    surrogates = min(max(SURROGATES, math.ceil(2 * len(suspects) / RATE)), MOST_SURROGATES)
    tested = test(coarse, np.array([_coarser(s.load, width) for s in suspects]), surrogates=surrogates, seed=seed)
    q = _rates(tested.p, suspects)
    effect = _explained(coarse, tested)
    lines = [
        Suspicion(
            suspect=suspect,
            found=bool(tested.repeats and q[i] <= RATE and tested.rho[i] > 0 and effect[i] >= LEAST_SHARE),
            effect=float(effect[i]),
            rho=float(tested.rho[i]),
            lag=int(tested.lag[i]) * width,
            p=float(tested.p[i]),
            q=float(q[i]),
        )
        for i, suspect in enumerate(suspects)
        if not np.isnan(tested.p[i])
    ]
    lines.sort(key=_place_in_list)
    return Ranking(tuple(lines), tested.repeats)


def _rates(p: NDArray[np.float64], suspects: Sequence[Suspect[K]]) -> NDArray[np.float64]:
    """False-discovery rates, [suspect]. Loads of jobs are a family of their own: sums and signs rise with any trouble,
    also with the victim's own, and every true one among the tests would make it easier to find a job by chance.
    """
    of_jobs = np.array([suspect.role is Role.LOAD for suspect in suspects])
    return np.where(of_jobs, false_discovery_rate(np.where(of_jobs, p, np.nan)), false_discovery_rate(p))


def _place_in_list(line: Suspicion[K]) -> tuple[bool, int, float, float]:
    """Sums that a cause is part of, and signs of it, go with the loss as closely as it does: they stand behind it."""
    return not line.found, line.suspect.role.value, -line.rho if line.found else line.p, -line.effect


def coarse_slices(n_slices: int) -> int:
    """How many slices of a victim of so many are looked at as one."""
    return max(1, -(-n_slices // MOST_SLICES))


def _coarser(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Means over `width` neighbouring slices, gaps left out; NaN where all of them are."""
    if width == 1:
        return values.astype(np.float64)
    padded = np.concatenate([values, np.full(-values.size % width, np.nan)]).reshape(-1, width)
    known = ~np.isnan(padded)
    count = known.sum(axis=1)
    total = np.where(known, padded, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def _explained(loss: NDArray[np.float64], tested: Association) -> NDArray[np.float64]:
    """Of what was lost beyond the usual of the slices of low load, the share in those of high load, [suspect]."""
    usual = np.nan_to_num(tested.loss_when_low)
    beyond = np.array([np.nansum(np.maximum(loss - level, 0.0)) for level in usual])
    more = np.maximum(np.nan_to_num(tested.loss_when_high) - usual, 0.0) * tested.slices_high
    return np.minimum(np.divide(more, beyond, out=np.zeros_like(more), where=beyond > 0), 1.0)
