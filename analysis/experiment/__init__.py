"""What an experiment shows: how far a program beside another falls behind itself alone, and when.

`change` sets repetitions together against repetitions alone, `balanced` says which part of two runs is compared,
`phases` whether dents fall into the active phases of the other program. docs/experiments.md is the method.
"""

from crosswind.analysis.experiment.balanced import VOLUME_SHARE, Part, Progress, common_part
from crosswind.analysis.experiment.change import Change, Spread, rate_change, spread, time_change
from crosswind.analysis.experiment.phases import PhaseEffect, PhaseRun, active_share, phase_effect

__all__ = [
    "VOLUME_SHARE",
    "Change",
    "Part",
    "PhaseEffect",
    "PhaseRun",
    "Progress",
    "Spread",
    "active_share",
    "common_part",
    "phase_effect",
    "rate_change",
    "spread",
    "time_change",
]
