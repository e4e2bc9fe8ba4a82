"""Several runs of one program beside each other: interference that lasts a whole run shows only here.

Within one run a steady slow-down looks like a slower program. Between runs the undisturbed level of like segments can
be compared: the quickest run tells what they can take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.alike import MIN_GROUP, alike_kinds
from crosswind.analysis.arrays import Grouping
from crosswind.analysis.comparison_result import Comparison
from crosswind.analysis.errors import InputError
from crosswind.analysis.features import SegmentFeatures, merged_twos, segment_features
from crosswind.analysis.interference import estimate
from crosswind.analysis.steady import level_and_error, steady_loss
from crosswind.profile.segments import SegmentTable

__all__ = ["compare"]

_SAME_WORK = 0.02  # medians of the work of a cluster in two runs differ by less


def compare(tables: Sequence[SegmentTable], method: str = "robust") -> Comparison:
    """Match the segments of several runs by call sites and calls, and compare what each run needs for them.

    Segments are compared by duration alone; clusters whose work differs between the runs are named in `same_work` and
    left out of `steady_pct`. InputError: fewer than two runs, or a run without durations.
    """
    if len(tables) < 2:
        raise InputError("a comparison needs two runs or more")
    estimates = tuple(estimate(table, method) for table in tables)
    lost_bits = max(merged_twos(table.stride) for table in tables)
    features = [segment_features(table, lost_bits) for table in tables]
    run = np.repeat(np.arange(len(tables)), [f.duration_us.size for f in features])
    together = _concatenated(features)
    labels, _ = alike_kinds(together)
    size, level, error, median, work = _by_run_and_cluster(run, labels, together, len(tables))
    excess_us = np.concatenate([e.excess_us for e in estimates])
    same_work = _same_work(work)
    usable = np.all(np.isfinite(level), axis=0) & same_work
    total_us = np.array([max(f.total_us, 1e-9) for f in features])
    steady = steady_loss(level[:, usable], error[:, usable], size[:, usable], total_us)
    order = np.argsort(-np.nansum(median * size, axis=0), kind="stable")
    return Comparison(
        estimates=estimates,
        size=size[:, order],
        level_us=level[:, order],
        error_us=error[:, order],
        median_us=median[:, order],
        lost_s=_sums(run, labels, excess_us / 1e6, size.shape)[:, order],
        same_work=same_work[order],
        steady_pct=steady.steady_pct,
        chance_pct=steady.chance_pct,
        shared_pct=_shared_pct(run, labels, usable, together.duration_us, total_us),
        differ_pct=steady.differ_pct,
    )


def _concatenated(features: Sequence[SegmentFeatures]) -> SegmentFeatures:
    """The segments of all runs behind each other, with the features that every run has."""

    def joined(name: str) -> object:
        values = [getattr(f, name) for f in features]
        if any(v is None for v in values):
            return None
        if isinstance(values[0], dict):
            common = [key for key in values[0] if all(key in v for v in values)]
            return {key: np.concatenate([v[key] for v in values]) for key in common}
        return np.concatenate(values)

    kinds = {f.work_kind for f in features}
    joint = {field.name: joined(field.name) for field in fields(SegmentFeatures) if field.name != "work_kind"}
    if len(kinds) > 1:
        joint["work"] = None
    return SegmentFeatures(work_kind=kinds.pop() if len(kinds) == 1 else "none", **joint)  # type: ignore[arg-type]


def _by_run_and_cluster(
    run: NDArray[np.int64], labels: NDArray[np.int64], features: SegmentFeatures, n_runs: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Size, undisturbed level, its standard error, median duration and median work, each [run, cluster]; NaN where
    there are too few. Sizes count merged segments each, and the others are of one of them.
    """
    n_clusters = int(labels.max(initial=-1)) + 1
    size = np.zeros((n_runs, n_clusters), dtype=np.int64)
    level, error, median, work = (np.full(size.shape, np.nan) for _ in range(4))
    duration_us = features.duration_us / features.stride
    for members in Grouping.of(np.unique(run * n_clusters + labels, return_inverse=True)[1]).members():
        at = run[members[0]], labels[members[0]]
        size[at] = features.stride[members].sum()
        usual = float(np.median(duration_us[members]))
        if members.size < MIN_GROUP or usual <= 0:
            continue
        median[at] = usual
        level[at], error[at] = level_and_error(duration_us[members])
        if features.work is not None and features.has_counters:
            work[at] = float(np.median(features.work[members] / features.stride[members]))
    return size, level, error, median, work


def _sums(
    run: NDArray[np.int64], labels: NDArray[np.int64], values: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Sums of values [segment] by run and cluster, [run, cluster]."""
    flat = np.bincount(run * shape[1] + labels, weights=values, minlength=shape[0] * shape[1])
    return flat.astype(np.float64, copy=False).reshape(shape)


def _same_work(work: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the runs agree in the work of each cluster, [cluster]; unknown work counts as the same."""
    low, high = np.fmin.reduce(work, axis=0), np.fmax.reduce(work, axis=0)
    return ~(high > (1 + _SAME_WORK) * low)


def _shared_pct(
    run: NDArray[np.int64],
    labels: NDArray[np.int64],
    usable: NDArray[np.bool_],
    duration_us: NDArray[np.float64],
    total_us: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Percent of each run's time in the clusters that are compared, [run]."""
    counted = np.where(usable[labels], duration_us, 0.0) if labels.size else duration_us
    return 100 * np.bincount(run, weights=counted, minlength=total_us.size) / total_us
