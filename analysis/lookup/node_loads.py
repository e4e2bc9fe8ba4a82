"""What a job's own nodes and the servers of its file systems tell, as suspects: the one table of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.lookup.suspects import Role, Suspect

__all__ = ["NODE_LOADS", "SERVER_LOADS", "NodeLoad", "node_metrics", "node_suspects"]

NodeSeries = Mapping[str, NDArray[np.float64]]  # metric -> [slice], instances summed, NaN where nothing is known


@dataclass(frozen=True)
class NodeLoad:
    """One thing that nodes tell: a sum of metrics of collector/agent/metrics.toml. title: for people. unit: of the sum
    per second. per: the metric that it is divided by, for a mean time per request. falls: trouble is a low value.
    """

    title: str
    metrics: tuple[str, ...]
    unit: str
    role: Role = Role.SIGN
    per: str = ""
    falls: bool = False
    gauge: bool = False


NODE_LOADS = (
    NodeLoad("time that tasks waited for a processor", ("psi_cpu_some",), "share"),
    NodeLoad("time that tasks waited for I/O", ("psi_io_some",), "share"),
    NodeLoad("time that tasks waited for memory", ("psi_memory_some",), "share"),
    NodeLoad("time stolen by the hypervisor", ("cpu_steal",), "processors"),
    NodeLoad("low processor frequency", ("cpu_frequency",), "Hz", falls=True, gauge=True),
    NodeLoad("processors slowed because of heat", ("cpu_core_throttles", "cpu_package_throttles"), "1/s"),
    NodeLoad("pages swapped", ("vm_swap_in", "vm_swap_out"), "1/s"),
    NodeLoad("allocations that had to free memory", ("vm_direct_reclaim",), "1/s"),
    NodeLoad("packets lost or damaged", ("net_rx_errors", "net_rx_dropped", "net_tx_errors", "net_tx_dropped"), "1/s"),
    NodeLoad("InfiniBand port could not send", ("ib_tx_wait",), "ticks/s"),
    NodeLoad("Omni-Path port could not send", ("opa_tx_wait",), "ticks/s"),
    NodeLoad("congestion marks of RoCE", ("ib_ecn_marked", "ib_cnp_handled"), "1/s"),
    NodeLoad("waiting time of a Lustre request for data", ("lustre_ost_wait",), "ns", per="lustre_ost_requests"),
    NodeLoad("waiting time of a Lustre request for metadata", ("lustre_mdt_wait",), "ns", per="lustre_mdt_requests"),
    NodeLoad("waiting time of an NFS request", ("nfs_queue_time", "nfs_wait"), "ns", per="nfs_calls"),
    NodeLoad("NFS requests sent again", ("nfs_retransmissions", "nfs_timeouts"), "1/s"),
    NodeLoad("time that the disk was busy", ("disk_busy",), "share"),
)
SERVER_LOADS = (
    NodeLoad("bytes written by clients", ("ost_write_bytes", "nfsd_write_bytes"), "B/s", Role.SUM),
    NodeLoad("bytes read by clients", ("ost_read_bytes", "nfsd_read_bytes"), "B/s", Role.SUM),
    NodeLoad("metadata operations of clients", ("mdt_calls",), "1/s", Role.SUM),
    NodeLoad("requests of clients", ("nfsd_calls", "lustre_service_requests"), "1/s", Role.SUM),
    NodeLoad("waiting time of a request in a service", ("lustre_service_wait",), "ns", per="lustre_service_requests"),
    NodeLoad("time that the disk was busy", ("disk_busy",), "share"),
    NodeLoad("time that tasks waited for I/O", ("psi_io_some",), "share"),
)


def node_metrics(table: Sequence[NodeLoad]) -> frozenset[str]:
    """The metrics of nodes that `node_suspects` uses."""
    return frozenset(metric for load in table for metric in (*load.metrics, load.per) if metric)


def node_suspects(table: Sequence[NodeLoad], resource: str, nodes: Sequence[NodeSeries]) -> Iterator[Suspect[NodeLoad]]:
    """The suspects that some nodes are together: traffic is the sum over the nodes, unknown where one that tells it
    is; a sign is that of the worst node, as the slowest node holds up a job. What never changes is left out.
    """
    for load in table:
        told = [values for values in (_of_node(load, series) for series in nodes) if values is not None]
        if not told:
            continue
        rows = np.stack(told)
        known = ~np.isnan(rows)
        worst = np.where(known, rows, -np.inf).max(axis=0)
        together = rows.sum(axis=0) if load.role is Role.SUM else np.where(known.any(axis=0), worst, np.nan)
        if np.unique(together[~np.isnan(together)]).size > 1:
            yield Suspect(load, resource, together, load.role)


def _of_node(load: NodeLoad, series: NodeSeries) -> NDArray[np.float64] | None:
    """What one node tells, larger where there is more trouble, [slice]; None: nothing of it."""
    parts = [series[metric] for metric in load.metrics if metric in series]
    if not parts or (load.per and load.per not in series):
        return None
    total: NDArray[np.float64] = np.sum(parts, axis=0)
    if load.per:
        requests = series[load.per]  # where there are none nothing waits, and nothing is known of how long it would
        return np.divide(total, requests, out=np.full(total.shape, np.nan), where=requests > 0)
    return -total if load.falls else total
