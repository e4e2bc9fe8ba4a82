"""What the colour of the system's grid may be: what jobs did on a node, or what the node's agent saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crosswind.db import resources

__all__ = ["GROUPS", "METRICS", "GridMetric", "JobMetric", "NodeMetric"]


@dataclass(frozen=True)
class GridMetric:
    """One colour. unit: of the value. how: how it was measured. top: drawn in the darkest shade; None: the largest.
    blank: what a cell without a colour says.
    """

    blank: ClassVar[str] = "nothing ran"
    title: str
    unit: str
    how: str
    metrics: tuple[str, ...] = ()
    scale: float = 1e9
    gauge: bool = False
    top: float | None = None


@dataclass(frozen=True)
class JobMetric(GridMetric):
    """Of the jobs' processes. metrics: whose sum over a node's processes; none: the time lost. The value is the sum
    over a slice times `scale`, divided by the slice's length in ns; a gauge is taken as it is.
    """


@dataclass(frozen=True)
class NodeMetric(GridMetric):
    """Of everything on the node, as collector/agent/metrics.toml has it. The value is the sum of `metrics` less that of
    `less`, over that of `over`; without `over` as of jobs. falls: trouble is a low value, so a cell shows the smallest.
    """

    blank: ClassVar[str] = "not known"
    less: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    falls: bool = False

    @property
    def read(self) -> tuple[str, ...]:
        """All metrics that it is made of."""
        return tuple(dict.fromkeys((*self.metrics, *self.less, *self.over)))


def _moved(place: str) -> tuple[str, ...]:
    return tuple(f"{layer}_{place}_{op}_bytes" for layer in ("posix", "stdio") for op in ("read", "write"))


_OF_JOBS: dict[str, JobMetric | NodeMetric] = {
    "lost": JobMetric(
        "Time lost to interference",
        "share",
        "Share of each slice that the job on the node lost to other jobs, as "
        "estimated from its segments when it was loaded. All nodes of a job have the same value.",
        scale=1.0,
        top=0.3,
    ),
    "cpu": JobMetric(
        "Processors in use",
        "processors",
        "CPU time of all profiled processes of the node, per second.",
        ("cpu_time",),
        scale=1.0,
    ),
    "net_fs": JobMetric(
        "Network file systems, bytes moved",
        "B/s",
        "Read and written by the node's processes, system calls and stdio.",
        _moved("net"),
    ),
    "net_fs_meta": JobMetric(
        "Network file systems, metadata calls",
        "1/s",
        "open, close, stat and their like by the node's processes.",
        ("posix_net_meta_calls",),
    ),
    "disk": JobMetric(
        "Local disks, bytes moved",
        "B/s",
        "Read and written by the node's processes, system calls and stdio.",
        _moved("disk"),
    ),
    "mpi": JobMetric(
        "MPI, bytes sent",
        "B/s",
        "Point-to-point, collective and one-sided, by the node's processes.",
        tuple(m for m in resources.FEEDS["net"] if m.startswith("mpi_") and m.endswith("bytes_out")),
    ),
    "memory": JobMetric(
        "Memory in use", "B", "Resident memory of the node's processes at the end of each slice.", ("rss",), gauge=True
    ),
}

_OF_NODES: dict[str, JobMetric | NodeMetric] = {
    "node_cpu": NodeMetric(
        "Processors busy",
        "processors",
        "/proc/stat: time in user mode and in the kernel, of everything on the node.",
        ("cpu_user", "cpu_nice", "cpu_system", "cpu_irq", "cpu_softirq"),
        scale=1.0,
    ),
    "node_steal": NodeMetric(
        "Stolen by the hypervisor",
        "processors",
        "/proc/stat: time in which processors of the node wanted to run and the hypervisor ran something else.",
        ("cpu_steal",),
        scale=1.0,
    ),
    "node_frequency": NodeMetric(
        "Processor frequency, lowest",
        "Hz",
        "cpufreq: mean frequency of the node's processors at the end of each slice. A cell shows the lowest.",
        ("cpu_frequency",),
        gauge=True,
        falls=True,
    ),
    "node_throttles": NodeMetric(
        "Slowed because of heat",
        "1/s",
        "thermal_throttle: times that a core or a package was slowed.",
        ("cpu_core_throttles", "cpu_package_throttles"),
    ),
    "node_wait_cpu": NodeMetric(
        "Waiting for a processor",
        "share",
        "/proc/pressure/cpu: share of the slice in which some task waited for a processor.",
        ("psi_cpu_some",),
        scale=1.0,
        top=1.0,
    ),
    "node_wait_io": NodeMetric(
        "Waiting for I/O",
        "share",
        "/proc/pressure/io: share of the slice in which some task waited for I/O.",
        ("psi_io_some",),
        scale=1.0,
        top=1.0,
    ),
    "node_wait_memory": NodeMetric(
        "Waiting for memory",
        "share",
        "/proc/pressure/memory: share of the slice in which some task waited for memory.",
        ("psi_memory_some",),
        scale=1.0,
        top=1.0,
    ),
    "node_memory": NodeMetric(
        "Memory in use, of all",
        "share",
        "/proc/meminfo at the end of each slice: what could not be had without swapping, of the node's memory.",
        ("mem_total",),
        gauge=True,
        top=1.0,
        less=("mem_available",),
        over=("mem_total",),
    ),
    "node_swap": NodeMetric(
        "Pages swapped", "1/s", "/proc/vmstat: pages read from swap and written to it.", ("vm_swap_in", "vm_swap_out")
    ),
    "node_network": NodeMetric(
        "Network devices, bytes moved",
        "B/s",
        "/proc/net/dev: received and sent, all devices of the node together.",
        ("net_rx_bytes", "net_tx_bytes"),
    ),
    "node_packets_lost": NodeMetric(
        "Packets lost or damaged",
        "1/s",
        "/proc/net/dev: errors and drops in both directions, all devices of the node together.",
        ("net_rx_errors", "net_rx_dropped", "net_tx_errors", "net_tx_dropped"),
    ),
    "node_fabric": NodeMetric(
        "High-speed network, bytes moved",
        "B/s",
        "Port counters of InfiniBand and Omni-Path: received and sent, all ports of the node together.",
        ("ib_rx_bytes", "ib_tx_bytes", "opa_rx_bytes", "opa_tx_bytes"),
    ),
    "node_fabric_wait": NodeMetric(
        "High-speed network: could not send",
        "ticks/s",
        "Port counters of InfiniBand and Omni-Path: ticks in which a port had data to send and could not. Congestion.",
        ("ib_tx_wait", "opa_tx_wait"),
    ),
    "node_lustre_wait": NodeMetric(
        "Lustre: wait for data, mean of a request",
        "ns",
        "Client statistics: from sending a request for data to its answer. Blank, too, where there was none.",
        ("lustre_ost_wait",),
        over=("lustre_ost_requests",),
    ),
    "node_nfs_wait": NodeMetric(
        "NFS: wait, mean of a request",
        "ns",
        "/proc/self/mountstats: from queueing an operation to its answer. Blank, too, where there was none.",
        ("nfs_queue_time", "nfs_wait"),
        over=("nfs_calls",),
    ),
    "node_disk": NodeMetric(
        "Disks, bytes moved",
        "B/s",
        "/proc/diskstats: read and written, all disks of the node together.",
        ("disk_read_bytes", "disk_write_bytes"),
    ),
    "node_disk_busy": NodeMetric(
        "Disks busy",
        "disks",
        "/proc/diskstats: time in which a disk had something to do, all disks of the node added up.",
        ("disk_busy",),
        scale=1.0,
    ),
}

GROUPS: dict[str, dict[str, JobMetric | NodeMetric]] = {
    "Of jobs": _OF_JOBS,
    "Of nodes, seen by their agents": _OF_NODES,
}
METRICS: dict[str, JobMetric | NodeMetric] = _OF_JOBS | _OF_NODES
