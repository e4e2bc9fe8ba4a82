"""Segments of a bulk-synchronous run as columns [rank, segment]. Their CSV form is in `segment_csv`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["CSV_COLUMNS", "SegmentTable"]

CSV_COLUMNS: tuple[str, ...] = (
    "seg", "rank", "t_start_us", "dur_us", "comp_us", "p2p_us", "io_us", "coll_us", "cpu_us", "instructions",
    "p2p_calls", "p2p_bytes", "coll_calls", "coll_bytes", "io_calls", "io_bytes", "sig",
)  # fmt: skip


@dataclass(frozen=True)
class SegmentTable:
    """Segments aligned over ranks.

    index: int64 [segment], the number of each segment since MPI_Init. ranks: int64 [rank]. columns: per name of
    CSV_COLUMNS other than seg and rank, a float64 array [rank, segment] in the CSV's units (`sig`: uint64). Times
    `t_start_us` are UTC microseconds. valid: bool [rank, segment], false where a rank has no such segment (it died
    early or lost it); the values there are NaN (sig: 0). stride: int64 [segment], how many real segments a column
    merges. from_call_sites: bool [segment], true where a recurring call site cuts at the segment's begin or end, for
    want of a collective that synchronised the ranks; where there is one such segment, `index` numbers the segments
    through. call_sites: the calls at which they did, as `places` names them, most cuts first; not known of a table from
    elsewhere. closed_at: int64 [segment], the call that ended the segment on the first rank that is valid there, as an
    index into `places`, -1 where it is not known. places: texts such as `MPI_Allreduce at lmp+0x53c1e`: function, base
    name of the module that called it, return address as the module's file knows it.
    """

    index: NDArray[np.int64]
    ranks: NDArray[np.int64]
    columns: dict[str, NDArray]
    valid: NDArray[np.bool_]
    stride: NDArray[np.int64]
    from_call_sites: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    call_sites: tuple[str, ...] = ()
    closed_at: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.closed_at.shape != self.index.shape:
            object.__setattr__(self, "closed_at", np.full(self.index.size, -1, dtype=np.int64))
        if self.from_call_sites.shape != self.index.shape:
            object.__setattr__(self, "from_call_sites", np.zeros(self.index.size, dtype=np.bool_))

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return int(self.index.size)

    @property
    def n_ranks(self) -> int:
        """Number of ranks."""
        return int(self.ranks.size)

    def closed_by(self, segment: int) -> str:
        """The call that ended a segment, in words; empty where it is not known."""
        at = int(self.closed_at[segment])
        return self.places[at] if at >= 0 else ""

    def has(self, name: str) -> bool:
        """Whether a column is there and not zero everywhere (no hardware counters: instructions are all zero)."""
        column = self.columns.get(name)
        return column is not None and bool(np.any(np.nan_to_num(column) != 0))
