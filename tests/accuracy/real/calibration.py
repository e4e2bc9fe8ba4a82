"""How much work takes the time wanted, and what a run without interference looks like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from accuracy.real.execution import PROFILE, execute
from accuracy.real.injection import Clean
from accuracy.real.programs import Program

from crosswind.analysis.arrays import weighted_median
from crosswind.analysis.features import segment_features
from crosswind.profile import Profile, read_profile

__all__ = ["amount_for", "calibrate", "clean_run"]

TRIES = 3
NEAR = 0.2  # of the time wanted


def calibrate(program: Program, ranks: int, seconds: float, folder: Path) -> tuple[int, Clean]:
    """The amount of work of the program that takes about `seconds`, and its clean run. Raises RunFailed."""
    amount = program.pilot
    clean = _run_clean(program, amount, ranks, folder)
    for _ in range(TRIES):
        if abs(clean.duration_s / seconds - 1) <= NEAR:
            break
        amount = amount_for(program, amount, clean.duration_s, seconds)
        clean = _run_clean(program, amount, ranks, folder)
    return amount, clean


def _run_clean(program: Program, amount: int, ranks: int, folder: Path) -> Clean:
    execute(program, amount, ranks, None, folder)
    return clean_run(read_profile(folder / PROFILE))


def amount_for(program: Program, amount: int, took_s: float, seconds: float) -> int:
    """The amount of work that takes `seconds`, if `amount` took took_s."""
    return max(round(amount * (seconds / took_s) ** (1 / program.growth)), 1)


def clean_run(profile: Profile) -> Clean:
    """What injections are planned from."""
    if profile.segments is None:
        raise ValueError("the run has no segments")
    duration_us = segment_features(profile.segments).duration_us
    rows = profile.mpi_rows
    first = rows[0]
    begin_us = float(np.nanmin(profile.segments.columns["t_start_us"]))
    return Clean(
        duration_s=float(duration_us.sum()) / 1e6,
        start_s=begin_us / 1e6 - profile.processes[first].start_ns / 1e9,
        usual_us=weighted_median(duration_us, duration_us),
        calls={
            name: int(profile.functions[name][first, 0])
            for name in sorted(profile.mpi_functions & profile.functions.keys())
        },
        ranks=int(rows.size),
    )
