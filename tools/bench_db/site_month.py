"""A simulated month of a system, seeded: which jobs ran where and when, and what each did.

Jobs are copies of some hundred made-up profiles of all sizes, moved in time and onto other nodes, so that a month is
made in minutes. What is random, and how, is in the constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.metrics import METRICS
from crosswind.profile.model import Clock, Column, Job, Process, Profile

__all__ = ["FIRST_SLICE", "NODES", "SLICE_NS", "Placed", "Site", "Template", "long_job", "make_site", "make_template"]

SLICE_NS = 4_000_000_000
FIRST_SLICE = 441_000_000  # 2025-11-24 16:00 UTC, where the month begins
DAYS = 30
NODES = 5000
JOBS = 20_000
TEMPLATES = 300
USERS = 400

# Half of the jobs have one node; of the others each doubling halves the number, up to 512 nodes.
_ONE_NODE = 0.55
_LARGEST = 9
_PER_NODE = (1, 4, 16)  # processes
_PER_NODE_SHARE = (0.3, 0.3, 0.4)
# Durations are log-normal: median 10 minutes, cut at 6 hours.
_MEDIAN_SLICES = 150
_SPREAD = 1.3
_LONGEST = 5400
_MOST_CELLS = 2_000_000  # processes times slices of one job
_LARGE_EVERY = 1000  # jobs, one is of 512 nodes, 4 processes each, for an hour

# Per process and second; a program does some of it. Values of neighbouring slices are alike, and most are round.
_ALWAYS = {"cpu_time": 9.5e8, "cpu_system_time": 2e7, "run_delay": 2e6, "rss": 4e8, "faults_minor": 40, "threads": 1}
_PROGRAMS: dict[str, dict[str, float]] = {
    "md": {
        "mpi_p2p_calls": 12_000, "mpi_p2p_bytes_out": 9e7, "mpi_p2p_bytes_in": 9e7, "mpi_p2p_time": 3e7,
        "mpi_wait_calls": 6_000, "mpi_wait_time": 6e7, "mpi_coll_all_to_all_calls": 50,
        "mpi_coll_all_to_all_bytes_out": 2_400, "mpi_coll_all_to_all_bytes_in": 2_400, "mpi_coll_all_to_all_time": 4e7,
        "posix_net_write_calls": 2, "posix_net_write_bytes": 1e6, "posix_net_write_time": 5e6,
    },
    "cfd": {
        "mpi_p2p_calls": 3_000, "mpi_p2p_bytes_out": 3e8, "mpi_p2p_bytes_in": 3e8, "mpi_p2p_time": 9e7,
        "mpi_coll_all_to_all_calls": 20, "mpi_coll_all_to_all_bytes_out": 900, "mpi_coll_all_to_all_bytes_in": 900,
        "mpi_coll_all_to_all_time": 6e7, "posix_net_write_calls": 40, "posix_net_write_bytes": 2e7,
        "posix_net_write_time": 8e7, "posix_net_read_calls": 3, "posix_net_read_bytes": 2e6, "posix_net_meta_calls": 1,
    },
    "genomics": {
        "posix_net_read_calls": 900, "posix_net_read_bytes": 4e7, "posix_net_read_time": 2e8,
        "posix_net_meta_calls": 300, "posix_disk_write_calls": 200, "posix_disk_write_bytes": 2e7,
        "posix_disk_write_time": 9e7,
        "stdio_net_write_calls": 50, "stdio_net_write_bytes": 4e6,
    },
    "training": {
        "posix_net_read_calls": 60, "posix_net_read_bytes": 6e7, "posix_net_read_time": 3e8,
        "posix_mem_read_calls": 200, "posix_mem_read_bytes": 1e8, "posix_sock_write_calls": 90,
        "posix_sock_write_bytes": 5e6, "posix_sock_read_calls": 90, "posix_sock_read_bytes": 5e6,
    },
}  # fmt: skip
_FUNCTIONS = {"MPI_Send": 12_000, "MPI_Allreduce": 50, "write": 40, "read": 30, "open": 1}
_KINDS = {m.name: m.kind for m in METRICS}
_COLUMNS = tuple(Column(m.id, m.name, m.unit, m.kind) for m in METRICS)


@dataclass(frozen=True)
class Template:
    """A profile at the begin of time on nodes 0, 1, ...; per_node: processes on each."""

    profile: Profile
    nodes: int
    per_node: int


@dataclass(frozen=True)
class Placed:
    """A job of the month: which template, when, on which nodes, whose."""

    number: int
    template: Template
    first_slice: int
    hosts: tuple[str, ...]
    user: int

    @property
    def cells(self) -> int:
        """Process-slices."""
        return self.template.profile.covered_ns.size

    def profile(self) -> Profile:
        """The profile that a collector would load."""
        old, move = self.template.profile, self.first_slice * SLICE_NS
        return replace(
            old,
            job=replace(
                old.job,
                id=str(self.number),
                user=f"user{self.user:03d}",
                uid=10_000 + self.user,
                hosts=self.hosts,
                start_ns=old.job.start_ns + move,
                end_ns=old.job.end_ns + move,
            ),
            processes=tuple(
                replace(
                    p,
                    host=self.hosts[i // self.template.per_node],
                    uid=10_000 + self.user,
                    start_ns=p.start_ns + move,
                    end_ns=p.end_ns + move,
                )
                for i, p in enumerate(old.processes)
            ),
            first_slice=self.first_slice,
        )


@dataclass(frozen=True)
class Site:
    """The jobs by their begin. days, nodes: of the system."""

    jobs: tuple[Placed, ...]
    days: int
    nodes: int

    @property
    def cells(self) -> int:
        """Process-slices of all jobs."""
        return sum(job.cells for job in self.jobs)

    @property
    def use(self) -> float:
        """Share of the nodes' time in which a profiled job ran on them, were no node shared."""
        used = sum(len(job.hosts) * job.template.profile.n_slices for job in self.jobs) * SLICE_NS
        return used / (self.nodes * self.days * 86400 * 10**9)

    @property
    def first_slice(self) -> int:
        """Where the month begins."""
        return FIRST_SLICE


