"""What a look at the spool directories did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["CollectReport", "LoadedStep"]


@dataclass(frozen=True)
class LoadedStep:
    """A job step that was loaded. changed: whether the database did not have all of it already. newest_ns: UTC, end of
    the last slice that its processes closed.
    """

    job_id: str
    step: str
    user: str
    job_key: int
    processes: int
    slices: int
    changed: bool
    newest_ns: int


@dataclass
class CollectReport:
    """What one look did. running: job steps left alone; refused: (file, why); kinds: how many files were refused by
    kind of reason; notes: what went wrong beside the loading.
    """

    loaded: list[LoadedStep] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    recovered: int = 0  # files of collectors that died
    node_slices: int = 0  # that were read from files of nodes' agents
