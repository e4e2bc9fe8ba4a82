"""Which segments of a run are alike: the same calls from the same places, and the same bytes where those are steady.

Segments are compared only within these groups, so what joins the key decides both ways: too little mixes phases of
different work, too much leaves groups too small to compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import Grouping
from crosswind.analysis.clustering import exact_groups
from crosswind.analysis.features import SegmentFeatures

__all__ = ["MIN_GROUP", "alike_groups"]

MIN_GROUP = 8  # members from which on a group has a baseline of its own
_SPLINTERED_SHARE = 0.02  # of the run's time; a byte count that splits off more only varies


def alike_groups(features: SegmentFeatures) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Group the segments of a run, int64 labels [segment], dense; and the byte counts that were left out.

    Segments of a group agree in the call sites of all their MPI calls (where they are known), in the number of calls
    of each kind, in the number of merged segments, and in those byte counts that are steady. A byte count that would
    leave more than 2 % of the time in groups of fewer than 8 varies from segment to segment and tells nothing.
    """
    key = [features.ranks > 0, features.stride, *features.calls.values()]
    if features.signature is not None:
        key.append(features.signature)
    labels = exact_groups(key)
    left_out = []
    for name, values in features.bytes.items():
        finer = exact_groups([labels, values])
        if _splintered_share(features, labels, finer) < _SPLINTERED_SHARE:
            labels = finer
        else:
            left_out.append(name)
    return labels, tuple(left_out)


def _splintered_share(features: SegmentFeatures, labels: NDArray[np.int64], finer: NDArray[np.int64]) -> float:
    """Share of the time in segments whose group is large enough by `labels` and too small by `finer`."""
    before, after = Grouping.of(labels).sizes[labels], Grouping.of(finer).sizes[finer]
    splintered = (before >= MIN_GROUP) & (after < MIN_GROUP)
    return float(features.duration_us[splintered].sum()) / max(features.total_us, 1e-9)