def make_site(scale: float, seed: int = 1) -> Site:
    """scale: share of the jobs of the whole month; the time and the nodes stay."""
    rng = np.random.default_rng(seed)
    n_jobs = max(20, round(JOBS * scale))
    templates = list(_templates(rng, max(10, min(TEMPLATES, n_jobs // 3))))
    large = make_template(rng, "cfd", 2**_LARGEST, 4, 900)
    month = DAYS * 86400 * 10**9 // SLICE_NS
    starts = np.sort(rng.integers(0, month, n_jobs))
    jobs = []
    for number, start in enumerate(starts):
        template = large if number % _LARGE_EVERY == 500 else templates[int(rng.integers(len(templates)))]
        chosen = rng.choice(NODES, template.nodes, replace=False) if template.nodes > 1 else rng.integers(0, NODES, 1)
        hosts = tuple(f"n{node:04d}" for node in np.sort(chosen))
        user = min(int(rng.pareto(0.8) * 5), USERS - 1)  # few users have most of the jobs
        jobs.append(Placed(1_000_000 + number, template, FIRST_SLICE + int(start), hosts, user))
    return Site(tuple(jobs), DAYS, NODES)


def long_job(seed: int = 1) -> Placed:
    """A job of 250 nodes, 4 processes each, over 10 000 slices (11 hours) in the middle of the month."""
    template = make_template(np.random.default_rng(seed), "genomics", 250, 4, 10_000)
    return Placed(90_000_000, template, FIRST_SLICE + 300_000, tuple(f"n{node:04d}" for node in range(250)), 0)


def _templates(rng: np.random.Generator, n: int) -> Iterator[Template]:
    names = list(_PROGRAMS)
    for number in range(n):
        nodes = 1
        if rng.random() > _ONE_NODE:
            shares = 0.5 ** np.arange(1, _LARGEST + 1)
            nodes = 2 ** int(rng.choice(np.arange(1, _LARGEST + 1), p=shares / shares.sum()))
        per_node = int(rng.choice(_PER_NODE, p=_PER_NODE_SHARE))
        slices = int(np.clip(rng.lognormal(np.log(_MEDIAN_SLICES), _SPREAD), 2, _LONGEST))
        slices = max(2, min(slices, _MOST_CELLS // (nodes * per_node)))
        yield make_template(rng, names[number % len(names)], nodes, per_node, slices)


def make_template(rng: np.random.Generator, program: str, nodes: int, per_node: int, slices: int) -> Template:
    """A profile of a made-up program; per_node: processes on each of the nodes."""
    n = nodes * per_node
    shape = (n, slices)
    covered = np.full(shape, SLICE_NS, dtype=np.int64)
    rates = _ALWAYS | _PROGRAMS[program]
    values = {name: _values(rng, rate, shape, gauge=_KINDS[name] == "gauge") for name, rate in rates.items()}
    processes = tuple(
        Process(f"t{i // per_node}", 4000 + i, i, program, 0, 0, slices * SLICE_NS, "clean", is_mpi=True)
        for i in range(n)
    )
    seconds = slices * SLICE_NS * 1e-9
    functions = {
        name: np.tile(np.array([calls, calls * 4096, 0, calls * 500]) * seconds, (n, 1)).astype(np.int64)
        for name, calls in _FUNCTIONS.items()
    }
    profile = Profile(
        job=Job("", "0", "", 0, (), n, 0, slices * SLICE_NS, program, "openmpi"),
        processes=processes,
        columns=_COLUMNS,
        slice_ns=SLICE_NS,
        first_slice=0,
        n_slices=slices,
        slices=values,
        covered_ns=covered,
        totals={name: v.max(axis=1) if _KINDS[name] == "gauge" else v.sum(axis=1) for name, v in values.items()},
        functions=functions,
        segments=None,
        clock=Clock(1.0, 800.0, 0.09, 3.5),
        mpi_functions=frozenset(name for name in functions if name.startswith("MPI_")),
    )
    return Template(profile, nodes, per_node)


def _values(rng: np.random.Generator, rate: float, shape: tuple[int, int], *, gauge: bool) -> NDArray[np.int64]:
    """A metric, [process, slice]: counts vary by 1 % from slice to slice, and programs have phases of output."""
    slices = shape[1]
    if gauge:
        steps = rng.random(shape) < 0.02
        return np.rint(rate * (1 + 0.01 * np.cumsum(steps, axis=1))).astype(np.int64)
    level = rate * SLICE_NS * 1e-9
    phases = np.where(np.arange(slices) % 75 < 60, 1.0, 0.2)
    return np.rint(level * phases * (1 + 0.01 * rng.standard_normal(shape))).astype(np.int64)
