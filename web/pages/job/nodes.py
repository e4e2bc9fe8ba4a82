"""What the agents of a job's nodes saw while it ran, as plots: one line for each node of few, the spread over many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.timeline import band
from crosswind.db.node_queries import NodeRow, get_node_series, node_slice_lengths, nodes_named
from crosswind.db.queries import JobRow
from crosswind.db.schema import GAP
from crosswind.web.figures import Line, Plot
from crosswind.web.identity import viewer
from crosswind.web.identity.privacy import withheld_of_nodes

__all__ = ["MAX_NODES", "NodePlot", "NodesSeen", "memory_of_nodes", "node_plots", "read_nodes"]

MAX_NODES = 32  # that are read; of more the spread over so many, evenly chosen
MAX_VALUES = 1 << 20  # nodes times slices: of a long job fewer nodes are read
_FEW = 3  # nodes that get a line each

_Values = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class NodeLine:
    """One line of a node's plot: a function of the node's values by metric, [slice], and of the slice's ns.

    metrics: any of these are needed; every one of them with `needs_all`.
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    of: Callable[[_Values, float], NDArray[np.float64]]
    needs_all: bool = False

    def has_values(self, values: _Values) -> bool:
        """Whether a node has what the line needs."""
        held = [name in values for name in self.metrics]
        return all(held) if self.needs_all else any(held)


@dataclass(frozen=True)
class NodePlot:
    """One plot. how: how the numbers were measured."""

    name: str
    title: str
    unit: str
    lines: tuple[NodeLine, ...]
    how: str


@dataclass(frozen=True)
class NodesSeen:
    """values: per node and metric float64 [slice], NaN where nothing is known. notes: what is missing, in words."""

    values: dict[str, dict[str, NDArray[np.float64]]]
    notes: tuple[str, ...]


_CPU = ("cpu_user", "cpu_nice", "cpu_system", "cpu_irq", "cpu_softirq")
_NOT_BUSY = ("cpu_idle", "cpu_iowait", "cpu_steal")


def _share_of_processors(*parts: str) -> Callable[[_Values, float], NDArray[np.float64]]:
    def of(values: _Values, _slice_ns: float) -> NDArray[np.float64]:
        every = np.asarray(sum(values[name] for name in (*_CPU, *_NOT_BUSY) if name in values))
        part = np.asarray(sum(values[name] for name in parts if name in values))
        return np.divide(part, every, out=np.full(every.shape, np.nan), where=every > 0)

    return of


def _used_memory(values: _Values, _slice_ns: float) -> NDArray[np.float64]:
    return values["mem_total"] - values["mem_available"]


def _sum(name: str, title: str, *metrics: str, per: float = 1e-9) -> NodeLine:
    """A sum of counters per second; per: 1 makes a share of the slice of times in ns."""

    def of(values: _Values, slice_ns: float) -> NDArray[np.float64]:
        return np.asarray(sum(values[m] for m in metrics if m in values)) / (slice_ns * per)

    return NodeLine(name, title, metrics, of)


def _level(name: str, title: str, metric: str) -> NodeLine:
    return NodeLine(name, title, (metric,), lambda values, _slice_ns: values[metric])


def _processors(name: str, title: str, *parts: str) -> NodeLine:
    return NodeLine(name, title, parts, _share_of_processors(*parts))


NODE_PLOTS = (
    NodePlot(
        "node_cpu",
        "Processors",
        "share",
        (
            _processors("busy", "busy", *_CPU),
            _processors("iowait", "waited for I/O", "cpu_iowait"),
            _processors("steal", "taken by the hypervisor", "cpu_steal"),
        ),
        "/proc/stat: time of all processors, of everything on the node, over all their time",
    ),
    NodePlot(
        "node_pressure",
        "Pressure: some task waited for",
        "share",
        (
            _sum("psi_cpu", "a processor", "psi_cpu_some", per=1.0),
            _sum("psi_io", "I/O", "psi_io_some", per=1.0),
            _sum("psi_memory", "memory", "psi_memory_some", per=1.0),
        ),
        "/proc/pressure: share of the slice in which some task was held up",
    ),
    NodePlot(
        "node_memory",
        "Memory",
        "B",
        (
            NodeLine("used", "used", ("mem_total", "mem_available"), _used_memory, needs_all=True),
            _level("dirty", "waits to be written", "mem_dirty"),
        ),
        "/proc/meminfo: total less available; pages that wait to be written back",
    ),
    NodePlot(
        "node_network",
        "Network devices",
        "B/s",
        (_sum("rx", "received", "net_rx_bytes"), _sum("tx", "sent", "net_tx_bytes")),
        "/proc/net/dev: all devices together",
    ),
    NodePlot(
        "node_fabric",
        "High-speed network",
        "B/s",
        (
            _sum("fabric_rx", "received", "ib_rx_bytes", "opa_rx_bytes"),
            _sum("fabric_tx", "sent", "ib_tx_bytes", "opa_tx_bytes"),
        ),
        "port counters of InfiniBand and Omni-Path: everything on the node",
    ),
    NodePlot(
        "node_lustre",
        "Lustre",
        "B/s",
        (
            _sum("lustre_read", "fetched", "lustre_ost_read_bytes"),
            _sum("lustre_write", "sent", "lustre_ost_write_bytes"),
        ),
        "client statistics: bytes to and from the servers, all file systems together",
    ),
    NodePlot(
        "node_nfs",
        "NFS",
        "B/s",
        (_sum("nfs_read", "read", "nfs_read_bytes"), _sum("nfs_write", "written", "nfs_write_bytes")),
        "/proc/self/mountstats: bytes to and from the servers",
    ),
    NodePlot(
        "node_disk",
        "Disks",
        "B/s",
        (_sum("disk_read", "read", "disk_read_bytes"), _sum("disk_write", "written", "disk_write_bytes")),
        "/proc/diskstats: all disks together",
    ),
)
_METRICS = tuple(
    dict.fromkeys([*(metric for plot in NODE_PLOTS for line in plot.lines for metric in line.metrics), *_NOT_BUSY])
)


