"""Clusters of similar segments (thesis, section 5.1.1).

Computation features are numbers with a little noise: they are clustered by relative distance. Communication and I/O
features are nominal: only segments that agree in all of them belong together. A hybrid cluster agrees in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.errors import InputError

__all__ = ["exact_groups", "hybrid_clusters", "relative_distance_clusters"]


def relative_distance_clusters(values: NDArray, threshold: float = 0.1) -> NDArray[np.int64]:
    """Cluster numbers by the relative distance of neighbours in ascending order.

    A value joins the cluster of its predecessor p if value / p - 1 < threshold; otherwise it opens a new one.
    Equal values always stay together, zeros too; the step from zero to any positive value opens a cluster.
    A chain of small steps makes one wide cluster: the method bounds the gaps inside a cluster, not its spread.

    values: [value], finite and not negative, any unit. Returns int64 labels [value], ascending with the values.
    InputError: a value is negative or not finite, or the threshold is not positive. Source: thesis, section 5.1.1,
    "Clustering algorithm".
    """
    values = np.asarray(values, dtype=np.float64)
    if not threshold > 0:
        raise InputError(f"the relative distance threshold must be positive, not {threshold}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InputError("values to cluster must be finite and not negative")
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # next / prev - 1 < threshold, without the division that zeros would spoil; 0 -> 0 stays, 0 -> positive opens.
    # next - prev, not prev * (1 + threshold): the latter rounds, and a step of exactly the threshold must open.
    step = np.diff(ascending)
    opens = (step >= threshold * ascending[:-1]) & (step > 0)
    return _labels_in_order(order, opens)


def exact_groups(columns: Sequence[NDArray]) -> NDArray[np.int64]:
    """Group members that agree in every column.

    columns: k arrays [member] without NaN. Returns int64 labels [member], in the lexical order of the columns (the
    last column weighs most). If no column differs anywhere there is one group. InputError: no columns, or their
    lengths differ. Source: thesis, section 5.1.1, "Grouping segments ...", and figure 5.5.
    """
    if not columns:
        raise InputError("exact groups need at least one column")
    if len({column.shape for column in columns}) != 1:
        raise InputError("columns to group by differ in length")
    n = columns[0].size
    telling = [column for column in columns if n and np.any(column != column[0])]
    if not telling:
        return np.zeros(n, dtype=np.int64)
    order = np.lexsort(telling)
    opens = np.zeros(n - 1, dtype=bool)
    for column in telling:
        ordered = column[order]
        opens |= ordered[1:] != ordered[:-1]
    return _labels_in_order(order, opens)


def hybrid_clusters(work_clusters: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split computation clusters by communication and I/O groups; both int64 [member]. Returns int64 labels [member].

    Source: thesis, section 5.1.1, "Combining clusters and groups" and figure 5.6.
    """
    return exact_groups([groups, work_clusters])


def _labels_in_order(order: NDArray[np.intp], opens: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Labels [member] from a sorted order [member] and, for all but the first, whether it opens a new group."""
    labels = np.zeros(order.size, dtype=np.int64)
    labels[order[1:]] = np.cumsum(opens)
    return labels
