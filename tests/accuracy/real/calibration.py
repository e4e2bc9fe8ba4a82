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


def calibrate(program: Program, ranks: int, seconds: float, folder: Path) -> tuple[int, Clean]:
    """The amount of work of the program that takes about `seconds`, and its clean run. Raises RunFailed."""
    execute(program, program.pilot, ranks, None, folder)
    pilot = clean_run(read_profile(folder / PROFILE))
    amount = amount_for(program, pilot.duration_s, seconds)
    execute(program, amount, ranks, None, folder)
    return amount, clean_run(read_profile(folder / PROFILE))


def amount_for(program: Program, pilot_s: float, seconds: float) -> int:
    """The amount of work that takes `seconds`, if the pilot's amount took pilot_s."""
    return max(round(program.pilot * (seconds / pilot_s) ** (1 / program.growth)), 1)


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
