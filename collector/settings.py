"""What a site may choose of the daemon. docs/operations.md has the options that set them."""

from __future__ import annotations

from dataclasses import dataclass, field

from crosswind.collector.follow import Quota
from crosswind.collector.lost import LOST_AFTER_S
from crosswind.collector.plan import Limits

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """interval_s: between looks. budget_s: after this long a look loads nothing more. delete: instead of done/.
    live_share: the part of the time that refreshing running steps may take, all together, as long as none waits for
    more than longest_pause_s because of it; scan_share: that listing the directories may. lost_after_s: a running step
    without a sign of life for so long is ended as lost; 0: never.
    """

    interval_s: float = 2.0
    budget_s: float = 5.0
    delete: bool = False
    cluster: str = ""
    quota: Quota = field(default_factory=Quota)
    live_share: float = 0.25
    scan_share: float = 0.1
    limits: Limits = field(default_factory=Limits)
    longest_pause_s: float = 60.0
    nodes_s: float = 30.0
    lost_after_s: float = LOST_AFTER_S
