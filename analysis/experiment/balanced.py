"""Which part of two runs is compared: while both ran, and, where both write a fixed volume, not their tail-off.

Where a server is slower than its neighbours a few processes go on alone at the end. Shah (2020), 3.2.3, leaves that
out: a pair counts until one of the two has written 90 % of its volume. Times are UTC nanoseconds; as floating-point
numbers they are good to a quarter of a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError

__all__ = ["VOLUME_SHARE", "Part", "Progress", "common_part"]

VOLUME_SHARE = 0.9
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Progress:
    """What a program did and when. per_second: its work, of any unit, in each second since start_ns, [second].

    start_ns, end_ns: UTC. of_volume: whether it ended because its volume was done, and not by a clock or a signal.
    """

    start_ns: int
    end_ns: int
    per_second: NDArray[np.float64]
    of_volume: bool

    def __post_init__(self) -> None:
        if self.per_second.ndim != 1 or self.end_ns <= self.start_ns:
            raise InputError("a run has a begin, an end behind it and a course")
        if not np.isfinite(self.per_second).all() or (self.per_second < 0).any():
            raise InputError("what was done in a second is a number, and not below 0")

    def done_by(self, at_ns: float) -> float:
        """How much was done until then; within a second, evenly."""
        return float(np.interp(at_ns, self._edges_ns(), self._done()))

    def rate(self, begin_ns: float, end_ns: float) -> float:
        """Work per second between two times. InputError: the end is not behind the begin."""
        if end_ns <= begin_ns:
            raise InputError("the two runs have no time in common")
        return (self.done_by(end_ns) - self.done_by(begin_ns)) / ((end_ns - begin_ns) / SECOND_NS)

    def time_of_share(self, share: float) -> float:
        """UTC ns at which this share of its volume was done."""
        done = self._done()
        wanted = share * done[-1]
        behind = int(np.searchsorted(done, wanted, side="left"))
        if behind == 0:
            return float(self.start_ns)
        edges = self._edges_ns()
        part = (wanted - done[behind - 1]) / (done[behind] - done[behind - 1])
        return float(edges[behind - 1] + part * (edges[behind] - edges[behind - 1]))

    def _edges_ns(self) -> NDArray[np.float64]:
        """Begin of each second and the end of the run, [second + 1]; the last second ends with the run."""
        edges = self.start_ns + SECOND_NS * np.arange(self.per_second.size + 1, dtype=np.float64)
        edges[-1] = max(self.end_ns, edges[-2] + 1) if edges.size > 1 else self.start_ns
        return edges

    def _done(self) -> NDArray[np.float64]:
        return np.concatenate([[0.0], np.cumsum(self.per_second)])


@dataclass(frozen=True)
class Part:
    """Part of the time, UTC ns. balanced: whether it ends where one of the two had done most of its volume."""

    begin_ns: float
    end_ns: float
    balanced: bool


def common_part(runs: Sequence[Progress], share: float = VOLUME_SHARE) -> Part:
    """While all of these ran; if all ended by their volume, until the first had done `share` of it.

    InputError: they have no time in common.
    """
    balanced = all(run.of_volume and run.per_second.any() for run in runs)
    begin = max(run.start_ns for run in runs)
    end = min(run.time_of_share(share) if balanced else run.end_ns for run in runs)
    if end <= begin:
        raise InputError("the two runs have no time in common")
    return Part(float(begin), float(end), balanced)
