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
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.agent.nodefile import MAX_FILE, NODE_SUFFIX, NodeFile, read_node_file
from crosswind.collector.errors import SpoolError
from crosswind.collector.folders import RefusedFolder
from crosswind.collector.log import log_event
from crosswind.collector.spool import MAX_FILES
from crosswind.db.errors import DatabaseError, RefusedProfile
from crosswind.db.events import note_boot
from crosswind.db.nodes import load_node_slices
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain

__all__ = ["LoadedFiles", "NodeReport", "collect_nodes", "load_and_log"]

QUIET_S = 600.0  # after this long without growing a file counts as ended
MAX_NODE_FILES = 10_000  # of ours, in one look
LOOK_S = 10.0  # a daemon's look loads node files for so long; the rest has its turn in the next


@dataclass(frozen=True)
class _Loaded:
    """A file as it was when it was loaded last, and when that was (monotonic, s)."""

    state: tuple[int, int, int]
    at_s: float


LoadedFiles = dict[Path, _Loaded]  # of one directory: what a daemon remembers from look to look


@dataclass
class NodeReport:
    """What one look did: nodes whose slices were loaded, slices read, files taken away because nothing follows, lines
    left out because they were damaged, (file, why) of files that could not be read.
    """

    nodes: set[str] = field(default_factory=set)
    slices: int = 0
    removed: int = 0
    damaged: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def collect_nodes(spools: Iterable[str | os.PathLike[str]], engine: Engine, *, cluster: str = "") -> NodeReport:
    """Load all node files of these directories. Loading again changes nothing.

    Raises DatabaseError, SpoolError, OSError.
    """
    report = NodeReport()
    for spool in dict.fromkeys(Path(s).resolve() for s in spools):
        for path in _node_files(spool, {}):
            _load(path, engine, cluster, report)
    return report


def _collect_changed(spool: Path, engine: Engine, cluster: str, loaded: LoadedFiles) -> NodeReport:
    """Load the node files that changed since they were loaded, those first that wait longest, for LOOK_S. Raises as
    collect_nodes.
    """
    report, end = NodeReport(), time.monotonic() + LOOK_S
    for path in _node_files(spool, loaded):
        if time.monotonic() > end:
            break
        status = _load(path, engine, cluster, report)
        if status is not None:
            loaded[path] = _Loaded(_state_of(status), time.monotonic())
    return report


def load_and_log(spool: Path, engine: Engine, *, cluster: str = "", loaded: LoadedFiles | None = None) -> None:
    """Load the node files of a directory. What fails is logged: the files stay for the next time. loaded: what earlier
    looks at the directory loaded; kept up to date.
    """
    try:
        report = _collect_changed(spool, engine, cluster, {} if loaded is None else loaded)
    except (DatabaseError, SpoolError, OSError) as error:
        log_event(logging.WARNING, "nodes_not_loaded", reason=str(error))
        return
    for path, reason in report.refused:
        log_event(logging.ERROR, "refused", file=Path(path).name, reason=reason)
    if report.slices:
        log_event(
            logging.WARNING if report.damaged else logging.INFO,
            "nodes_loaded",
            nodes=len(report.nodes),
            slices=report.slices,
            removed=report.removed,
            damaged_lines=report.damaged,
        )


def _node_files(spool: Path, loaded: LoadedFiles) -> list[Path]:
    """The files that may be believed and are not loaded as they are. What is gone is forgotten."""
    found: dict[Path, os.stat_result] = {}
    with os.scandir(spool) as entries:
        for entry in islice(entries, MAX_FILES):
            if entry.name.endswith(NODE_SUFFIX) and not entry.name.startswith("."):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if _is_believed(status):
                        found[Path(entry.path)] = status
            if len(found) >= MAX_NODE_FILES:
                break
    for gone in loaded.keys() - found.keys():
        del loaded[gone]
    due = [p for p, s in found.items() if p not in loaded or loaded[p].state != _state_of(s) or _is_quiet(s)]
    return sorted(due, key=lambda path: (loaded[path].at_s if path in loaded else 0.0, path))


def _is_believed(status: os.stat_result) -> bool:
    """Whether a file is one that may speak for a node."""
    return stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.geteuid())


def _state_of(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _load(path: Path, engine: Engine, cluster: str, report: NodeReport) -> os.stat_result | None:
    """Load one file; what it was when it was read, or None where it was not loaded."""
    try:
        read = _read(path)
        if read is None:
            return None
        data, status = read
        file = read_node_file(data, path)
        if file.slices.rows:
            load_node_slices(engine, file.slices, cluster=cluster)
        if file.boot.boot_id:
            note_boot(engine, file.slices.node, file.boot.boot_id, file.boot.booted_ns, cluster=cluster)
    except (FormatError, RefusedProfile) as error:
        _refuse(path, str(error), report)
        return None
    report.nodes.add(file.slices.node)
    report.slices += len(file.slices.rows)
    report.damaged += file.damaged
    report.removed += _remove_if_ended(path, file, status)
    return status


def _read(path: Path) -> tuple[bytes, os.stat_result] | None:
    """The bytes of a file that may be believed; None for another's, or one that is gone or just being made."""
    try:
        with open_plain(path, owners=(0, os.geteuid())) as (file, status):
            data = file.read(MAX_FILE + 1)
    except (FormatError, OSError):
        return None
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
        RefusedFolder(path.parent).keep(path)
    except FileNotFoundError:
        return
    report.refused.append((str(path), reason))
