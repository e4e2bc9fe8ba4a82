"""Rows of the tables on a job's page. Pure: arrays and records in, plain values out; templates format them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.metrics import LOST, METRICS
from crosswind.profile.model import Process

__all__ = ["FunctionRow", "ProcessRow", "TotalRow", "function_rows", "lost_rows", "process_rows", "total_rows"]

_STATES = {
    "clean": "ended normally",
    "exited": "ended by _exit",
    "killed": "killed: gone without a word (signal, crash, time limit); counted up to its last complete slice",
    "lost": "lost: it ran when its node was last heard of; its files went with the node",
    "replaced": "replaced itself by another program (exec)",
    "short": "processes of one program that each ended before they were worth a file of their own",
    "running": "still running when it was collected",
}


@dataclass(frozen=True)
class ProcessRow:
    """One process image. number: its row in the frames. state_text: what its state means."""

    number: int
    process: Process
    state_text: str
    lost: tuple[str, ...]


@dataclass(frozen=True)
class TotalRow:
    """One metric over the processes. Numbers are in `unit`; sum is None for gauges, whose maxima do not add up."""

    name: str
    unit: str
    brief: str
    sum: int | None
    smallest: int
    mean: float
    largest: int


@dataclass(frozen=True)
class FunctionRow:
    """One wrapped function, summed over processes; share is of the time in all functions."""

    name: str
    calls: int
    bytes_out: int
    bytes_in: int
    time_ns: int
    share: float


def process_rows(processes: Sequence[Process], limit: int) -> list[ProcessRow]:
    """Killed processes first, then by rank; those without a rank last. At most `limit`."""
    order = sorted(enumerate(processes), key=lambda row: _urgency(row[1]))
    return [ProcessRow(i, p, _STATES.get(p.state, p.state), tuple(lost_rows(p.lost))) for i, p in order[:limit]]


def _urgency(process: Process) -> tuple[bool, bool, int, int]:
    return process.state != "killed", process.rank is None, process.rank or 0, process.start_ns


def total_rows(totals: Mapping[str, NDArray[np.int64]], ranks: NDArray[np.bool_]) -> list[TotalRow]:
    """The metrics that are not zero everywhere, in the order of the metric table. totals: metric -> [process].

    ranks: bool [process]. Minimum, mean and maximum are over the ranks, where there are any: a launcher and its helpers
    are processes too, and would make every minimum 0.
    """
    rows = []
    for metric in METRICS:
        values = totals.get(metric.name)
        if values is not None and np.any(values):
            total = int(values.sum()) if metric.kind == "counter" else None
            spread = values[ranks] if np.any(ranks) else values
            low, mean, high = int(spread.min()), float(spread.mean()), int(spread.max())
            rows.append(TotalRow(metric.name, metric.unit, metric.brief, total, low, mean, high))
    return rows


def function_rows(functions: Mapping[str, NDArray[np.int64]]) -> list[FunctionRow]:
    """The functions that were called, the one with the most time first. functions: name -> [process, 4]."""
    sums = {name: values.sum(axis=0).tolist() for name, values in functions.items()}
    everything = sum(row[3] for row in sums.values())
    rows = [
        FunctionRow(name, calls, bytes_out, bytes_in, time_ns, time_ns / everything if everything else 0.0)
        for name, (calls, bytes_out, bytes_in, time_ns) in sums.items()
        if calls
    ]
    return sorted(rows, key=lambda row: (-row.time_ns, -row.calls, row.name))


def lost_rows(lost: Mapping[str, int]) -> list[str]:
    """What the library could not do, as sentences; nothing lost: no rows."""
    return [f"{number} {LOST.get(name, name)}" for name, number in sorted(lost.items()) if number]
