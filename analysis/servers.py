"""How much of a file server's traffic the profiled jobs explain, slice by slice.

The thesis monitored the servers beside the applications and threw away the runs in which the servers moved a tenth more
than the applications did (3.2.2): then something that was not watched was at work. Here the share is a number per
slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["EVIDENCE", "WAYS", "Explained", "explain", "server_metrics"]

WAYS = ("read", "write")
METADATA = "metadata only"

# What a server says of its traffic, the most direct first: (what it is called, metrics of reads, metrics of writes). A
# file server sends what clients read. Disks come last: a cache stands before them. A server of metadata alone moves no
# data of files, whatever goes over its network.
EVIDENCE: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("lustre", ("ost_read_bytes",), ("ost_write_bytes",)),
    ("nfs", ("nfsd_read_bytes",), ("nfsd_write_bytes",)),
    (METADATA, ("mdt_calls",), ("mdt_calls",)),
    ("infiniband", ("ib_tx_bytes",), ("ib_rx_bytes",)),
    ("omnipath", ("opa_tx_bytes",), ("opa_rx_bytes",)),
    ("network", ("net_tx_bytes",), ("net_rx_bytes",)),
    ("disk", ("disk_read_bytes",), ("disk_write_bytes",)),
)


@dataclass(frozen=True)
class Explained:
    """One way (read or write) of one resource. Arrays are float64 [window]; nan: a server was not seen.

    server: bytes that the servers moved; jobs: bytes that the profiled jobs moved; share: jobs / server, nan where the
    servers moved less than a byte in the window. evidence: where the servers' numbers come from, by server.
    """

    way: str
    server: NDArray[np.float64]
    jobs: NDArray[np.float64]
    evidence: Mapping[str, str]

    @property
    def share(self) -> NDArray[np.float64]:
        """jobs / server per window. Above 1 where clients' caches answered or hold back what was written."""
        return _ratio(self.jobs, self.server)

    @property
    def total_share(self) -> float:
        """The same over all windows that are known; nan where there are none."""
        known = ~np.isnan(self.server)
        return float(_ratio(self.jobs[known].sum(keepdims=True), self.server[known].sum(keepdims=True))[0])


def server_metrics() -> list[str]:
    """The metrics of nodes that say anything of a server's traffic."""
    return sorted({metric for _, reads, writes in EVIDENCE for metric in (*reads, *writes)})


def explain(
    servers: Mapping[str, Mapping[str, NDArray[np.int64]]],
    jobs: Mapping[str, NDArray[np.int64]],
    way: str,
    *,
    window: int = 1,
    gap: int = -1,
) -> Explained:
    """Compare the servers' traffic with the jobs', in windows of so many slices; the last one may be shorter.

    servers: by server and metric, int64 [slice] with `gap` where nothing is known. jobs: the resource's background, by
    metric, int64 [slice]. way: read or write. A window is known only if every server was seen in all of its slices.
    """
    n = len(next(iter(jobs.values())))
    server = np.zeros(n)
    evidence = {}
    for name, series in servers.items():
        evidence[name], traffic = _traffic(series, way, n, gap)
        server += traffic
    moved = np.zeros(n)
    for metric, values in jobs.items():
        if metric.endswith(f"_{way}_bytes"):
            moved += values
    starts = np.arange(0, n, window)
    return Explained(way, np.add.reduceat(server, starts), np.add.reduceat(moved, starts), evidence)


def _traffic(series: Mapping[str, NDArray[np.int64]], way: str, n: int, gap: int) -> tuple[str, NDArray[np.float64]]:
    """A server's traffic by the most direct evidence that it has, and what that is; nan in gaps."""
    for name, *metrics in EVIDENCE:
        found = [series[metric] for metric in metrics[WAYS.index(way)] if metric in series]
        if found:
            values = np.stack(found)
            moved = 0 if name == METADATA else values.sum(axis=0)
            return name, np.where((values == gap).any(axis=0), np.nan, moved)
    return "", np.full(n, np.nan)


def _ratio(jobs: NDArray[np.float64], server: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.full(server.shape, np.nan)
    np.divide(jobs, server, out=out, where=server >= 1)
    return out
