"""Omni-Path ports: /sys/class/infiniband/hfi1_*/ports/N/hw_counters.

The port_xmit_data of these devices counts flits or words depending on the driver's version; the driver's own counters
TxWords and RxWords always count words of four bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswind.collector.agent.files import Values, read_number
from crosswind.collector.agent.sources.infiniband import OMNIPATH, ports

__all__ = ["parse", "read"]

# file: (metric, factor)
_COUNTERS = {
    "TxWords": ("opa_tx_bytes", 4),
    "RxWords": ("opa_rx_bytes", 4),
    "TxPkt": ("opa_tx_packets", 1),
    "RxPkt": ("opa_rx_packets", 1),
    "TxWait": ("opa_tx_wait", 1),
}


def parse(port: str, numbers: Mapping[str, int]) -> Values:
    """The values of one port from the numbers in its files."""
    return {(metric, port): factor * numbers[file] for file, (metric, factor) in _COUNTERS.items() if file in numbers}


def read(root: Path) -> Values:
    """Read below root."""
    values: Values = {}
    for device, port in ports(root):
        if device.startswith(OMNIPATH):
            base = root / "sys/class/infiniband" / device / "ports" / port / "hw_counters"
            found = {file: read_number(base / file) for file in _COUNTERS}
            values |= parse(f"{device}/{port}", {file: n for file, n in found.items() if n is not None})
    return values
