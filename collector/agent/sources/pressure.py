"""Pressure-stall information: /proc/pressure. Kernels without it, or booted without psi=1, have no such files."""

from __future__ import annotations

from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]

_KINDS = {"cpu": ("some",), "io": ("some", "full"), "memory": ("some", "full")}


def parse(resource: str, text: str) -> Values:
    """The values of one resource (cpu, io, memory); the kernel counts in us.

    `full` of the processor is left out: for a whole node it has no meaning and is always zero.
    """
    values: Values = {}
    for line in text.splitlines():
        kind, *words = line.split()
        fields = dict(word.split("=", 1) for word in words)
        if kind in _KINDS[resource] and "total" in fields:
            values[f"psi_{resource}_{kind}", ""] = 1000 * int(fields["total"])
    return values


def read(root: Path) -> Values:
    """Read below root."""
    values: Values = {}
    for resource in _KINDS:
        text = read_text(root / "proc/pressure" / resource)
        if text is not None:
            values |= parse(resource, text)
    return values
