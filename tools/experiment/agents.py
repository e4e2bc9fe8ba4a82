"""What the agents of nodes and servers saw while a run lasted, from their files as they are: nothing is taken away."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from crosswind.collector.agent.nodefile import MAX_FILE, NODE_SUFFIX, read_node_file
from crosswind.db.nodes import NodeSlices
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain

__all__ = ["node_files", "seen_by_agents"]

LOOKS = 3  # for agents that have not come to the end of a run


def node_files(spools: Iterable[Path]) -> list[Path]:
    """The node files in these spool directories."""
    return sorted(path for spool in spools for path in spool.glob(f"*{NODE_SUFFIX}"))


def seen_by_agents(files: Callable[[], Sequence[Path]], begin_ns: int, end_ns: int) -> list[NodeSlices]:
    """The slices between two times, of each node's files; waits a little for the agents to come to the end.

    A file that cannot be read is left out: agents come and go. Only root's and one's own files are believed.
    """
    for look in range(LOOKS):
        found = [part for part in (_slices(path, begin_ns, end_ns) for path in files()) if part and part.rows]
        ends_ns: dict[str, int] = {}
        for part in found:
            ends_ns[part.node] = max(ends_ns.get(part.node, 0), (max(part.rows) + 1) * part.slice_ns)
        if not found or min(ends_ns.values()) >= end_ns or look == LOOKS - 1:
            break
        slice_s = max(part.slice_ns for part in found) / 1e9
        time.sleep(max(end_ns / 1e9 + 1.25 * slice_s - time.time(), slice_s / 2))
    return found


def _slices(path: Path, begin_ns: int, end_ns: int) -> NodeSlices | None:
    try:
        with open_plain(path, owners=(0, os.geteuid())) as (file, status):
            if status.st_mtime_ns < begin_ns:
                return None
            slices = read_node_file(file.read(MAX_FILE + 1), path).slices
    except (FormatError, OSError):
        return None
    length = slices.slice_ns
    rows = {k: row for k, row in slices.rows.items() if k * length < end_ns and (k + 1) * length > begin_ns}
    return dataclasses.replace(slices, rows=rows)
