"""What a page draws of a job's series: the whole job and the spread over its ranks, slice by slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.derived import Reduction, Series, job_series, process_series
from crosswind.analysis.timeline import WHOLE, Cut, band

__all__ = ["SeriesBands", "series_bands", "workers_of"]


@dataclass(frozen=True)
class SeriesBands:
    """One series, each float64 [slice] and NaN where the job, or every rank, was not there.

    total: of the whole job, in the unit of its series. low, median, high: smallest, median and largest rank (process,
    where there are no ranks), per second or share of its own wall time (`derived.process_series`).
    """

    total: NDArray[np.float64]
    low: NDArray[np.float64]
    median: NDArray[np.float64]
    high: NDArray[np.float64]


def workers_of(ranks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which processes do the job's work: the ranks, without a launcher beside them; all, where there are no ranks."""
    return ranks if ranks.any() else ~ranks


def series_bands(
    series: Series,
    frames: Mapping[str, NDArray[np.int64]],
    covered_ns: NDArray[np.int64],
    ranks: NDArray[np.bool_],
    slice_ns: int,
    cut: Cut = WHOLE,
) -> SeriesBands:
    """A series of some slices of a job. Shares are of the workers, totals of all processes.

    frames: metric name -> int64 [process, slice]; a metric that is not there counts as zero. covered_ns: [process,
    slice]. ranks: bool [process], which of them are ranks. cut: whether the job goes on beyond these slices.
    """
    rows = workers_of(ranks)
    own = {name: frames[name][rows] for name in series.metrics if name in frames}
    covered = covered_ns[rows]
    if series.reduction is Reduction.SHARE:
        total = job_series(series, own, covered, slice_ns, cut)
    else:
        total = job_series(series, frames, covered_ns, slice_ns, cut)
    spread = band(process_series(series, own, covered))
    return SeriesBands(total, spread.low, spread.median, spread.high)
