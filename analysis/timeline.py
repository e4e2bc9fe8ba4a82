"""Time lines: from what was counted per slice to what a page draws. Pure functions on arrays.

A slice in which a process was not profiled is a gap (NaN), never a zero: a zero says that nothing happened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.arrays import median_over_rows
from crosswind.analysis.errors import InputError

__all__ = [
    "WHOLE", "Band", "Cut", "Resampled", "band", "job_rates", "job_seconds", "others", "rate_unit", "rates",
    "resample",
]  # fmt: skip

Cut = tuple[bool, bool]  # whether a job goes on before, and behind, the slices that are looked at
WHOLE: Cut = (False, False)


def rate_unit(unit: str, kind: str) -> str:
    """Unit of `rates` of a metric: ``B/s``, ``1/s``; ``share`` for times; a gauge keeps its own."""
    if kind == "gauge":
        return unit
    return {"ns": "share", "count": "1/s"}.get(unit, f"{unit}/s")


def rates(values: NDArray[np.int64], covered_ns: NDArray[np.int64], unit: str, kind: str) -> NDArray[np.float64]:
    """What each process did per second of the slice in which it was profiled.

    values, covered_ns: [process, slice]. Counters become units per second; times (unit ``ns``) the share of the
    process's wall time, which threads can lift above 1; gauges stay as they are. NaN where nothing was covered.
    """
    covered = covered_ns > 0
    if kind == "gauge":
        return np.where(covered, values.astype(np.float64), np.nan)
    return _over(values, covered_ns, _per(unit))


def job_seconds(covered_ns: NDArray[np.int64], slice_ns: int, cut: Cut = WHOLE) -> NDArray[np.float64]:
    """How long the job was there in each slice, [slice], in seconds; NaN where no process was covered.

    Between its first and its last slice the job is there all the time, even if its processes come and go; at both
    ends it is there as long as the process that covers most of the slice. cut: whether it goes on beyond these slices.
    """
    longest = covered_ns.max(axis=0, initial=0)
    present = np.flatnonzero(longest)
    seconds = np.full(longest.size, np.nan)
    if present.size:
        seconds[present] = slice_ns / 1e9
        ends = present[[end for end, goes_on in zip((0, -1), cut, strict=True) if not goes_on]]
        seconds[ends] = np.minimum(longest[ends], slice_ns) / 1e9
    return seconds


def job_rates(
    values: NDArray[np.int64], covered_ns: NDArray[np.int64], slice_ns: int, unit: str, kind: str, cut: Cut = WHOLE
) -> NDArray[np.float64]:
    """What all processes of a job did together per second, [slice]; NaN where the job was not there.

    values, covered_ns: [process, slice]. Times (unit ``ns``) become seconds per second: CPU time gives the number of
    processors in use. Gauges are summed over the processes that are there. Not the sum of `rates`: processes that
    live for milliseconds one after the other would count as if each ran for the whole slice. cut: as in job_seconds.
    """
    seconds = job_seconds(covered_ns, slice_ns, cut)
    total = np.where(covered_ns > 0, values, 0).sum(axis=0)
    if kind == "gauge":
        return np.where(np.isnan(seconds), np.nan, total.astype(np.float64))
    return total / (seconds * (1e9 if unit == "ns" else 1.0))


@dataclass(frozen=True)
class Band:
    """Smallest, median and largest process of each slice, each [slice]; NaN where no process was there."""

    low: NDArray[np.float64]
    median: NDArray[np.float64]
    high: NDArray[np.float64]


def band(process_rates: NDArray[np.float64]) -> Band:
    """Spread over processes. process_rates: [process, slice] with NaN gaps, any unit."""
    return Band(
        low=np.fmin.reduce(process_rates, axis=0, initial=np.nan),
        median=median_over_rows(process_rates),
        high=np.fmax.reduce(process_rates, axis=0, initial=np.nan),
    )


def others(total: NDArray, own: NDArray) -> NDArray:
    """What all other jobs did: the background's total less the job's own share, [slice] on one axis and in one unit.

    Never below zero: while a job is being loaded its share may be in one of the two only.
    """
    return np.maximum(total - own, 0)


@dataclass(frozen=True)
class Resampled:
    """A series cut into bins of equal width, each [bin]. start: index of the bin's first point. width: points per bin.

    low, mean, high are over the bin's points that are no gap, NaN if all are. With width 1 they are the series itself.
    """

    start: NDArray[np.int64]
    width: int
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    high: NDArray[np.float64]


def resample(values: NDArray[np.float64], max_points: int) -> Resampled:
    """Reduce a series [point] to at most ``max_points`` bins that keep peaks and dents. InputError: max_points < 1."""
    if max_points < 1:
        raise InputError(f"a series cannot have {max_points} points")
    width = max(1, -(-values.size // max_points))
    start = np.arange(0, values.size, width, dtype=np.int64)
    if not start.size:
        empty = np.zeros(0)
        return Resampled(start, width, empty, empty, empty)
    numbers = ~np.isnan(values)
    count = np.add.reduceat(numbers.astype(np.int64), start)
    total = np.add.reduceat(np.where(numbers, values, 0.0), start)
    return Resampled(
        start=start,
        width=width,
        low=np.fmin.reduceat(values, start),
        mean=np.where(count > 0, total / np.maximum(count, 1), np.nan),
        high=np.fmax.reduceat(values, start),
    )


def _per(unit: str) -> float:
    """Nanoseconds of coverage that make one unit of the denominator: a second, or for times a nanosecond."""
    return 1.0 if unit == "ns" else 1e9


def _over(values: NDArray, covered_ns: NDArray, per: float) -> NDArray[np.float64]:
    """values / (covered_ns / per), NaN where nothing is covered."""
    result = np.full(values.shape, np.nan)
    np.divide(values * per, covered_ns, out=result, where=covered_ns > 0)
    return result
