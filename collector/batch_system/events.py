"""From the batch system into the database: events as they happen, gaps repaired from its queue.

    DIRECTORY/             of the user that the events' script runs as; nobody else may write there
        TIME.PID.json      one start or end of a job (batch/slurm/job_event.sh)
        refused/...        what could not be read

An event is removed when it is in the database. Taking it in again changes nothing, so a collector may die at any
moment.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.batch_system.slurm import UnreadableReport, parse_event, parse_queue
from crosswind.collector.batch_system.slurm_nodes import parse_nodes
from crosswind.collector.errors import SpoolError
from crosswind.db.batch import BatchJob, close_unknown, link_steps, store_batch_jobs
from crosswind.db.node_troubles import Trouble, follow_troubles
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain

__all__ = ["EventReport", "apply_events", "note_nodes", "repair_from_queue"]

MAX_EVENTS = 5000  # in one look and one transaction; the rest has its turn in the next
MAX_EVENT_BYTES = 1 << 16


@dataclass
class EventReport:
    """What one look did. changed: runs of jobs that are new or of which more is known now. linked: job steps that
    were brought together with their job. lost: jobs that the batch system forgot. nodes: that went down or out of
    service, or came back. refused: (what, why).
    """

    changed: int = 0
    linked: int = 0
    lost: int = 0
    nodes: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def apply_events(engine: Engine, directory: str | os.PathLike[str], *, cluster: str = "") -> EventReport:
    """Take in the events of a directory and, where they say anything new, link what was profiled. Raises SpoolError,
    DatabaseError; the events are still there then.
    """
    report = EventReport()
    folder = Path(directory)
    paths = _event_files(folder)
    jobs: list[BatchJob] = []
    read: list[Path] = []
    bad: list[Path] = []
    for path in paths:
        try:
            jobs.append(parse_event(_content(path)))
            read.append(path)
        except FileNotFoundError:
            continue  # another collector was quicker
        except (UnreadableReport, OSError) as error:
            report.refused.append((str(path), str(error)))
            bad.append(path)
    if jobs:
        report.changed = store_batch_jobs(engine, jobs, cluster)
    if report.changed:
        report.linked = link_steps(engine, cluster)
    try:
        for path in read:
            path.unlink(missing_ok=True)
        for path in bad:
            _refuse(path)
    except OSError as error:
        raise SpoolError(
            f"cannot remove events from {folder} ({error.strerror}): the collector has to be able to write there"
        ) from None
    return report


def repair_from_queue(engine: Engine, answer: bytes, asked_ns: int, *, cluster: str = "") -> EventReport:
    """Take in an answer of `squeue --json --states=all` that was asked at asked_ns: what events that were lost would
    have said. Raises UnreadableReport, DatabaseError.
    """
    jobs, refused, known = parse_queue(answer)
    report = EventReport(refused=[("squeue", reason) for reason in refused])
    report.changed = store_batch_jobs(engine, jobs, cluster, from_queue=True)
    report.lost = close_unknown(engine, known, asked_ns, cluster)
    report.linked = link_steps(engine, cluster)
    return report


def note_nodes(engine: Engine, answer: bytes, asked_ns: int, *, cluster: str = "") -> EventReport:
    """Take in an answer of `sinfo --json` that was asked at asked_ns: which nodes are down or drained, as events.
    Raises UnreadableReport, DatabaseError.
    """
    nodes, refused = parse_nodes(answer)
    troubles = [Trouble("node_down", n.name, n.since_ns, n.reason) for n in nodes if n.is_down]
    troubles += [Trouble("maintenance", n.name, n.since_ns, n.reason) for n in nodes if n.is_drained and not n.is_down]
    report = EventReport(refused=[("sinfo", reason) for reason in refused])
    known = {node.name for node in nodes}
    report.nodes = follow_troubles(engine, troubles, known, asked_ns, source="slurm", cluster=cluster)
    return report


def _event_files(folder: Path) -> list[Path]:
    """The oldest events. Raises SpoolError for a directory that others may write to, or that can't be read."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
            raise SpoolError(f"{folder} is no directory that only its owner may write to: chmod go-w {folder}")
        names = sorted(n for n in os.listdir(folder) if n.endswith(".json") and not n.startswith("."))
    except OSError as error:
        raise SpoolError(f"cannot read the directory of events {folder}: {error.strerror}") from None
    return [folder / name for name in names[:MAX_EVENTS]]


def _content(path: Path) -> bytes:
    """An event's bytes. Raises OSError, UnreadableReport."""
    try:
        with open_plain(path, largest=MAX_EVENT_BYTES) as (file, status):
            return file.read(status.st_size)
    except FormatError as error:
        raise UnreadableReport(error.reason) from None


def _refuse(path: Path) -> None:
    folder = path.parent / "refused"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path.rename(folder / path.name)
    except OSError:
        path.unlink(missing_ok=True)
