"""Which segments of a run are alike: the same calls from the same places, and the same bytes where those are steady.

Segments are compared only within these groups, so what joins the key decides both ways: too little mixes phases of
different work, too much leaves groups too small to compare. Segments that the library merged are told apart by what one
of them did, so that merges of different numbers can be compared where there are too few of each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import Grouping
from crosswind.analysis.clustering import exact_groups
from crosswind.analysis.features import SegmentFeatures

__all__ = ["MIN_GROUP", "alike_groups", "alike_kinds"]

MIN_GROUP = 8  # members from which on a group has a baseline of its own
_SPLINTERED_SHARE = 0.02  # of the run's time; a byte count that splits off more only varies


def alike_groups(features: SegmentFeatures) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Group the segments of a run, int64 labels [segment], dense; and the byte counts that were left out.

    Segments of a group are of one kind (see alike_kinds) and merge the same number of segments; where fewer than 8 do,
    the same number within a factor of two; where that is fewer than 8 again, any number that is left.
    """
    kinds, left_out = alike_kinds(features)
    return _split_by_stride(kinds, features.stride), left_out


def alike_kinds(features: SegmentFeatures) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """What kind each segment is of, int64 labels [segment], dense; and the byte counts that were left out.

    Segments of a kind agree in the call sites of all their MPI calls (where they are known), in what cut them, and, per
    merged segment, in the number of calls of each kind and in those byte counts that are steady. A byte count that
    would leave more than 2 % of the time in groups of fewer than 8 varies from segment to segment and tells nothing.
    """
    key = [features.ranks > 0, features.from_call_sites, *(n / features.stride for n in features.calls.values())]
    if features.signature is not None:
        key.append(features.signature)
    labels = exact_groups(key)
    left_out = []
    for name, values in features.bytes.items():
        finer = exact_groups([labels, values / features.stride])
        if _splintered_share(features, labels, finer) < _SPLINTERED_SHARE:
            labels = finer
        else:
            left_out.append(name)
    return labels, tuple(left_out)


def _split_by_stride(kinds: NDArray[np.int64], stride: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kinds split by how many segments their members merge, as finely as groups of 8 allow, int64 [segment]."""
    if not np.any(stride > 1):
        return kinds
    within = np.zeros_like(stride)  # of its kind: which group
    left = np.ones(stride.size, dtype=np.bool_)
    for step in (stride, -np.frexp(stride)[1].astype(np.int64)):  # negative: never equal to a stride
        groups = Grouping.of(exact_groups([kinds, step, left]))
        whole = left & (groups.sizes[groups.labels] >= MIN_GROUP)
        within[whole] = step[whole]
        left &= ~whole
    return exact_groups([kinds, within])


def _splintered_share(features: SegmentFeatures, labels: NDArray[np.int64], finer: NDArray[np.int64]) -> float:
    """Share of the time in segments whose group is large enough by `labels` and too small by `finer`."""
    before, after = Grouping.of(labels).sizes[labels], Grouping.of(finer).sizes[finer]
    splintered = (before >= MIN_GROUP) & (after < MIN_GROUP)
    return float(features.duration_us[splintered].sum()) / max(features.total_us, 1e-9)
