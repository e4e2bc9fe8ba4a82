"""What is stored of the interference of a job: the estimate's document, and when the time was lost.

Whoever loads a profile hands it in: the analysis is above the database. It is made once, when the profile is loaded, so
that no page has to cluster millions of segments again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.db import codec
from crosswind.db.errors import DatabaseError

__all__ = ["MAX_STRETCHES", "Evaluation", "LostTime", "Stretches", "lost_time_of", "lost_time_row"]

MAX_STRETCHES = 10_000  # kept of a job; those that lost most
_MAX_SLICES = 1 << 22


@dataclass(frozen=True)
class Stretches:
    """Stretches of a run that interference hit, in order of time; every array is int64 [stretch].

    begin_ns, end_ns: UTC. lost_ns: of the run's time. segments, hit: how many lie in it, and how many of them were hit.
    """

    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    lost_ns: NDArray[np.int64]
    segments: NDArray[np.int64]
    hit: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of stretches."""
        return int(self.begin_ns.size)

    def largest(self, most: int) -> Stretches:
        """At most that many: those that lost most, still in order of time."""
        if self.n <= most:
            return self
        kept = np.sort(np.argsort(-self.lost_ns, kind="stable")[:most])
        return Stretches(*(getattr(self, field.name)[kept] for field in fields(self)))


@dataclass(frozen=True)
class LostTime:
    """When a job lost time. per_slice_ns: int64 [slice], from slice `first_slice` on, of the job's slice length.

    n_stretches: how many stretches were hit; `stretches` has the MAX_STRETCHES of them that lost most.
    """

    first_slice: int
    per_slice_ns: NDArray[np.int64]
    stretches: Stretches
    n_stretches: int

    def in_slices(self, first_slice: int, n_slices: int) -> NDArray[np.int64]:
        """Nanoseconds lost in each of these slices, int64 [slice]; a job that was loaded in parts may span more."""
        out = np.zeros(n_slices, dtype=np.int64)
        at = self.first_slice - first_slice
        begin, end = max(at, 0), min(at + self.per_slice_ns.size, n_slices)
        if begin < end:
            out[begin:end] = self.per_slice_ns[begin - at : end - at]
        return out


@dataclass(frozen=True)
class Evaluation:
    """What was found of a profile. document: that of `estimate --json`. lost: None where it has no time of day."""

    document: dict[str, Any]
    lost: LostTime | None = None


def lost_time_row(lost: LostTime) -> dict[str, Any]:
    """The row of the table `lost_time`, without its key."""
    kept = lost.stretches.largest(MAX_STRETCHES)
    return {
        "first_slice": lost.first_slice,
        "n_slices": lost.per_slice_ns.size,
        "per_slice": codec.encode_ints(lost.per_slice_ns),
        "n_stretches": lost.n_stretches,
        "n_stored": kept.n,
        "stretches": codec.encode_ints(np.stack([getattr(kept, field.name) for field in fields(kept)]), smooth=True),
    }


def lost_time_of(row: Any) -> LostTime:  # noqa: ANN401 (a row of any query that has the columns)
    """The inverse of lost_time_row. Raises DatabaseError when the row does not hold that."""
    if not (0 <= row.n_slices <= _MAX_SLICES and 0 <= row.n_stored <= MAX_STRETCHES):
        raise DatabaseError("a stored array is damaged (its size): restore the database from its backup")
    per_slice = codec.decode_ints(row.per_slice, (row.n_slices,))
    stretches = codec.decode_ints(row.stretches, (len(fields(Stretches)), row.n_stored))
    return LostTime(row.first_slice, per_slice, Stretches(*stretches), row.n_stretches)
