"""Synthetic systems: fifty jobs on shared file systems, one victim, and maybe one culprit that is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SLICES = 900  # an hour
FILE_SYSTEMS = ("scratch", "work")


@dataclass(frozen=True)
class System:
    """loss: [slice], depth of the victim's dents. loads: [job, slice]. culprit: its job, -1: nobody."""

    loss: NDArray[np.float64]
    rate: NDArray[np.float64]
    loads: NDArray[np.float64]
    culprit: int


def system(seed: int, *, culprit: bool, jobs: int = 50, slices: int = SLICES) -> System:
    """Loads of many kinds; a culprit slows the victim down while it is busy, in the same slice and the one after."""
    random = np.random.default_rng(seed)
    loads = np.array([_load(random, slices) for _ in range(jobs)])
    slowed = _own_dents(random, slices)
    chosen = -1
    if culprit:
        busy = [j for j in range(jobs) if _is_bursty(loads[j])]
        chosen = int(random.choice(busy))
        push = loads[chosen] / loads[chosen].max()
        late = random.random() * 0.5
        push = (1 - late) * push + late * np.concatenate(([0.0], push[:-1]))
        slowed = slowed + random.uniform(0.15, 0.6) * push
    rate = 1000 * np.exp(random.normal(0, random.uniform(0.01, 0.05), slices)) * (1 - np.minimum(slowed, 0.95))
    return System(loss=1 - rate / np.median(rate), rate=rate, loads=loads, culprit=chosen)


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
