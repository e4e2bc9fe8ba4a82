"""What a block of a job comes to, slice by slice, so that a page need not unpack every process: made at loading. Pure.

The sums over the processes are exact. The series are what the loader's `Summarize` makes of the block (the definition
of a series is above the database) in single precision, with the version of the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.db import codec

__all__ = ["BANDS", "LEAST_PROCESSES", "ZEROS", "Bands", "Block", "Summarize", "Summary", "summary_of"]

LEAST_PROCESSES = 16  # frames of fewer are read as fast as a summary, which would take as much room
BANDS = 4  # total, low, median, high
ZEROS = 2  # rows before those of the series


@dataclass(frozen=True)
class Block:
    """What series are made of. values: metric -> int64 [process, slice], those that are not zero everywhere.
    covered_ns: [process, slice]. ranks: bool [process]. goes_on: whether the job does, before and behind these slices.
    """

    values: Mapping[str, NDArray[np.int64]]
    covered_ns: NDArray[np.int64]
    ranks: NDArray[np.bool_]
    slice_ns: int
    goes_on: tuple[bool, bool]


@dataclass(frozen=True)
class Bands:
    """The series of a block. version: of their definition, above 0. series: names of those that are not zero
    everywhere. values: float64 [ZEROS + series, 4, slice], total, low, median and high, NaN where the job was not
    there. The first rows are what series come to that are zero, by ways in which a series is made.
    """

    version: int
    series: tuple[str, ...]
    values: NDArray[np.float64]


Summarize = Callable[[Block], Bands]


@dataclass(frozen=True)
class Summary:
    """The row of a block. sums: int64 [metric, slice] of `metrics`; bands as in Bands; version 0: there are none."""

    metrics: tuple[str, ...]
    sums: bytes
    version: int
    series: tuple[str, ...]
    bands: bytes

    def row(self, metric_ids: Mapping[str, int]) -> dict[str, Any]:
        """The columns of the table `summary` beside its key."""
        return {
            "metrics": [metric_ids[name] for name in self.metrics],
            "sums": self.sums,
            "version": self.version,
            "series": list(self.series),
            "bands": self.bands,
        }


def summary_of(block: Block, summarize: Summarize | None) -> Summary | None:
    """The summary of a block; None where it is not worth its room."""
    n_processes, n_slices = block.covered_ns.shape
    if n_processes < LEAST_PROCESSES:
        return None
    sums = np.array([array.sum(axis=0) for array in block.values.values()], dtype=np.int64)
    bands = summarize(block) if summarize else None
    return Summary(
        metrics=tuple(block.values),
        sums=codec.encode_ints(sums.reshape(len(block.values), n_slices)),
        version=bands.version if bands else 0,
        series=bands.series if bands else (),
        bands=codec.encode_floats(bands.values) if bands else b"",
    )
