"""How many requests are answered: counted by address before anybody is asked for, and by viewer after.

Flask-Limiter has one place for all its limits and would ask who is there before it counts; its own storage and
strategies (`limits`) do without that. Counts lie in the memory of each worker process and go when their time is over:
their number is bounded by the requests of a minute.
"""

from __future__ import annotations

import math
import time

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from werkzeug.exceptions import TooManyRequests

from crosswind.web.identity.addresses import rate_key
from crosswind.web.identity.settings import Limits

__all__ = ["Rates"]


class Rates:
    """Each method raises TooManyRequests, with the seconds to wait, where there were too many."""

    def __init__(self, limits: Limits) -> None:
        self._limiter = FixedWindowRateLimiter(MemoryStorage())
        self._address = parse(limits.per_address)
        self._viewer = parse(limits.per_viewer)
        self._failed = parse(limits.failed_sign_ins)

    def from_address(self, address: str) -> None:
        """Count a request from an address."""
        self._count(self._address, "address", rate_key(address))

    def of_viewer(self, name: str) -> None:
        """Count a request of a viewer."""
        self._count(self._viewer, "viewer", name)

    def failed(self, address: str) -> None:
        """Count a token or a name that was refused. Who is let in goes on: many people may come from one address."""
        self._count(self._failed, "failed", rate_key(address))

    def _count(self, item: RateLimitItem, *key: str) -> None:
        if not self._limiter.hit(item, *key):
            raise self._too_many(item, *key)

    def _too_many(self, item: RateLimitItem, *key: str) -> TooManyRequests:
        reset = self._limiter.get_window_stats(item, *key).reset_time
        wait_s = max(1, math.ceil(reset - time.time()))
        return TooManyRequests(f"More than {item} from here. Wait {wait_s} s.", retry_after=wait_s)
