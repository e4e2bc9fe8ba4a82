"""Between which bounds the loss of a group lies, if the members that were taken for undisturbed were undisturbed.

Three things blur the loss: the level is estimated from few or noisy members; what a hit member took contains its noise;
and members below the threshold may hide small losses, as noise above it may pass for one. For each there is a figure
from the members themselves:

level      moving blocks of the members are drawn anew, and the level found in each such sample (block bootstrap, for
           neighbours are alike: H. R. Kuensch, The jackknife and the bootstrap for general stationary observations,
           Annals of Statistics 17, 1989). Samples are small; their spread is scaled by (sample / members) ^ (1/3), for
           that is how fast the middle of a shortest interval converges (D. F. Andrews et al., Robust estimates of
           location, 1972; P. J. Bickel and A. Sakov, On the choice of m in the m out of n bootstrap, 2008).
own noise  of a hit member: as the members that are not hit differ.
skew       what those are above the level in the mean: either a hit member, undisturbed, would have taken that too,
           or it is loss in parts too small to be seen.
by chance  what lies less than 6 noises above the level may be the tail of the noise, and as much as lies further than
           4 below the level, noise puts so far above it.

These say nothing of what a delay costs beyond its own length, nor of what a quiet machine loses anyway, so a run's
bounds lie at least `_LEAST_WIDTH` of its time and `_LEAST_PART` of the loss on either side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import DEVIATION_PER_MAD
from crosswind.analysis.baseline import THRESHOLD_NOISES, Baseline, levels_of_rows

__all__ = ["SURE_NOISES", "bounds_of_loss", "widened"]

_SAMPLES = 40
_MOST_DRAWN = 1000  # members in a sample
_TAIL = 2  # samples on either side: the bounds hold nine of ten
_DEVIATIONS = 1.645  # of a Gaussian, the same
SURE_NOISES = 6.0  # above the level: no tail of undisturbed members reaches there
_LEAST_WIDTH = 0.01  # of a run's time
_LEAST_PART = 0.05  # of its loss


def bounds_of_loss(
    ratios: NDArray[np.float64],
    expected: NDArray[np.float64],
    baseline: Baseline,
    sure_noises: float = SURE_NOISES,
) -> tuple[float, float]:
    """Smallest and largest sum of the losses of a group that its values admit at 90 %, in the unit of `expected`.

    ratios: [member] in run order, of what was measured to expected [member]. sure_noises: how far above the level no
    undisturbed member lies. The same input gives the same bounds.
    """
    down, up = _error_of_level(ratios, baseline.level)
    beyond = ratios - baseline.level
    hit, quiet = baseline.hit, ~baseline.hit
    at_stake = float(expected[hit].sum())
    deviation = max(DEVIATION_PER_MAD * baseline.spread, float(beyond[quiet].std()))
    own_noise = _DEVIATIONS * deviation * float(np.sqrt(np.square(expected[hit]).sum()))
    skew = float(beyond[quiet].mean())
    tails = hit & (beyond < sure_noises * baseline.noise) | (beyond < -THRESHOLD_NOISES * baseline.noise)
    by_chance = float((expected * np.abs(beyond))[tails].sum())
    lost = float((expected * beyond)[hit].sum())
    low = lost - float(np.hypot(at_stake * up, own_noise)) - at_stake * max(skew, 0.0) - by_chance
    may_hide = skew + _DEVIATIONS * deviation / float(np.sqrt(np.count_nonzero(quiet)))
    hidden = max(float(expected[quiet].sum()) * may_hide, -at_stake * skew, 0.0)
    high = lost + float(np.hypot(at_stake * down, own_noise)) + hidden
    return max(low, 0.0), high


def widened(lost: float, bounds: tuple[float, float], total: float) -> tuple[float, float]:
    """The bounds of a run's loss, with at least what real programs were measured to be off by on either side.

    lost, bounds, total: in one unit; total is the whole run.
    """
    least = _LEAST_WIDTH * total + _LEAST_PART * lost
    low, high = bounds
    return max(min(low, lost - least), 0.0), max(high, lost + least)


def _error_of_level(ratios: NDArray[np.float64], level: float) -> tuple[float, float]:
    """How far below and above `level` the level of the ratios may lie; both 0 or more."""
    n = ratios.size
    drawn = min(n, _MOST_DRAWN)
    block = max(round(drawn ** (1 / 3)), 1)
    rng = np.random.default_rng(0)
    begins = rng.integers(n - block + 1, size=(_SAMPLES, -(-drawn // block)))
    members = (begins[:, :, None] + np.arange(block)).reshape(_SAMPLES, -1)[:, :drawn]
    found = levels_of_rows(np.sort(ratios[members], axis=1))
    off = np.sort(found - level)[[_TAIL, -1 - _TAIL]] * (drawn / n) ** (1 / 3)
    return max(-float(off[0]), 0.0), max(float(off[1]), 0.0)
