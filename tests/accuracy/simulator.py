"""Segmented runs with known truth: what each segment does, what disturbs it, and the table a profile would hold.

A run is a sequence of phases. Each rank computes, with its own jitter; point-to-point and I/O follow; the closing
collective waits for the slowest rank. Interference holds up one rank of a segment, and all others wait for it. The
truth is by how much later the segments ended, in percent of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segments import SegmentTable


@dataclass(frozen=True)
class Phase:
    """What one kind of segment does on every rank: times in microseconds, calls and bytes per rank."""

    compute_us: float
    p2p_us: float = 0.0
    io_us: float = 0.0
    p2p_calls: int = 0
    p2p_bytes: int = 0
    io_calls: int = 0
    io_bytes: int = 0


@dataclass(frozen=True)
class Run:
    """A simulated run. added_us: float64 [segment], time that interference added to each segment."""

    table: SegmentTable
    added_us: NDArray[np.float64]

    @property
    def true_pct(self) -> float:
        """Injected time in percent of the disturbed run."""
        return 100 * self.added_us.sum() / np.median(self.table.columns["dur_us"], axis=0).sum()


STEP = Phase(compute_us=20_000, p2p_us=1_500, p2p_calls=12, p2p_bytes=480_000)
REBUILD = Phase(compute_us=27_000, p2p_us=2_600, p2p_calls=30, p2p_bytes=900_000)
OUTPUT = Phase(
    compute_us=20_400, p2p_us=1_500, io_us=9_000, p2p_calls=12, p2p_bytes=480_000, io_calls=14, io_bytes=2_000_000
)
SETUP = Phase(
    compute_us=900_000, p2p_us=5_000, io_us=40_000, p2p_calls=80, p2p_bytes=4_000_000, io_calls=60, io_bytes=300_000
)


def lammps_phases(n_segments: int) -> list[Phase]:
    """One setup segment, then time steps: a neighbour-list rebuild every 20 steps, output every 100."""

    def phase(i: int) -> Phase:
        if i == 0:
            return SETUP
        return OUTPUT if i % 100 == 0 else REBUILD if i % 20 == 0 else STEP

    return [phase(i) for i in range(n_segments)]


def simulate(
    phases: Sequence[Phase],
    added_us: NDArray[np.float64] | None = None,
    *,
    n_ranks: int = 4,
    jitter: float = 0.003,
    work_noise: float = 0.002,
    vary_bytes: float = 0.0,
    bytes_last: int = 1,
    counters: bool = True,
    seed: int = 0,
) -> Run:
    """Simulate a run of ``phases`` in which segment i is held up by added_us[i] on one rank drawn at random.

    jitter: relative standard deviation of a rank's computation time per segment. work_noise: that of its instruction
    count. vary_bytes: that of its point-to-point bytes, drawn anew every bytes_last segments. counters: whether the
    machine counts instructions.
    """
    rng = np.random.default_rng(seed)
    n = len(phases)
    shape = (n_ranks, n)
    added_us = np.zeros(n) if added_us is None else added_us

    def per_phase(name: str) -> NDArray[np.float64]:
        return np.array([getattr(phase, name) for phase in phases], dtype=np.float64)

    compute = per_phase("compute_us") * (1 + jitter * rng.standard_normal(shape))
    held_up = np.zeros(shape)
    held_up[rng.integers(n_ranks, size=n), np.arange(n)] = added_us
    p2p = per_phase("p2p_us") * (1 + jitter * np.abs(rng.standard_normal(shape)))
    io = per_phase("io_us") * (1 + jitter * np.abs(rng.standard_normal(shape)))
    busy = compute + p2p + io
    duration = (busy + held_up).max(axis=0) + 30.0
    # A delay that hides in the slack of a fast rank costs less than was injected.
    truth = duration - 30.0 - busy.max(axis=0)
    begins = np.concatenate([[0.0], np.cumsum(duration)[:-1]])
    instructions = per_phase("compute_us") * 3_000 * (1 + work_noise * rng.standard_normal(shape))
    epoch = np.arange(n) // bytes_last
    p2p_bytes = np.rint(per_phase("p2p_bytes") * (1 + vary_bytes * rng.standard_normal(shape)[:, epoch]))
    columns = {
        "t_start_us": np.tile(1.76e15 + begins, (n_ranks, 1)),
        "dur_us": np.tile(duration, (n_ranks, 1)),
        "comp_us": compute + held_up,
        "p2p_us": p2p,
        "io_us": io,
        "coll_us": duration - busy - held_up,
        "cpu_us": compute,
        "instructions": np.rint(instructions) if counters else np.zeros(shape),
        "p2p_calls": np.tile(per_phase("p2p_calls"), (n_ranks, 1)),
        "p2p_bytes": p2p_bytes,
        "coll_calls": np.ones(shape),
        "coll_bytes": np.full(shape, 48.0),
        "io_calls": np.tile(per_phase("io_calls"), (n_ranks, 1)),
        "io_bytes": np.tile(per_phase("io_bytes"), (n_ranks, 1)),
    }
    table = SegmentTable(
        index=np.arange(n, dtype=np.int64),
        ranks=np.arange(n_ranks, dtype=np.int64),
        columns=columns,
        valid=np.ones(shape, dtype=bool),
        stride=np.ones(n, dtype=np.int64),
    )
    return Run(table, truth)


def episodes(
    phases: Sequence[Phase], share: float, injected_pct: float, n_episodes: int, seed: int
) -> NDArray[np.float64]:
    """Delays [segment] of ``n_episodes`` stretches, ``share`` of the segments, that cost ``injected_pct`` of the run.

    Within an episode every segment is held up in proportion to its length, more or less (30 % standard deviation).
    """
    rng = np.random.default_rng([seed, 1])
    n = len(phases)
    length = max(1, round(share * n / n_episodes))
    hit = np.zeros(n, dtype=bool)
    for part in np.array_split(np.arange(n), n_episodes):
        begin = rng.integers(part[0], max(part[-1] - length, part[0]) + 1)
        hit[begin : begin + length] = True
    return _scaled(phases, hit, injected_pct, rng)


def scattered(phases: Sequence[Phase], probability: float, injected_pct: float, seed: int) -> NDArray[np.float64]:
    """Delays [segment] that strike each segment with ``probability`` and cost ``injected_pct`` of the run."""
    rng = np.random.default_rng([seed, 2])
    return _scaled(phases, rng.random(len(phases)) < probability, injected_pct, rng)


def _scaled(
    phases: Sequence[Phase], hit: NDArray[np.bool_], injected_pct: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Delays of the hit segments, in proportion to their length, that make ``injected_pct`` of the disturbed run."""
    length = np.array([phase.compute_us + phase.p2p_us + phase.io_us for phase in phases])
    weights = np.where(hit, length * np.maximum(1 + 0.3 * rng.standard_normal(hit.size), 0.1), 0.0)
    share = injected_pct / 100
    return weights * (length.sum() * share / (1 - share) / max(weights.sum(), 1e-9))
