"""What a page draws of a job's series: the whole job and the spread over its ranks, slice by slice.

Of large jobs it is stored when they are loaded (crosswind.db.summaries), with the VERSION of what is defined here and
in `derived`: with any change of a series the version rises, so that what was stored before is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.derived import SERIES, Reduction, Series, job_series, process_series
from crosswind.analysis.timeline import WHOLE, Cut, band
from crosswind.db.summaries import Bands, Block

__all__ = ["VERSION", "SeriesBands", "series_bands", "summarize", "workers_of", "zero_row"]

VERSION = 1
_ZEROS = (Series("", "", "", Reduction.TOTAL, ("cpu_time",)), Series("", "", "", Reduction.SHARE, ("cpu_time",)))


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


def summarize(block: Block) -> Bands:
    """The series of a block of a job, as they are stored when it is loaded."""
    alive = [series for series in SERIES if not block.values.keys().isdisjoint(series.metrics)]

    def bands_of(series: Series, values: Mapping[str, NDArray[np.int64]]) -> SeriesBands:
        return series_bands(series, values, block.covered_ns, block.ranks, block.slice_ns, block.goes_on)

    made = [*(bands_of(zero, {}) for zero in _ZEROS), *(bands_of(series, block.values) for series in alive)]
    values = np.array([[bands.total, bands.low, bands.median, bands.high] for bands in made])
    return Bands(VERSION, tuple(series.name for series in alive), values)


def zero_row(series: Series) -> int:
    """Which of the first rows of a summary stands for the series where it is zero."""
    return next(row for row, zero in enumerate(_ZEROS) if zero.reduction is series.reduction)
