"""By how much one run was slower than another throughout, and how far chance explains that.

The undisturbed level of like segments is compared between runs. Two figures say what chance can do:

within a run   the level differs from one part of the run to the next (clocks, memory pages, temperature). Each run's
               members of a cluster are cut into blocks in run order, the level is found in each, and the standard error
               of the whole is the spread of the blocks over the root of their number: batch means (C. Alexopoulos and
               A. F. Seila, Output data analysis, in: Handbook of Simulation, 1998), with medians for robustness.
between runs   runs of a program differ in speed as a whole, by placement and processor, with nobody's interference.
               That cannot be learned from two runs; `_BETWEEN_RUNS` of the level is allowed for, and with three runs or
               more, what all but the slowest differ by, if that is more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.baseline import levels_of_rows

__all__ = ["level_and_error", "steady_loss"]

_BLOCKS = 10
_LEAST_IN_BLOCK = 4
_DEVIATION = 1.4826  # of a Gaussian, in medians of the distance from its middle
_LEAST_ERROR = 0.0005  # of the level; what clocks cannot tell apart
_BETWEEN_RUNS = 0.005  # of the level, one standard deviation
_DEVIATIONS = 2.576  # a slow-down that chance explains in one of a hundred runs


def level_and_error(duration_us: NDArray[np.float64]) -> tuple[float, float]:
    """The undisturbed level of the members of a cluster [member], in run order, and its standard error."""
    level = float(levels_of_rows(np.sort(duration_us)[None, :])[0])
    n_blocks = min(_BLOCKS, duration_us.size // _LEAST_IN_BLOCK)
    if n_blocks < 2:
        return level, level
    length = duration_us.size // n_blocks
    blocks = np.sort(duration_us[: n_blocks * length].reshape(n_blocks, length), axis=1)
    levels = levels_of_rows(blocks)
    spread = _DEVIATION * float(np.median(np.abs(levels - np.median(levels))))
    return level, max(spread / np.sqrt(n_blocks), _LEAST_ERROR * level)


def steady_loss(
    level_us: NDArray[np.float64], error_us: NDArray[np.float64], size: NDArray[np.int64], total_us: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percent of each run by which it was slower throughout than the quickest, [run], and how much chance explains.

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
    chance = np.sqrt(variance + np.square(np.sqrt(2) * _between_runs(sums) * own_us))
    chance[quickest] = 0.0
    return 100 * np.maximum(loss_us, 0.0) / total_us, 100 * _DEVIATIONS * chance / total_us


def _between_runs(sums: NDArray[np.float64]) -> float:
    """How much undisturbed runs of the program differ as a whole, one standard deviation in parts of a run."""
    if sums.size < 3:
        return _BETWEEN_RUNS
    others = np.sort(sums)[:-1]
    return max(_BETWEEN_RUNS, _DEVIATION * float(np.median(np.abs(others - np.median(others)))) / float(others[0]))
