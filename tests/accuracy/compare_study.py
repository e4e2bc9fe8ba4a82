"""How often runs that differ by chance alone are called slower, and how often a steady slow-down is called.

python -m accuracy.compare_study --comparisons 150        (make accuracy-compare)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from accuracy.disturbances import episodes
from accuracy.simulator import Noise, molecular_dynamics, simulate

from crosswind.analysis import compare
from crosswind.profile.segments import SegmentTable

FIRST_SEED = 70_000
STEPS = 1000
NOISE = Noise(jitter=0.01)
EPISODES_PCT = 10.0  # of every other run: lost by itself, and no steady slow-down
BETWEEN_RUNS_PCT = (0.0, 0.3, 0.5, 1.0)  # by which the speed of whole runs varies, one standard deviation
RUNS = (2, 4)
USUAL_BETWEEN_PCT = 0.3
SLOW_PCT = (1.0, 1.5, 2.0, 3.0, 5.0)  # by which the computation of the last of two runs takes longer


def simulated(seed: int, cost: float, disturbed: bool) -> SegmentTable:
    """A run whose computation takes `cost` times as long, with episodes or without."""
    work = molecular_dynamics(STEPS)
    delays = episodes(work, EPISODES_PCT, seed, share=0.15, n=3) if disturbed else None
    return simulate(replace(work, cost=work.cost * cost), delays, noise=NOISE, seed=seed).table


def called(seed: int, n_runs: int, between_pct: float, slow_pct: float = 0.0) -> bool:
    """Whether a run is called slower: any of them, or the last where that is slowed down."""
    costs = 1 + between_pct / 100 * np.random.default_rng([seed, 9]).standard_normal(n_runs)
    costs[-1] *= 1 + slow_pct / 100
    found = compare([simulated(10 * seed + i, cost, disturbed=i % 2 == 1) for i, cost in enumerate(costs)])
    return bool(found.is_slower[-1] if slow_pct else found.is_slower.any())


def print_row(title: str, answers: Iterable[bool]) -> None:
    each = list(answers)
    print(f"{title}: {sum(each)} of {len(each)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=150)
    seeds = range(FIRST_SEED, FIRST_SEED + parser.parse_args().comparisons)
    print("called slower though only chance differs")
    for between_pct in BETWEEN_RUNS_PCT:
        for n_runs in RUNS:
            row = (called(seed, n_runs, between_pct) for seed in seeds)
            print_row(f"  {n_runs} runs, their speed varies by {between_pct:g} %", row)
    print(f"called slower where it is, of 2 runs whose speed varies by {USUAL_BETWEEN_PCT:g} %")
    for slow_pct in SLOW_PCT:
        row = (called(seed, 2, USUAL_BETWEEN_PCT, slow_pct) for seed in seeds)
        print_row(f"  computation takes {slow_pct:g} % longer", row)


if __name__ == "__main__":
    main()
