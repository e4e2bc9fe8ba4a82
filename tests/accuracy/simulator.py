"""Segmented runs with known truth: what each segment does, what disturbs it, and the table a profile would hold.

Each rank computes, with its own jitter; point-to-point and I/O follow; the closing collective waits for the slowest
rank. Interference holds up one rank of a segment, and all others wait for it. The truth is by how much later the
segments ended, in percent of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.segments import SegmentTable

N_RANKS = 4
CLOSING_US = 30.0  # what the closing collective takes by itself
INSTRUCTIONS_PER_US = 3_000


@dataclass(frozen=True)
class Workload:
    """What each segment does on every rank; arrays are float64 [segment], times in microseconds, calls and bytes per
    rank. site: uint64, the call sites of the segment. cost: what its computation takes in parts of what its
    instructions say (a slower clock: more than 1). rank_share: [rank, segment], work of each rank in parts of the mean.
    """

    compute_us: NDArray[np.float64]
    p2p_us: NDArray[np.float64]
    io_us: NDArray[np.float64]
    p2p_calls: NDArray[np.float64]
    p2p_bytes: NDArray[np.float64]
    io_calls: NDArray[np.float64]
    io_bytes: NDArray[np.float64]
    site: NDArray[np.uint64]
    cost: NDArray[np.float64]
    rank_share: NDArray[np.float64]

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return self.compute_us.size

    @property
    def length_us(self) -> NDArray[np.float64]:
        """What a segment takes undisturbed, more or less, [segment]."""
        return self.compute_us * self.cost + self.p2p_us + self.io_us + CLOSING_US


@dataclass(frozen=True)
class Noise:
    """What varies without anybody's interference; relative standard deviations.

    jitter: of a rank's time in computation and communication. work: of instruction counts. io: of I/O times
    (log-normal). p2p_bytes: of bytes, drawn anew every bytes_last segments.
    """

    jitter: float = 0.003
    work: float = 0.002
    io: float = 0.05
    p2p_bytes: float = 0.0
    bytes_last: int = 1


@dataclass(frozen=True)
class Run:
    """A simulated run. added_us: float64 [segment], by how much interference lengthened each segment."""

    table: SegmentTable
    added_us: NDArray[np.float64]

    @property
    def true_pct(self) -> float:
        """Added time in percent of the disturbed run."""
        return 100 * self.added_us.sum() / np.median(self.table.columns["dur_us"], axis=0).sum()


def molecular_dynamics(n: int, step_us: float = 20_000.0, output_io: float = 0.45) -> Workload:
    """Time steps as LAMMPS makes them: a setup segment, a neighbour-list rebuild every 20 steps, output every 100.

    step_us: computation of a step. output_io: I/O time of an output step in parts of it.
    """
    step = np.arange(n)
    output = (step % 100 == 0) & (step > 0)
    rebuild = (step % 20 == 0) & ~output & (step > 0)
    setup = step == 0

    def per_kind(plain: float, rebuilding: float, writing: float, starting: float) -> NDArray[np.float64]:
        return np.select([setup, output, rebuild], [starting, writing, rebuilding], plain).astype(np.float64)

    return Workload(
        compute_us=step_us * per_kind(1.0, 1.35, 1.02, 45.0),
        p2p_us=step_us * per_kind(0.075, 0.13, 0.075, 0.25),
        io_us=step_us * per_kind(0, 0, output_io, 2.0),
        p2p_calls=per_kind(12, 30, 12, 80),
        p2p_bytes=per_kind(480_000, 900_000, 480_000, 4_000_000),
        io_calls=per_kind(0, 0, 14, 60),
        io_bytes=per_kind(0, 0, 2_000_000, 300_000),
        site=per_kind(1, 2, 3, 4).astype(np.uint64),
        cost=np.ones(n),
        rank_share=np.ones((N_RANKS, n)),
    )


def simulate(
    work: Workload,
    delay_us: NDArray[np.float64] | None = None,
    *,
    noise: Noise = Noise(),
    counters: bool = True,
    sites: bool = True,
    seed: int = 0,
) -> Run:
    """Simulate a run in which segment i is held up by delay_us[i] on one rank drawn at random.

    counters: whether the machine counts instructions. sites: whether call sites are recorded.
    """
    rng = np.random.default_rng(seed)
    n_ranks, n = work.rank_share.shape
    each_rank = (n_ranks, n)
    delay_us = np.zeros(n) if delay_us is None else delay_us
    held_up = np.zeros(each_rank)
    held_up[rng.integers(n_ranks, size=n), np.arange(n)] = delay_us

    instructed = work.compute_us * work.rank_share
    compute = instructed * work.cost * (1 + noise.jitter * rng.standard_normal(each_rank))
    p2p = work.p2p_us * (1 + noise.jitter * np.abs(rng.standard_normal(each_rank)))
    io = work.io_us * np.exp(noise.io * rng.standard_normal(n))
    busy = compute + p2p + io
    quiet = busy.max(axis=0)
    duration = (busy + held_up).max(axis=0) + CLOSING_US
    instructions = instructed * INSTRUCTIONS_PER_US * (1 + noise.work * rng.standard_normal(each_rank))
    epoch = np.arange(n) // noise.bytes_last
    bytes_factor = 1 + noise.p2p_bytes * rng.standard_normal(each_rank)[:, epoch]
    columns = {
        "t_start_us": 1.76e15 + np.concatenate([[0.0], np.cumsum(duration)[:-1]]),
        "dur_us": duration,
        "comp_us": compute + held_up,
        "p2p_us": p2p,
        "io_us": io,
        "coll_us": duration - busy - held_up,
        "cpu_us": compute,
        "instructions": np.rint(instructions) if counters else 0.0,
        "p2p_calls": work.p2p_calls,
        "p2p_bytes": np.rint(work.p2p_bytes * bytes_factor),
        "coll_calls": 1.0,
        "coll_bytes": 48.0,
        "io_calls": work.io_calls,
        "io_bytes": work.io_bytes,
    }
    table: dict[str, NDArray] = {name: np.array(np.broadcast_to(values, each_rank)) for name, values in columns.items()}
    if sites:
        table["sig"] = np.array(np.broadcast_to(work.site, each_rank))
    return Run(
        SegmentTable(
            index=np.arange(n, dtype=np.int64),
            ranks=np.arange(n_ranks, dtype=np.int64),
            columns=table,
            valid=np.ones(each_rank, dtype=bool),
            stride=np.ones(n, dtype=np.int64),
        ),
        duration - CLOSING_US - quiet,  # a delay that hides in the slack of a fast rank costs less than was injected
    )
