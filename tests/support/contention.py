"""Synthetic systems: fifty jobs that meet a victim on a file system and, some of them, below a switch; what the nodes
of the victim felt; and maybe one culprit that is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.lookup import Role, Suspect

SLICES = 900  # an hour
SWITCHES = 8  # of which the victim's nodes are below two
SIGNS = 12  # what nodes tell; half of them feel what slows the victim down, be it a culprit or itself


@dataclass(frozen=True)
class System:
    """loss: [slice], depth of the victim's dents. loads: [job, slice], on the file system that all share; traffic: the
    same through the switch that the victim shares with the jobs `below` it, bool [job]. signs: [sign, slice], what the
    victim's nodes tell. culprit: its job, -1: nobody.
    """

    loss: NDArray[np.float64]
    rate: NDArray[np.float64]
    loads: NDArray[np.float64]
    traffic: NDArray[np.float64]
    below: NDArray[np.bool_]
    signs: NDArray[np.float64]
    culprit: int

    def suspects(self) -> list[Suspect[int]]:
        """Everything that a lookup would test; the key is the job, or -2."""
        return [
            *(Suspect(j, "fs:net", while_it_ran(load)) for j, load in enumerate(self.loads)),
            *(Suspect(int(j), "net:switch@leaf", while_it_ran(self.traffic[j])) for j in np.flatnonzero(self.below)),
            Suspect(-2, "fs:net", self.loads.sum(axis=0), Role.SUM),
            Suspect(-2, "net:switch@leaf", self.traffic[self.below].sum(axis=0), Role.SUM),
            *(Suspect(-2, "node", sign, Role.SIGN) for sign in self.signs),
        ]


def while_it_ran(load: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unknown before the first and after the last slice in which the job did anything."""
    there = np.flatnonzero(load)
    out = np.full(load.shape, np.nan)
    if there.size:
        out[there[0] : there[-1] + 1] = load[there[0] : there[-1] + 1]
    return out


def system(seed: int, *, culprit: bool, jobs: int = 50, slices: int = SLICES) -> System:
    """Loads of many kinds; a culprit slows the victim down while it is busy on the file system or, where it is below a
    switch of the victim, on the network: in the same slice and the one after.
    """
    random = np.random.default_rng(seed)
    loads, traffic = (np.array([_load(random, slices) for _ in range(jobs)]) for _ in range(2))
    below = random.random(jobs) < 2 / SWITCHES
    slowed = _own_dents(random, slices)
    chosen = -1
    if culprit:
        ways = [(j, loads[j]) for j in range(jobs)] + [(int(j), traffic[j]) for j in np.flatnonzero(below)]
        busy = [(j, load) for j, load in ways if _is_bursty(load)]
        chosen, load = busy[int(random.integers(len(busy)))]
        push = load / load.max()
        late = random.random() * 0.5
        push = (1 - late) * push + late * np.concatenate(([0.0], push[:-1]))
        slowed = slowed + random.uniform(0.15, 0.6) * push
    rate = 1000 * np.exp(random.normal(0, random.uniform(0.01, 0.05), slices)) * (1 - np.minimum(slowed, 0.95))
    signs = np.array([_sign(random, slowed if i % 2 else np.zeros(slices)) for i in range(SIGNS)])
    return System(1 - rate / np.median(rate), rate, loads, traffic, below, signs, chosen)


def _sign(random: np.random.Generator, slowed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Something that a node tells: of its own, and some of what slows the victim down."""
    own = _load(random, slowed.size)
    return random.uniform(0, 0.5) * own / max(own.max(), 1.0) + random.uniform(0.5, 2) * slowed


def _load(random: np.random.Generator, slices: int) -> NDArray[np.float64]:
    """Bytes per slice of one job, from its start to its end."""
    kind = random.choice(["periodic", "bursts", "steady", "rare", "wander"])
    size = 10 ** random.uniform(7, 11)
    at = np.arange(slices)
    if kind == "periodic":
        period, share = random.integers(6, 120), random.uniform(0.1, 0.6)
        shape = ((at + random.integers(period)) % period < max(1, share * period)).astype(float)
    elif kind == "bursts":
        shape = _renewal(random, slices, random.uniform(2, 20), random.uniform(5, 80))
    elif kind == "steady":
        shape = np.ones(slices)
    elif kind == "rare":
        shape = _renewal(random, slices, random.uniform(2, 8), slices / random.uniform(2, 6))
    else:
        shape = np.exp(np.cumsum(random.normal(0, 0.1, slices)))
        shape /= shape.max()
    shape = shape * np.exp(random.normal(0, 0.3, slices))
    begin = int(random.integers(-slices, slices // 2))
    end = int(random.integers(max(begin, 0) + slices // 4, 2 * slices))
    return np.where((at >= begin) & (at < end), size * shape, 0.0)


def _renewal(random: np.random.Generator, slices: int, busy: float, idle: float) -> NDArray[np.float64]:
    """Busy and idle stretches of random length, on and off."""
    lengths = np.maximum(1, np.column_stack([random.exponential(idle, slices), random.exponential(busy, slices)]))
    return np.repeat(np.tile([0.0, 1.0], slices), lengths.astype(int).ravel())[:slices]


def _own_dents(random: np.random.Generator, slices: int) -> NDArray[np.float64]:
    """Dents that no other job makes: a few stretches of an unprofiled cause."""
    return random.uniform(0.05, 0.3) * _renewal(random, slices, random.uniform(1, 6), random.uniform(60, 400))


def _is_bursty(load: NDArray[np.float64]) -> bool:
    """Whether the job is busy in 3 to 60 % of the slices, so that it can make dents at all."""
    return bool(0.03 < np.mean(load > 0.3 * load.max()) < 0.6)