def read_nodes(conn: Connection, job: JobRow) -> NodesSeen:
    """The values of the job's nodes over its slices."""
    watched = nodes_named(conn, job.cluster, job.hosts)
    if not watched or not job.n_slices:
        return NodesSeen({}, ("No agent watched the nodes of this job.",))
    most = min(len(watched), MAX_NODES, max(MAX_VALUES // job.n_slices, 1))
    chosen = [watched[i] for i in np.linspace(0, len(watched) - 1, most).round().astype(int)]
    values = {node.name: _of_node(conn, job, node) for node in chosen}
    values = {name: found for name, found in values.items() if found}
    return NodesSeen(values, tuple(_notes(conn, job, watched, chosen, values)))


def memory_of_nodes(conn: Connection, job: JobRow) -> dict[str, int]:
    """Bytes of memory of the first of the job's nodes that an agent watched, taken for all of them; empty: none."""
    for node in nodes_named(conn, job.cluster, job.hosts)[:1]:
        for values in get_node_series(
            conn, node.key, ("mem_total",), job.first_slice, min(job.n_slices, 1 << 12), job.slice_ns
        ).values():
            if values.size and values.max() > 0:
                return dict.fromkeys(job.hosts, int(values.max()))
    return {}


def node_plots(seen: NodesSeen, slice_ns: int) -> list[Plot]:
    """The plots of which any node has values that are not zero."""
    plots = []
    for plot in NODE_PLOTS:
        lines: list[Line] = []
        for line in plot.lines:
            rows = {name: line.of(values, slice_ns) for name, values in seen.values.items() if line.has_values(values)}
            if any(np.any(row > 0) for row in rows.values()):
                lines += _lines(line, rows)
        if lines:
            per = "" if len(seen.values) == 1 else ", per node"
            plots.append(Plot(plot.name, plot.title + per, plot.unit, tuple(lines), "nodes", (("measured", plot.how),)))
    return plots


def _lines(line: NodeLine, rows: Mapping[str, NDArray[np.float64]]) -> list[Line]:
    """A line for each of few nodes, or the median with a band from the smallest to the largest of many."""
    if len(rows) == 1:
        return [Line(line.name, line.title, next(iter(rows.values())))]
    if len(rows) <= _FEW:
        return [Line(f"{line.name}/{i}", f"{line.title}, {name}", row) for i, (name, row) in enumerate(rows.items())]
    spread = band(np.stack(list(rows.values())))
    return [Line(line.name, line.title, spread.median, "job", spread.low, spread.high)]


def _of_node(conn: Connection, job: JobRow, node: NodeRow) -> dict[str, NDArray[np.float64]]:
    """Metric -> float64 [slice], all instances (devices, disks, file systems) added up."""
    found = get_node_series(conn, node.key, _METRICS, job.first_slice, job.n_slices, job.slice_ns)
    sums: dict[str, NDArray[np.float64]] = {}
    for (metric, _instance), values in found.items():
        known = np.where(values == GAP, np.nan, values.astype(np.float64))
        sums[metric] = known if metric not in sums else sums[metric] + known
    hidden = withheld_of_nodes(conn, (node.name,), job.first_slice, job.n_slices, job.slice_ns)
    return {metric: np.where(hidden, np.nan, values) for metric, values in sums.items()}


def _notes(
    conn: Connection, job: JobRow, watched: Sequence[NodeRow], chosen: Sequence[NodeRow], values: Mapping[str, object]
) -> list[str]:
    notes = []
    if not values:
        start_ns = job.first_slice * job.slice_ns
        keys = [node.key for node in chosen]
        lengths = node_slice_lengths(conn, keys, start_ns, start_ns + job.n_slices * job.slice_ns)
        if lengths:
            seen = ", ".join(f"{length / 1e9:g} s" for length in lengths)
            notes.append(
                f"The agents used slices of {seen}, this job {job.slice_ns / 1e9:g} s: they cannot be compared."
            )
        else:
            notes.append("The agents of this job's nodes saw nothing while it ran, or it was pruned since.")
    if len(watched) < len(job.hosts):
        notes.append(f"Agents watched {len(watched)} of the {len(job.hosts)} nodes of this job.")
    if len(chosen) < len(watched):
        notes.append(f"Drawn are {len(chosen)} of {len(watched)} nodes, evenly chosen by name.")
    notes.append("These are sums over everything on the nodes, this job included.")
    if not viewer().names_others:
        notes.append("There is a gap where few other jobs are known to have been on a node.")
    return notes
