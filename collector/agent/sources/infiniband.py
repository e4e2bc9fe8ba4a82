"""InfiniBand and RoCE ports: /sys/class/infiniband. Omni-Path's devices are there too, but count in other units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswind.collector.agent.files import Values, names_in, read_number

__all__ = ["OMNIPATH", "parse", "ports", "read"]

OMNIPATH = "hfi1_"
_WORD = 4  # bytes that the data counters count in
# file: (metric, factor)
_COUNTERS = {
    "counters/port_xmit_data": ("ib_tx_bytes", _WORD),
    "counters/port_rcv_data": ("ib_rx_bytes", _WORD),
    "counters/port_xmit_packets": ("ib_tx_packets", 1),
    "counters/port_rcv_packets": ("ib_rx_packets", 1),
    "counters/port_xmit_wait": ("ib_tx_wait", 1),
    "counters/port_xmit_discards": ("ib_tx_discards", 1),
    "counters/port_rcv_errors": ("ib_rx_errors", 1),
    "counters/symbol_error": ("ib_symbol_errors", 1),
    "counters/link_downed": ("ib_link_downed", 1),
    "hw_counters/np_ecn_marked_roce_packets": ("ib_ecn_marked", 1),
    "hw_counters/rp_cnp_handled": ("ib_cnp_handled", 1),
}
# Old adapters have 32 bits and stop at the top instead of wrapping: such a value says nothing more.
_STUCK = {
    "counters/port_xmit_data",
    "counters/port_rcv_data",
    "counters/port_xmit_packets",
    "counters/port_rcv_packets",
}
_STUCK_AT = (1 << 32) - 1


def parse(port: str, numbers: Mapping[str, int]) -> Values:
    """The values of one port from the numbers in its files."""
    return {
        (metric, port): factor * numbers[file]
        for file, (metric, factor) in _COUNTERS.items()
        if file in numbers and not (file in _STUCK and numbers[file] == _STUCK_AT)
    }


def ports(root: Path) -> list[tuple[str, str]]:
    """All ports of the node, Omni-Path's included: (device, number)."""
    base = root / "sys/class/infiniband"
    return [(device, port) for device in names_in(base) for port in names_in(base / device / "ports")]


def read(root: Path) -> Values:
    """Read below root."""
    values: Values = {}
    for device, port in ports(root):
        if device.startswith(OMNIPATH):
            continue
        base = root / "sys/class/infiniband" / device / "ports" / port
        found = {file: read_number(base / file) for file in _COUNTERS}
        values |= parse(f"{device}/{port}", {file: n for file, n in found.items() if n is not None})
    return values
