"""How many threads of a process were at work, beside what OMP_NUM_THREADS asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from crosswind.profile.model import Profile

__all__ = ["ThreadsAtWork", "asked_for", "threads_at_work"]

THOUSANDTHS = 1000  # unit of the column threads_busy
FEW, MANY = 0.5, 1.5  # of what was asked for: beyond these it is worth a remark


@dataclass(frozen=True)
class ThreadsAtWork:
    """One process. effective: CPU time / life time. average, busiest: threads that shared the work of a slice, over the
    slices weighted by CPU time, and the most; None where no slice tells. asked: by OMP_NUM_THREADS, 0 if not set.
    """

    effective: float
    average: float | None
    busiest: float | None
    asked: int

    @property
    def remark(self) -> str:
        """A sentence where far fewer or more were at work than asked for, else empty."""
        if self.asked and self.effective < FEW * self.asked:
            return f"OMP_NUM_THREADS asks for {self.asked} threads, {self.effective:.2g} were at work on average"
        if self.asked and self.effective > MANY * self.asked:
            return f"{self.effective:.2g} threads were at work, OMP_NUM_THREADS asks for {self.asked}"
        return ""


def threads_at_work(profile: Profile) -> list[ThreadsAtWork | None]:
    """For each process; None for rows that stand for several short ones."""
    empty = np.zeros((len(profile.processes), profile.n_slices), dtype=np.int64)
    cpu, busy = (profile.slices.get(name, empty).astype(np.float64) for name in ("cpu_time", "threads_busy"))
    weight = np.where(busy > 0, cpu, 0.0)
    result: list[ThreadsAtWork | None] = []
    for i, process in enumerate(profile.processes):
        life = process.end_ns - process.start_ns
        if process.state == "short" or life <= 0:
            result.append(None)
            continue
        total = float(weight[i].sum())
        result.append(
            ThreadsAtWork(
                effective=float(cpu[i].sum()) / life,
                average=float(weight[i] @ busy[i]) / total / THOUSANDTHS if total else None,
                busiest=float(busy[i].max()) / THOUSANDTHS if total else None,
                asked=asked_for(process.omp_num_threads),
            )
        )
    return result


def asked_for(omp_num_threads: str) -> int:
    """The number that the variable asks for: those of nested levels, ``4,2``, multiply. 0: nothing sensible."""
    numbers = omp_num_threads.split(",")
    if not all(n.isascii() and n.isdigit() and 0 < int(n) < 1_000_000 for n in numbers):
        return 0
    return prod(map(int, numbers))
