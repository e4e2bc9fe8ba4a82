"""Memory of the node: /proc/meminfo."""

from __future__ import annotations

from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]

_LINES = {
    "MemTotal": "mem_total",
    "MemAvailable": "mem_available",
    "Cached": "mem_cached",
    "Dirty": "mem_dirty",
    "Writeback": "mem_writeback",
}


def parse(text: str) -> Values:
    """The values in /proc/meminfo, which counts in KiB."""
    lines = (line.partition(":") for line in text.splitlines())
    sizes = {name: 1024 * int(rest.split()[0]) for name, _, rest in lines if rest.endswith(" kB")}
    values: Values = {(metric, ""): sizes[name] for name, metric in _LINES.items() if name in sizes}
    if "SwapTotal" in sizes and "SwapFree" in sizes:
        values["swap_used", ""] = sizes["SwapTotal"] - sizes["SwapFree"]
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/meminfo")
    return {} if text is None else parse(text)
