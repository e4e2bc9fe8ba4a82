"""By how much one run was slower than another throughout, and how far chance explains that.

The undisturbed level of like segments is compared between runs. Two figures say what chance can do:

within a run   the level differs from one part of the run to the next (clocks, memory pages, temperature). Each run's
               members of a cluster are cut into blocks in run order, the level is found in each, and the standard error
               of the whole is the spread of the blocks over the root of their number: batch means (C. Alexopoulos and
               A. F. Seila, Output data analysis, in: Handbook of Simulation, 1998), with medians for robustness.
between runs   runs of a program differ in speed as a whole, by placement and processor, with nobody's interference.
               That cannot be learned from two runs; `_BETWEEN_RUNS` of the level is allowed for, and with three runs or
               more, what all but the slowest differ by, if that is more. No more than `_MOST_BETWEEN_RUNS`: several
               slow runs would otherwise pass for one another's chance. Where that limit holds, it is said.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import DEVIATION_PER_MAD
from crosswind.analysis.baseline import levels_of_rows

__all__ = ["SteadyLoss", "level_and_error", "steady_loss"]

_BLOCKS = 10
_LEAST_IN_BLOCK = 4
_LEAST_ERROR = 0.0005  # of the level; what clocks cannot tell apart
_BETWEEN_RUNS = 0.005  # of the level, one standard deviation
_MOST_BETWEEN_RUNS = 0.05  # of the level: what crowded machines were measured to do, and more is not called chance
_DEVIATIONS = 2.576  # a slow-down that chance explains in one of a hundred runs


class SteadyLoss(NamedTuple):
    """How much slower runs were than the quickest, percent of each run [run], and how much of it chance explains.

    differ_pct: by how much the slowest run exceeds the quickest, percent of the quickest, where the runs differ too
    much among themselves to tell chance from interference; else None.
    """

    steady_pct: NDArray[np.float64]
    chance_pct: NDArray[np.float64]
    differ_pct: float | None


def level_and_error(duration_us: NDArray[np.float64]) -> tuple[float, float]:
    """The undisturbed level of the members of a cluster [member], in run order, and its standard error."""
    level = float(levels_of_rows(np.sort(duration_us)[None, :])[0])
    n_blocks = min(_BLOCKS, duration_us.size // _LEAST_IN_BLOCK)
    if n_blocks < 2:
        return level, level
    length = duration_us.size // n_blocks
    blocks = np.sort(duration_us[: n_blocks * length].reshape(n_blocks, length), axis=1)
    levels = levels_of_rows(blocks)
    spread = DEVIATION_PER_MAD * float(np.median(np.abs(levels - np.median(levels))))
    return level, max(spread / np.sqrt(n_blocks), _LEAST_ERROR * level)


def steady_loss(
    level_us: NDArray[np.float64], error_us: NDArray[np.float64], size: NDArray[np.int64], total_us: NDArray[np.float64]
) -> SteadyLoss:
    """By how much each run was slower throughout than the quickest.

    level_us, error_us, size: [run, cluster], of the clusters that all runs have. total_us: [run]. The quickest run is
    the one with the smallest sum of levels over the clusters, each weighed by its mean number of segments: the least
    level of every single cluster would be the least of many noisy figures.
    """
    weight = size.mean(axis=0)
    sums = level_us @ weight
    quickest = int(np.argmin(sums))
    loss_us = ((level_us - level_us[quickest]) * size).sum(axis=1)
    variance = (np.square(error_us) * np.square(size)).sum(axis=1)
    variance += (np.square(error_us[quickest]) * np.square(size)).sum(axis=1)
    own_us = (level_us * size).sum(axis=1)
    learned = _spread_of_runs(sums)
    between = min(max(_BETWEEN_RUNS, learned), _MOST_BETWEEN_RUNS)
    chance = np.sqrt(variance + np.square(np.sqrt(2) * between * own_us))
    chance[quickest] = 0.0
    return SteadyLoss(
        steady_pct=100 * np.maximum(loss_us, 0.0) / total_us,
        chance_pct=100 * _DEVIATIONS * chance / total_us,
        differ_pct=100 * float(sums.max() / sums.min() - 1) if learned > _MOST_BETWEEN_RUNS else None,
    )


def _spread_of_runs(sums: NDArray[np.float64]) -> float:
    """By how much all runs but the slowest differ, one standard deviation in parts of a run; 0 where nothing tells.

    sums: [run], of their levels.
    """
    if sums.size < 3 or sums.min() <= 0:
        return 0.0
    others = np.sort(sums)[:-1]
    return DEVIATION_PER_MAD * float(np.median(np.abs(others - np.median(others)))) / float(others[0])
