"""Node files of a spool directory into the database.

The spool directory is open to all users, so a node file counts only if it is root's or of the user who runs the
collector: nobody else can speak for a node. A file of another user is not touched. One that its agent has ended, or
that has not grown for ten minutes, is taken away once it is loaded; a younger one stays and is loaded again later.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.agent.nodefile import MAX_FILE, NODE_SUFFIX, NodeFile, read_node_file
from crosswind.collector.claim import REFUSED, own_folder
from crosswind.collector.errors import SpoolError
from crosswind.collector.log import log_event
from crosswind.db.errors import DatabaseError, RefusedProfile
from crosswind.db.nodes import load_node_slices
from crosswind.profile.errors import FormatError

__all__ = ["NodeReport", "collect_nodes", "load_and_log"]

QUIET_S = 600.0  # after this long without growing a file counts as ended


@dataclass
class NodeReport:
    """What one look did: nodes whose slices were loaded, slices read, (file, why) of those that could not be."""

    nodes: set[str] = field(default_factory=set)
    slices: int = 0
    removed: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def collect_nodes(spools: Iterable[str | os.PathLike[str]], engine: Engine, *, cluster: str = "") -> NodeReport:
    """Load all node files of these directories. Loading again changes nothing.

    Raises DatabaseError, SpoolError, OSError.
    """
    report = NodeReport()
    for spool in dict.fromkeys(Path(s).resolve() for s in spools):
        for path in _node_files(spool):
            _load(path, engine, cluster, report)
    return report


def load_and_log(spool: Path, engine: Engine, *, cluster: str = "") -> None:
    """Load the node files of a directory. What fails is logged: the files stay for the next time."""
    try:
        report = collect_nodes([spool], engine, cluster=cluster)
    except (DatabaseError, SpoolError, OSError) as error:
        log_event(logging.WARNING, "nodes_not_loaded", reason=str(error))
        return
    for path, reason in report.refused:
        log_event(logging.ERROR, "refused", file=Path(path).name, reason=reason)
    if report.slices:
        log_event(logging.INFO, "nodes_loaded", nodes=len(report.nodes), slices=report.slices)


def _node_files(spool: Path) -> list[Path]:
    with os.scandir(spool) as entries:
        return sorted(Path(e.path) for e in entries if e.name.endswith(NODE_SUFFIX) and not e.name.startswith("."))


def _load(path: Path, engine: Engine, cluster: str, report: NodeReport) -> None:
    try:
        read = _read(path)
        if read is None:
            return
        data, status = read
        file = read_node_file(data, path)
        if file.slices.rows:
            load_node_slices(engine, file.slices, cluster=cluster)
    except (FormatError, RefusedProfile) as error:
        _refuse(path, str(error), report)
        return
    report.nodes.add(file.slices.node)
    report.slices += len(file.slices.rows)
    report.removed += _remove_if_ended(path, file, status)


def _read(path: Path) -> tuple[bytes, os.stat_result] | None:
    """The bytes of a file that may be believed; None for another's, or one that is gone or just being made."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, os.geteuid()):
            return None
        data = file.read(MAX_FILE + 1)
    return (data, status) if b"\n" in data or _is_quiet(status) else None


def _is_quiet(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime > QUIET_S


def _remove_if_ended(path: Path, file: NodeFile, status: os.stat_result) -> bool:
    """Take a loaded file away if nothing follows. An agent that went on after all sees it and begins a new file."""
    if not file.ended and not _is_quiet(status):
        return False
    try:
        if os.stat(path, follow_symlinks=False).st_size != status.st_size:
            return False  # it has grown since it was read
        os.unlink(path)
    except OSError:  # another collector was quicker
        return False
    return True


def _refuse(path: Path, reason: str, report: NodeReport) -> None:
    """Keep a bad file for inspection."""
    try:
        os.rename(path, own_folder(path.parent, REFUSED) / path.name)
    except FileNotFoundError:
        return
    report.refused.append((str(path), reason))
