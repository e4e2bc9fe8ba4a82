"""One finished run as one record: what was added, what each estimator says, what else disturbed the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from accuracy.real.execution import CONDITIONS, LOG, PROFILE
from accuracy.real.truth import read_delays, true_loss

from crosswind.analysis import METHODS, Estimate, estimate_profile
from crosswind.profile import Profile, read_profile

__all__ = ["evaluate"]


def evaluate(folder: Path) -> dict[str, Any]:
    """The record of the run that `execute` left in a folder.

    true_pct: what was added, in percent of the time that segments cover. true_least_pct, true_most_pct: its bounds,
    the largest rank's sum and that of all ranks. estimates: by method; judged_true_pct is the part of true_pct that
    was added to segments which the method judged.
    """
    profile = read_profile(folder / PROFILE)
    if profile.segments is None:
        raise ValueError(f"{folder}: the run has no segments")
    truth = true_loss(profile.segments, read_delays(folder / LOG))
    estimates = {method: estimate_profile(profile, method) for method in sorted(METHODS)}
    total_us = 1e6 * next(iter(estimates.values())).total_s
    percent = 100 / total_us
    return {
        "segments": profile.segments.n_segments,
        "total_s": total_us / 1e6,
        "true_pct": percent * float(truth.lost_us.sum()),
        "true_least_pct": percent * truth.largest_rank_us,
        "true_most_pct": percent * truth.all_ranks_us,
        "outside_s": truth.outside_us / 1e6,
        "run_delay_pct": next(iter(estimates.values())).run_delay_pct,
        "counters": _counters(profile),
        "estimates": {method: _said(one, truth.lost_us * percent) for method, one in estimates.items()},
        **json.loads((folder / CONDITIONS).read_text()),
    }


def _said(found: Estimate, lost_pct: np.ndarray) -> dict[str, Any]:
    judged = found.clusters.covered[found.labels]
    return {
        "pct": found.interference_pct,
        "interval_pct": found.interval_pct,
        "class": found.interference_class,
        "certain": found.certain,
        "cautions": [caution.reason for caution in found.cautions],
        "uncovered_pct": found.uncovered_pct,
        "cpu_pct": found.cpu_pct,
        "judged_true_pct": float(lost_pct[judged].sum()),
        "work": found.work_kind,
    }


def _counters(profile: Profile) -> str:
    """What the processor counters of the first rank gave, in words."""
    return profile.processes[profile.mpi_rows[0]].counters
