"""How often lookup names the planted culprit, and how often it accuses somebody where there is none.

python -m accuracy.lookup_study --systems 200        (make accuracy-lookup)
"""

from __future__ import annotations

import argparse

import numpy as np

from crosswind.analysis.lookup import Role, Suspect, Suspicion, coincidences, rank_suspects
from support.contention import SLICES, System, system, while_it_ran

FIRST_SEED = 60_000


def with_culprit(seed: int) -> tuple[bool, bool, bool]:
    """Whether the planted culprit is the first job of the list, called found, and first of all lines: signs that were
    found stand before jobs that were not.
    """
    made = system(seed, culprit=True)
    lines = _list(made)
    first = next(line for line in lines if line.suspect.role is Role.LOAD)
    named = first.suspect.key == made.culprit
    return named, named and first.found, lines[0].suspect.key == made.culprit


def without_culprit(seed: int) -> bool:
    """Whether a job, or all of them together, is accused; signs feel the victim's own dents and are found."""
    made = system(seed, culprit=False)
    return any(line.found and line.suspect.role is not Role.SIGN for line in _list(made))


def _list(made: System) -> tuple[Suspicion[int], ...]:
    return rank_suspects(made.loss, made.suspects()).lines


def held_up_once(seed: int) -> bool:
    """Whether somebody is accused where the victim was held up once, among jobs that begin and end once."""
    random = np.random.default_rng(seed)
    at = np.arange(SLICES)
    width = int(random.integers(SLICES // 6, SLICES // 3))
    begin = int(random.integers(50, SLICES - width - 50))
    loss = ((at >= begin) & (at < begin + width)) + random.choice([0.05, 0.3]) * random.random(SLICES)
    jobs = random.integers(0, 600, (50, 2))
    loads = np.array([((at >= start) & (at < start + length)).astype(float) for start, length in jobs])
    return any(line.found for line in rank_suspects(loss, [Suspect(j, "fs", x) for j, x in enumerate(loads)]).lines)


def blamed(seed: int) -> bool:
    """The other side: whether a job is blamed by any of twenty victims of other systems, which it never met."""
    load = while_it_ran(system(seed, culprit=False, jobs=5).loads[3])
    losses = [system(1000 * seed + i, culprit=True, jobs=20).loss for i in range(20)]
    return bool(coincidences([(i, loss, [Suspect("w", "fs", load)]) for i, loss in enumerate(losses)]).lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    wanted = parser.parse_args()
    seeds = range(wanted.first_seed, wanted.first_seed + wanted.systems)
    first, found, top = np.mean([with_culprit(seed) for seed in seeds], axis=0)
    print(f"planted culprit the first job of the list: {first:.1%}, called found: {found:.1%}, first line: {top:.1%}")
    print(f"somebody accused without a culprit: {np.mean([without_culprit(seed + 40_000) for seed in seeds]):.1%}")
    print(f"somebody accused where the victim was held up once: {np.mean([held_up_once(seed) for seed in seeds]):.1%}")
    print(f"a job blamed by any of twenty victims that it never met: {np.mean([blamed(seed) for seed in seeds]):.1%}")


if __name__ == "__main__":
    main()
