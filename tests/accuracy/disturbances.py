"""Interference: how long each segment of a workload is held up, [segment], so that it costs a given part of the run."""

from __future__ import annotations

import numpy as np
from accuracy.simulator import Workload
from numpy.typing import NDArray

__all__ = ["delay_per_call", "episodes", "io_storms", "periodic", "scattered", "slowdown"]

Delays = NDArray[np.float64]


def episodes(work: Workload, injected_pct: float, seed: int, *, share: float, n: int = 1) -> Delays:
    """`n` stretches, together `share` of the segments, in which each is held up in proportion to its length."""
    rng = np.random.default_rng([seed, 1])
    length = max(1, round(share * work.n_segments / n))
    hit = np.zeros(work.n_segments, dtype=bool)
    for part in np.array_split(np.arange(work.n_segments), n):
        begin = rng.integers(part[0], max(part[-1] - length + 1, part[0]) + 1)
        hit[begin : begin + length] = True
    return _scaled(work.length_us, hit, injected_pct, work, rng)


def slowdown(work: Workload, injected_pct: float, seed: int) -> Delays:
    """All segments, from the first to the last, in the same proportion to their length."""
    share = injected_pct / 100
    return work.length_us * (share / (1 - share))


def scattered(work: Workload, injected_pct: float, seed: int, *, probability: float) -> Delays:
    """Each segment is held up with `probability`, in proportion to its length."""
    rng = np.random.default_rng([seed, 2])
    return _scaled(work.length_us, rng.random(work.n_segments) < probability, injected_pct, work, rng)


def periodic(work: Workload, injected_pct: float, seed: int, *, period_s: float, duty: float = 0.33) -> Delays:
    """Something that is active for `duty` of every `period_s` seconds, as another job's checkpoints are."""
    rng = np.random.default_rng([seed, 3])
    at_s = np.cumsum(work.length_us) / 1e6 + rng.random() * period_s
    return _scaled(work.length_us, (at_s % period_s) < duty * period_s, injected_pct, work, rng)


def io_storms(work: Workload, injected_pct: float, seed: int, *, share: float) -> Delays:
    """Stretches of `share` of the run in which I/O takes longer, in proportion to its own time."""
    rng = np.random.default_rng([seed, 4])
    block = max(work.n_segments // 20, 1)
    blocks = rng.permutation(20)[: round(20 * share)]
    return _scaled(work.io_us, np.isin(np.arange(work.n_segments) // block, blocks), injected_pct, work, rng)


def delay_per_call(work: Workload, injected_pct: float, seed: int) -> Delays:
    """Calls are delayed at random, each by half a segment more or less: the thesis's injector, section 5.2.1."""
    rng = np.random.default_rng([seed, 5])
    usual = float(np.median(work.length_us))
    share = injected_pct / 100
    wanted = work.length_us.sum() * share / (1 - share)
    probability = min(wanted / (0.5 * usual) / work.p2p_calls.sum(), 1.0)
    hits = rng.binomial(work.p2p_calls.astype(np.int64), probability)
    return hits * 0.5 * usual * np.maximum(1 + 0.1 * rng.standard_normal(work.n_segments), 0.0)


def _scaled(
    base: Delays, hit: NDArray[np.bool_], injected_pct: float, work: Workload, rng: np.random.Generator
) -> Delays:
    """Delays of the hit segments in proportion to `base`, 30 % more or less, that make `injected_pct` of the run."""
    weights = np.where(hit, base * np.maximum(1 + 0.3 * rng.standard_normal(hit.size), 0.1), 0.0)
    share = injected_pct / 100
    return weights * (work.length_us.sum() * share / (1 - share) / max(weights.sum(), 1e-9))
