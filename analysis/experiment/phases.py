"""Do the dents of a probe fall into the active phases of a signal?

Spearman's rank correlation (C. Spearman 1904) between the probe's rate in each slice and the share of the slice in
which the signal was active: strongly negative where the signal disturbs. Chance is the same active phases at other
times: the signal's course is shifted around the run, which keeps its period and the probe's memory of itself. A run
counts as long as whole periods go: in a rest of one the shift would break the period, and the truth, the only course
that keeps it, would look rarer than it is where the probe has a period of its own. A shift by a whole period is then
the truth again, so a single run whose phases are all alike gives no p below one over the slices of a period.
Repetitions are independent of one another, for they begin at any point of the signal's period, and each is shifted by
itself: together they say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from crosswind.analysis.errors import InputError

__all__ = ["PhaseEffect", "PhaseRun", "active_share", "phase_effect"]

DRAWS = 9999
LEAST_SLICES = 8  # of a run, for a correlation
INSIDE, OUTSIDE = 0.95, 0.05  # share of a slice that makes it lie in an active phase, or in a silent one
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PhaseRun:
    """One run. rate: of the probe, any unit, [slice], NaN where unknown. active: share of the slice in which the signal
    was at work, [slice], 0 to 1. period: of the signal, slices, above 0; None: it has none.
    """

    rate: Floats
    active: Floats
    period: float | None = None


@dataclass(frozen=True)
class PhaseEffect:
    """What the signal's phases do to the probe, over all runs.

    rho: mean rank correlation over the runs, of the slices of whole periods; by_run: each run's, NaN where it has too
    few slices or nothing changes. p:
    how often chance is as low. inside, outside: mean rate in slices wholly within active and within silent phases, unit
    of the rate; NaN where there are none. depth_pct: how far the rate falls inside, percent of outside. slices_inside,
    slices_outside: how many slices these are.
    """

    rho: float
    by_run: tuple[float, ...]
    p: float
    inside: float
    outside: float
    depth_pct: float
    slices_inside: int
    slices_outside: int


def active_share(phases_ns: Sequence[tuple[int, int]], first_slice: int, n_slices: int, slice_ns: int) -> Floats:
    """Share of each slice, [slice], that lies in one of the phases (begin and end, UTC ns; they may overlap or lie
    beyond the slices). InputError: a phase ends before it begins.
    """
    edges = (np.arange(n_slices + 1, dtype=np.int64) + first_slice) * slice_ns
    covered = np.zeros(n_slices, dtype=np.int64)
    for begin, end in _united(phases_ns):
        covered += np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
    return covered / slice_ns


def phase_effect(runs: Sequence[PhaseRun], *, seed: int = 0) -> PhaseEffect:
    """The effect over all runs, and its p-value against independent circular shifts of each; seeded.

    InputError: no runs, or rate and active of different length.
    """
    if not runs or any(r.rate.ndim != 1 or r.rate.shape != r.active.shape for r in runs):
        raise InputError("each run has a rate and the signal's activity in the same slices")
    shifted = [_by_shift(run) for run in runs]
    told = [each for each in shifted if each.size]
    inside = np.concatenate([r.rate[_known(r) & (r.active >= INSIDE)] for r in runs])
    outside = np.concatenate([r.rate[_known(r) & (r.active <= OUTSIDE)] for r in runs])
    low, high = _mean(inside), _mean(outside)
    return PhaseEffect(
        rho=_mean(np.array([each[0] for each in told])),
        by_run=tuple(float(each[0]) if each.size else float("nan") for each in shifted),
        p=_p_value(told, seed),
        inside=low,
        outside=high,
        depth_pct=100 * (1 - low / high) if high > 0 else float("nan"),
        slices_inside=inside.size,
        slices_outside=outside.size,
    )


def _united(phases_ns: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The phases in order, overlapping ones as one."""
    united: list[tuple[int, int]] = []
    for begin, end in sorted(phases_ns):
        if end < begin:
            raise InputError("a phase ends before it begins")
        if united and begin <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((begin, end))
    return united


def _known(run: PhaseRun) -> NDArray[np.bool_]:
    return ~np.isnan(run.rate)


def _by_shift(run: PhaseRun) -> Floats:
    """Correlation at every circular shift of the signal, [shift], the true one first; empty where there is none.

    Slices without a rate, at the ends of the run, are left out before anything is shifted, and the rest of a period.
    """
    known = np.flatnonzero(_known(run))
    if run.period is not None:
        known = known[: round(known.size // run.period * run.period)]
    if known.size < LEAST_SLICES:
        return np.zeros(0)
    rate, active = _standard(run.rate[known]), _standard(run.active[known])
    if not (rate.any() and active.any()):
        return np.zeros(0)
    products = np.fft.irfft(np.fft.rfft(rate) * np.conj(np.fft.rfft(active)), rate.size)
    return np.round(products, 12)  # shifts that lay the same values on each other are equal


def _standard(values: Floats) -> Floats:
    """Ranks with mean 0 and length 1; zeros where all values are equal."""
    ranks = rankdata(values)
    centred = ranks - ranks.mean()
    length = float(np.sqrt(centred @ centred))
    return centred / length if length > 0 else centred


def _p_value(shifted: Sequence[Floats], seed: int) -> float:
    """How often the sum of the correlations is as low when each run is shifted at random; NaN without runs.

    Of one run all its shifts are counted; of several as many combinations are drawn as is feasible.
    """
    if not shifted:
        return float("nan")
    if len(shifted) == 1:
        return float(np.mean(shifted[0] <= shifted[0][0]))
    random = np.random.default_rng(seed)
    observed = sum(each[0] for each in shifted)
    drawn = sum(each[random.integers(0, each.size, DRAWS)] for each in shifted)
    return float((1 + np.count_nonzero(drawn <= observed + 1e-9)) / (1 + DRAWS))


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
