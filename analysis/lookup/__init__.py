"""Who disturbed whom: dents of one job, peaks of everything else, and what of it is more than chance.

`association` tests many suspects against a victim at once, `discovery` corrects for having tried many, `loads` says
what counts as a load on each resource, `node_loads` what nodes and servers tell, `suspects` is the front. `stretch` is
about one stretch of time, `victims` about the other side. docs/lookup.md is the method.
"""

from crosswind.analysis.lookup.association import Association, associate
from crosswind.analysis.lookup.discovery import false_discovery_rate
from crosswind.analysis.lookup.loads import (
    LOADS,
    PROGRESS,
    Load,
    metrics_of_loads,
    progress_loss,
    shortfall,
    suspects_of,
)
from crosswind.analysis.lookup.node_loads import NODE_LOADS, SERVER_LOADS, NodeLoad, node_metrics, node_suspects
from crosswind.analysis.lookup.stretch import Rise, rises
from crosswind.analysis.lookup.suspects import Ranking, Role, Suspect, Suspicion, coarse_slices, rank_suspects
from crosswind.analysis.lookup.victims import Coincidences, coincidences

__all__ = [
    "LOADS",
    "NODE_LOADS",
    "PROGRESS",
    "SERVER_LOADS",
    "Association",
    "Coincidences",
    "Load",
    "NodeLoad",
    "Ranking",
    "Rise",
    "Role",
    "Suspect",
    "Suspicion",
    "associate",
    "coarse_slices",
    "coincidences",
    "false_discovery_rate",
    "metrics_of_loads",
    "node_metrics",
    "node_suspects",
    "progress_loss",
    "rank_suspects",
    "rises",
    "shortfall",
    "suspects_of",
]
