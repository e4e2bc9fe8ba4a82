"""Whose turn is next: the user whose files took least of the collector's time lately. A flood waits for itself only."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

__all__ = ["FairShare"]

Item = TypeVar("Item")
HALF_LIFE_S = 60.0
_NOTHING_S = 1e-6


class FairShare(Generic[Item]):
    """Seconds that each user's files took; they fade by half each minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[int, float] = {}
        self._at = clock()

    def in_turn(self, items: Iterable[tuple[int, Item]]) -> Iterator[tuple[int, Item]]:
        """(uid, item) pairs, always one of the user who used least so far; of one user in their order."""
        queues: dict[int, deque[Item]] = {}
        for uid, item in items:
            queues.setdefault(uid, deque()).append(item)
        while queues:
            uid = min(queues, key=lambda u: self._used.get(u, 0.0))
            yield uid, queues[uid].popleft()
            if not queues[uid]:
                del queues[uid]

    @contextmanager
    def charged(self, uid: int) -> Iterator[None]:
        """The time of the block is charged to the user."""
        begin = self._clock()
        try:
            yield
        finally:
            self._fade()
            self._used[uid] = self._used.get(uid, 0.0) + self._clock() - begin

    def _fade(self) -> None:
        now = self._clock()
        left = 0.5 ** ((now - self._at) / HALF_LIFE_S)
        self._at = now
        self._used = {uid: used * left for uid, used in self._used.items() if used * left > _NOTHING_S}
