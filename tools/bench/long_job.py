"""What a refresh of a running job costs that was followed from its begin, however long ago that was.

The processes have slices of ten patterns of values, and close a hundred of them between two looks until the history is
there; then one at a time. Time that the database's server works is in the elapsed time only.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosswind.analysis.series_bands import summarize
from crosswind.collector.daemon import Daemon
from crosswind.collector.settings import Settings
from crosswind.db import open_database
from crosswind.profile.metrics import METRICS
from support.growing import GrowingSpool
from support.spools import SLICE_NS, SpoolBuilder

SAMPLED = [m.name for m in METRICS if m.id >= 1000][:30]
PATTERNS = 10
PER_NODE = 64  # processes
AT_ONCE = 100  # slices between two looks, while the history is made
REFRESHES = 9
RECORD = 400  # bytes of a slice at most


def measure_refresh(url: str, folder: Path, n_processes: int, n_slices: int) -> Iterator[tuple[str, float, str]]:
    """Figures (name, value, unit) of one job of so many processes, with so many slices behind it."""
    first = time.time_ns() // SLICE_NS - n_slices - REFRESHES - 1
    processes = _processes(folder, n_processes, first, n_slices)
    engine = open_database(url)
    now_ns = first * SLICE_NS
    settings = Settings(live_share=1e9, budget_s=1e9)
    daemon = Daemon([folder], engine, settings=settings, summarize=summarize, clock_ns=lambda: now_ns)
    began = time.process_time()
    done = 0
    while done < n_slices:
        n = min(AT_ONCE, n_slices - done)
        _close(processes, range(first + done, first + done + n))
        done += n
        now_ns = (first + done) * SLICE_NS + SLICE_NS // 8
        daemon.look()
    yield "history", time.process_time() - began, "s"
    cpu, elapsed = [], []
    for index in range(first + done, first + done + REFRESHES):
        _close(processes, range(index, index + 1))
        now_ns = (index + 1) * SLICE_NS + SLICE_NS // 8
        began, at = time.process_time(), time.perf_counter()
        report = daemon.look()
        cpu.append(time.process_time() - began)
        elapsed.append(time.perf_counter() - at)
        if [step.slices for step in report.loaded] != [index - first + 2]:
            raise RuntimeError(f"slice {index - first} was not loaded: {report}")
    engine.dispose()
    yield "refresh_cpu", sorted(cpu)[len(cpu) // 2], "s"
    yield "refresh_elapsed", sorted(elapsed)[len(elapsed) // 2], "s"
    yield "refresh_elapsed_max", max(elapsed), "s"
    yield "memory_peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB"


def _processes(folder: Path, n: int, first: int, n_slices: int) -> list[GrowingSpool]:
    """Running processes of other nodes that are about to close their first slice."""
    room = (1 << 12) + (n_slices + REFRESHES) * RECORD & ~4095
    builders = (
        SpoolBuilder(
            job_id="1", pid=1000 + i, start_ns=first * SLICE_NS, boot_id="another", host=f"n{i // PER_NODE:03}"
        )
        for i in range(n)
    )
    return [GrowingSpool(folder, builder, room=room) for builder in builders]


def _close(processes: Sequence[GrowingSpool], slices: Sequence[int]) -> None:
    """All close these slices; those of one pattern alike."""
    for number, pattern in enumerate(processes[:PATTERNS]):
        for index in slices:
            values = {name: 1000 * i + (number * index if i % 3 == 0 else 0) % 977 for i, name in enumerate(SAMPLED)}
            pattern.grow(index, 17 + index % 5, values)
    for number, process in enumerate(processes[PATTERNS:]):
        process.copy(processes[number % PATTERNS])
