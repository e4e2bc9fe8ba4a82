"""Who disturbed whom: dents of one job, peaks of everything else, and what of it is more than chance.

`association` tests many suspects against a victim at once, `discovery` corrects for having tried many, `loads` says
what counts as a load on each resource, `suspects` is the front. docs/lookup.md is the method.
"""

from crosswind.analysis.lookup.association import Association, associate
from crosswind.analysis.lookup.discovery import false_discovery_rate
from crosswind.analysis.lookup.loads import (
    LOADS,
    Load,
    metrics_of_loads,
    metrics_of_progress,
    progress_loss,
    shortfall,
    suspects_of,
)
from crosswind.analysis.lookup.suspects import Ranking, Suspect, Suspicion, rank_suspects

__all__ = [
    "LOADS",
    "Association",
    "Load",
    "Ranking",
    "Suspect",
    "Suspicion",
    "associate",
    "false_discovery_rate",
    "metrics_of_loads",
    "metrics_of_progress",
    "progress_loss",
    "rank_suspects",
    "shortfall",
    "suspects_of",
]
