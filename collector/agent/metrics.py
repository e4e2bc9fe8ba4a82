"""The table of node metrics (metrics.toml), read and checked, and the page that is made of it.

`python -m crosswind.collector.agent.metrics` prints docs/node-metrics.md.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from crosswind.profile.model import Column

__all__ = ["BY_NAME", "SOURCES", "SourceTable", "page"]


@dataclass(frozen=True)
class SourceTable:
    """One source of metrics. per: what its instances are, or nothing where the whole node is the one instance."""

    name: str
    origin: str
    per: str
    metrics: tuple[Column, ...]
    briefs: dict[str, str]


def _load() -> tuple[SourceTable, ...]:
    raw = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text())
    sources = tuple(
        SourceTable(
            name=source["name"],
            origin=source["origin"],
            per=source.get("per", ""),
            metrics=tuple(Column(m["id"], m["name"], m["unit"], m["kind"]) for m in source["metrics"]),
            briefs={m["name"]: m["brief"] for m in source["metrics"]},
        )
        for source in raw["source"]
    )
    columns = [c for source in sources for c in source.metrics]
    if len({c.id for c in columns}) != len(columns) or len({c.name for c in columns}) != len(columns):
        raise ValueError("metrics.toml: an id or a name is used twice")
    return sources


SOURCES: tuple[SourceTable, ...] = _load()
BY_NAME: dict[str, Column] = {c.name: c for source in SOURCES for c in source.metrics}


def page() -> str:
    """docs/node-metrics.md."""
    lines = [
        "# Node metrics",
        "",
        "Generated from `collector/agent/metrics.toml`; do not edit. What `crosswind agent` reads of each node,",
        "slice by slice ([operations](operations.md)). Ids are stable for ever. Kind: a *counter* is the",
        "difference over the slice, a *gauge* the value at its end. What a node does not have is absent, not zero.",
    ]
    for source in SOURCES:
        lines += ["", f"## {source.name}", "", f"From `{source.origin}`."]
        if source.per:
            lines[-1] += f" One series per {source.per}."
        lines += ["", "| id | name | unit | kind | meaning |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {c.id} | `{c.name}` | {c.unit} | {c.kind} | {source.briefs[c.name]} |" for c in source.metrics]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
