"""Network devices: /proc/net/dev."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from crosswind.collector.agent.files import MAX_INSTANCES, Values, read_text

__all__ = ["parse", "read"]

_RECEIVED = ("bytes", "packets", "errors", "dropped")
_SENT_AT = 8  # the first column of what was sent


def parse(text: str, hardware: Collection[str]) -> Values:
    """The values in /proc/net/dev.

    hardware: the devices that are backed by some. Bridges, bonds and the ends of containers carry the same bytes once
    more, so they are left out; where nothing is backed by hardware (a container), all but the loopback count.
    """
    values: Values = {}
    devices = [line.partition(":") for line in text.splitlines() if ":" in line]
    for name, _, rest in devices[:MAX_INSTANCES]:
        device, words = name.strip(), rest.split()
        if device == "lo" or (hardware and device not in hardware):
            continue
        for at, what in enumerate(_RECEIVED):
            values[f"net_rx_{what}", device] = int(words[at])
            values[f"net_tx_{what}", device] = int(words[_SENT_AT + at])
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/net/dev")
    if text is None:
        return {}
    devices = [line.partition(":")[0].strip() for line in text.splitlines() if ":" in line]
    hardware = {d for d in devices[:MAX_INSTANCES] if (root / "sys/class/net" / d / "device").exists()}
    return parse(text, hardware)
