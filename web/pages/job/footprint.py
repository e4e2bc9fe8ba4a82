"""The bars on top of a job's page: a few shares that tell at a glance what kind of job it was. Pure.

RULES is the one table of thresholds, each with its reason. Nothing rests on colour alone: a level has an icon and a
word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis import series_named
from crosswind.analysis.verdict import HIGH_ABOVE_PCT, LOW_BELOW_PCT
from crosswind.profile.model import Process

__all__ = ["LEVELS", "RULES", "Bar", "Rule", "footprint", "level_of"]

LEVELS = {"fine": ("✓", "fine"), "look": ("!", "worth a look"), "poor": ("▲", "poor"), "unknown": ("–", "not known")}


@dataclass(frozen=True)
class Rule:
    """One bar. look, poor: from which share on it is no longer fine; with `more_is_better` below which. reason: why
    there, how: what the share is of. A rule without thresholds is shown and not judged.
    """

    name: str
    title: str
    look: float | None
    poor: float | None
    reason: str
    how: str
    more_is_better: bool = False


@dataclass(frozen=True)
class Bar:
    """A rule and the share of one job, None where it is not known; note: what more to say, or why not."""

    rule: Rule
    share: float | None
    note: str

    @property
    def level(self) -> str:
        """One of LEVELS."""
        return level_of(self.rule, self.share)

    @property
    def icon(self) -> str:
        """A sign for the level."""
        return LEVELS[self.level][0]

    @property
    def word(self) -> str:
        """A word for the level."""
        return LEVELS[self.level][1]

    @property
    def percent(self) -> str:
        """The share as people read it."""
        if self.share is None:
            return "–"
        return f"{100 * self.share:.1f} %" if self.share < 0.1 else f"{100 * self.share:.0f} %"

    @property
    def filled(self) -> float:
        """How much of the bar is filled, percent; more than all of it is drawn as all."""
        return 100 * min(max(self.share or 0.0, 0.0), 1.0)


RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "lost",
            "Lost time",
            LOW_BELOW_PCT / 100,
            HIGH_ABOVE_PCT / 100,
            f"below {LOW_BELOW_PCT:g} % a run is fit for performance analysis, above {HIGH_ABOVE_PCT:g} % it should be "
            "repeated: the classes of the estimate",
            "of the time that segments cover, by the estimate",
        ),
        Rule(
            "mpi",
            "MPI",
            0.3,
            0.6,
            "from a third on, fewer ranks or better balance often finish as soon; from 60 % on the job communicates "
            "more than it computes",
            "time in MPI over the wall time of the ranks",
        ),
        Rule(
            "imbalance",
            "Imbalance",
            0.1,
            0.25,
            "so much of the time outside MPI the mean rank waits for the busiest; a tenth is what good codes reach, a "
            "quarter of the nodes could be saved",
            "1 less mean over largest time outside MPI of the ranks",
        ),
        Rule(
            "io",
            "File I/O",
            0.1,
            0.25,
            "from a tenth on larger requests, fewer files or asynchronous output pay; from a quarter on I/O sets the "
            "pace",
            "time in file I/O (system calls, stdio, MPI-IO) over the wall time of the processes",
        ),
        Rule(
            "cpu",
            "Processors",
            0.8,
            0.5,
            "what was allocated and not used is charged all the same; below half of it fewer processors would do",
            "CPU time over allocated processors times run time",
            more_is_better=True,
        ),
        Rule(
            "waited",
            "Waited for CPU",
            0.02,
            0.1,
            "threads that are ready to run should run: more means too many threads for the processors, or others on "
            "them",
            "time in the run queue over the wall time of the processes",
        ),
        Rule(
            "memory",
            "Memory",
            0.85,
            0.95,
            "above 85 % the page cache has no room and I/O slows down, above 95 % the kernel may end the job",
            "resident memory of all processes of the fullest node, each at its largest, over the memory of that node",
        ),
    )
}


def level_of(rule: Rule, share: float | None) -> str:
    """The level of a share: fine, look or poor; unknown where there is no share or no threshold."""
    if share is None or rule.look is None or rule.poor is None:
        return "unknown"
    if rule.more_is_better:
        return "poor" if share < rule.poor else "look" if share < rule.look else "fine"
    return "poor" if share > rule.poor else "look" if share > rule.look else "fine"


def footprint(
    processes: Sequence[Process],
    totals: Mapping[str, NDArray[np.int64]],
    *,
    lost_pct: float | None,
    cpus: int | None,
    node_bytes: Mapping[str, int],
) -> list[Bar]:
    """The bars of a job, in the order of RULES; those that make no sense for it are left out.

    totals: metric -> int64 [process]. lost_pct: of the estimate. cpus: allocated to the job, where the batch system
    said. node_bytes: the memory of the job's nodes, as far as their agents said.
    """
    if not processes:
        return []
    wall_ns = np.array([p.end_ns - p.start_ns for p in processes], dtype=np.float64)
    ranks = np.array([p.rank is not None for p in processes], dtype=np.bool_)
    rows = ranks if ranks.any() else np.ones(len(processes), dtype=np.bool_)
    per_process = _Sums(totals, len(processes))
    mpi_ns = per_process("mpi_share")
    io_ns = per_process("posix_io_share") + per_process("stdio_io_share") + per_process("mpiio_share")
    bars = [
        Bar(RULES["lost"], None if lost_pct is None else lost_pct / 100, "" if lost_pct is not None else "no estimate")
    ]
    if ranks.any():
        bars.append(Bar(RULES["mpi"], _ratio(mpi_ns[ranks].sum(), wall_ns[ranks].sum()), ""))
        bars.append(_imbalance(np.maximum(wall_ns - mpi_ns, 0.0)[ranks]))
    bars.append(Bar(RULES["io"], _ratio(io_ns[rows].sum(), wall_ns[rows].sum()), ""))
    bars.append(_processors(processes, float(per_process.metric("cpu_time").sum()), cpus))
    bars.append(Bar(RULES["waited"], _ratio(per_process.metric("run_delay")[rows].sum(), wall_ns[rows].sum()), ""))
    bars.append(_memory(processes, per_process.metric("rss"), node_bytes))
    return bars


class _Sums:
    """Sums of metrics per process, float64 [process]; what was not measured counts as zero."""

    def __init__(self, totals: Mapping[str, NDArray[np.int64]], n: int) -> None:
        self._totals, self._n = totals, n

    def __call__(self, series: str) -> NDArray[np.float64]:
        """All metrics of a series."""
        return np.sum([self.metric(name) for name in series_named(series).metrics], axis=0)

    def metric(self, name: str) -> NDArray[np.float64]:
        """One metric."""
        values = self._totals.get(name)
        return np.zeros(self._n) if values is None else values.astype(np.float64)


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


def _imbalance(outside_ns: NDArray[np.float64]) -> Bar:
    """outside_ns: time outside MPI, [rank]."""
    if outside_ns.size < 2:
        return Bar(RULES["imbalance"], None, "one rank")
    share = _ratio(float(outside_ns.max() - outside_ns.mean()), float(outside_ns.max()))
    return Bar(RULES["imbalance"], share, "")


def _processors(processes: Sequence[Process], cpu_ns: float, cpus: int | None) -> Bar:
    run_ns = max(p.end_ns for p in processes) - min(p.start_ns for p in processes)
    if run_ns <= 0:
        return Bar(RULES["cpu"], None, "too short")
    used = f"{cpu_ns / run_ns:.3g} in use on average"
    if not cpus:
        return Bar(RULES["cpu"], None, f"{used}; how many were allocated is not known")
    return Bar(RULES["cpu"], cpu_ns / run_ns / cpus, f"{used} of {cpus}")


def _memory(processes: Sequence[Process], rss: NDArray[np.float64], node_bytes: Mapping[str, int]) -> Bar:
    per_node: dict[str, float] = {}
    for process, size in zip(processes, rss.tolist(), strict=True):
        per_node[process.host] = per_node.get(process.host, 0.0) + size
    fullest = max(per_node, key=lambda host: per_node[host] / node_bytes.get(host, 1 << 62))
    if not node_bytes.get(fullest):
        fullest = max(per_node, key=lambda host: per_node[host])
        return Bar(RULES["memory"], None, f"{per_node[fullest] / 2**30:.3g} GiB; how much the node has is not known")
    return Bar(RULES["memory"], per_node[fullest] / node_bytes[fullest], f"{per_node[fullest] / 2**30:.3g} GiB")
