"""What the injector has to be told so that a run loses about a given part of its time.

Two kinds of interference:

`calls`     all the time, on one rank: any call that moves data or synchronises may be held up, as by the thesis's
            injector (section 5.2.1), by half a usual segment.
`episodes`  in three stretches that hold 30 % of the work, on all ranks: half of the collectives are held up.

How much was really added is never taken from here, but from the injector's log (truth.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["KINDS", "Clean", "Injection", "plan_injection"]

KINDS = ("calls", "episodes")
COLLECTIVES = ("MPI_Allreduce", "MPI_Barrier", "MPI_Alltoall", "MPI_Allgather", "MPI_Bcast", "MPI_Reduce")
POINT_TO_POINT = ("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Wait", "MPI_Waitall")
SHORTEST_US = 300.0  # below, what a sleep adds by itself would be most of a delay
LONGEST_US = 20_000.0  # above, a few delays would make up all of a run of seconds
DEVIATION = 0.2  # of the mean
OFTEN = 0.5  # the largest part of calls to hold up
N_EPISODES = 3
EPISODES_SHARE = 0.3  # of the work


@dataclass(frozen=True)
class Clean:
    """What a run without interference looked like.

    duration_s: of all segments. start_s: from the begin of a rank's process to its first segment. usual_us: duration of
    a segment, half of the time is in shorter ones. calls: per function, of one rank.
    """

    duration_s: float
    start_s: float
    usual_us: float
    calls: Mapping[str, int]
    ranks: int

    def count(self, functions: tuple[str, ...]) -> int:
        """Calls of these functions by one rank."""
        return sum(self.calls.get(name, 0) for name in functions)


@dataclass(frozen=True)
class Injection:
    """Options of `crosswind inject`."""

    functions: tuple[str, ...]
    mean_us: float
    probability: float
    seed: int
    ranks: tuple[int, ...] = ()
    episodes: tuple[tuple[float, float], ...] = ()

    def arguments(self) -> list[str]:
        """As the command line has them."""
        found = [
            "--functions", ",".join(self.functions), "--mean", f"{self.mean_us:.0f}us",
            "--deviation", f"{DEVIATION * self.mean_us:.0f}us", "--probability", f"{self.probability:.9f}",
            "--seed", str(self.seed),
        ]  # fmt: skip
        if self.ranks:
            found += ["--ranks", ",".join(map(str, self.ranks))]
        if self.episodes:
            found += ["--episodes", ",".join(f"{begin:.3f}-{end:.3f}" for begin, end in self.episodes)]
        return found


def plan_injection(clean: Clean, kind: str, injected_pct: float, seed: int) -> Injection:
    """The injection that costs about `injected_pct` percent of the disturbed run. ValueError: no such kind or share.

    The clean time T becomes D = T / (1 - injected), of which D - T is added.
    """
    if kind not in KINDS or not 0 <= injected_pct < 100:
        raise ValueError(f"no injection {kind!r} of {injected_pct:g} %")
    share = injected_pct / 100
    added_s = clean.duration_s * share / (1 - share)
    if kind == "calls":
        return _on_one_rank(clean, added_s, seed)
    return _in_episodes(clean, added_s, seed)


def _on_one_rank(clean: Clean, added_s: float, seed: int) -> Injection:
    functions = COLLECTIVES + POINT_TO_POINT
    calls = max(clean.count(functions), 1)
    mean_us = float(np.clip(clean.usual_us / 2, SHORTEST_US, LONGEST_US))
    mean_us = max(mean_us, 1e6 * added_s / calls)
    rank = int(np.random.default_rng(seed).integers(clean.ranks))
    return Injection(functions, mean_us, min(1e6 * added_s / calls / mean_us, 1.0), seed, ranks=(rank,))


def _in_episodes(clean: Clean, added_s: float, seed: int) -> Injection:
    """Delays of several ranks in one collective overlap: it costs the longest of them."""
    calls = max(EPISODES_SHARE * clean.count(COLLECTIVES), 1.0)
    wanted_us = 1e6 * added_s / calls  # per collective in an episode
    mean_us = max(SHORTEST_US, wanted_us / (1 - (1 - OFTEN) ** clean.ranks))
    probability = 1 - max(1 - wanted_us / mean_us, 0.0) ** (1 / clean.ranks)
    episodes = _stretches(clean, added_s, seed) if added_s else ()
    return Injection(COLLECTIVES, mean_us, probability, seed, episodes=episodes)


def _stretches(clean: Clean, added_s: float, seed: int) -> tuple[tuple[float, float], ...]:
    """One stretch at random in each third of the disturbed run, in seconds of a process's life."""
    third = (clean.duration_s + added_s) / N_EPISODES
    length = (EPISODES_SHARE * clean.duration_s + added_s) / N_EPISODES
    begins = clean.start_s + np.arange(N_EPISODES) * third
    begins = begins + np.random.default_rng(seed).random(N_EPISODES) * (third - length)
    return tuple((float(begin), float(begin + length)) for begin in begins)
