"""Whether a run counts: one that others disturbed, or in which the machine slept, is made again."""

from __future__ import annotations

from crosswind.tools.experiment.description import Settings
from crosswind.tools.experiment.outside import is_disturbed
from crosswind.tools.experiment.records import Conditions, Outside

__all__ = ["why_discarded"]

LONGEST_SLEEP_S = 1.0  # of the machine, during a run


def why_discarded(
    settings: Settings, seconds: float, slept_s: float, outside: Outside | None, conditions: Conditions | None
) -> str:
    """Why a run whose programs took so long does not count; "": it does. What is not known disturbs nobody."""
    if slept_s > LONGEST_SLEEP_S:
        return f"the machine was asleep for {slept_s:.0f} s"
    if outside is not None and is_disturbed(outside, seconds, settings.outside_pct):
        return f"others made {outside.outside_pct:.0f} % of the traffic ({outside.source})"
    if conditions is not None and 0 < settings.outside_cpu_pct < conditions.taken_pct:
        return (
            f"others took {conditions.taken_pct:.0f} % of the processors "
            f"(processes {conditions.others_pct:.0f} %, the hypervisor {conditions.steal_pct:.0f} %)"
        )
    return ""
