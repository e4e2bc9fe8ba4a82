"""Segment tables written out by hand, for tests of single steps."""

from __future__ import annotations

import numpy as np

from crosswind.profile.segments import SegmentTable


def table(dur_us, *, n_ranks: int = 2, valid=None, stride=None, **columns) -> SegmentTable:
    """A table from [segment] values that all ranks share, or [rank, segment] arrays; NaN where `valid` is false."""
    dur_us = np.asarray(dur_us, dtype=float)
    n_segments = dur_us.shape[-1]
    shape = (n_ranks, n_segments)
    valid = np.ones(shape, dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    filled = {
        name: np.where(valid, np.broadcast_to(np.asarray(values, dtype=float), shape), np.nan)
        for name, values in {"dur_us": dur_us, **columns}.items()
    }
    return SegmentTable(
        index=np.arange(n_segments, dtype=np.int64),
        ranks=np.arange(n_ranks, dtype=np.int64),
        columns=filled,
        valid=valid,
        stride=np.ones(n_segments, dtype=np.int64) if stride is None else np.asarray(stride, dtype=np.int64),
    )
