"""A short look at a spool file: who wrote it, has it news. Two or three small reads, whatever the file holds."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

import numpy as np

from crosswind.profile import layout
from crosswind.profile.container import MAX_FILE, Instant, check_header, header_instant, header_text
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import ChunkKind, State
from crosswind.profile.plain_file import open_plain

__all__ = ["START", "Cursor", "Peek", "peek"]

_LENGTH = struct.Struct("<I")
_RECORD_HEAD = 8
_WINDOW = 1 << 16  # bytes of a chunk that are read at once
_MAX_WINDOWS = 64  # of them in one look; the rest comes with the next


@dataclass(frozen=True)
class Cursor:
    """How far a file has been followed: number of its chunks of slices, offset in the last behind its last record."""

    chunk: int = 0
    offset: int = 0


START = Cursor()


@dataclass(frozen=True)
class Peek:
    """What the header page says, and where the committed slices end. owner_uid, size, mtime_ns, device, inode: of the
    file that was opened, never of its name. is_log: the log of a step's short processes. pid_namespace: see SpoolFile.
    """

    path: str
    is_log: bool
    device: int
    inode: int
    size: int
    mtime_ns: int
    owner_uid: int
    state: State
    pid: int
    pid_namespace: int
    parent_pid: int
    start_ticks: int
    start: Instant
    ranks: int
    slice_ns: int
    boot_id: str
    host: str
    job_id: str
    step_id: str
    cursor: Cursor

    @property
    def uid(self) -> int:
        """Whose process it is: the owner of the file decides, whatever the header says."""
        return self.owner_uid


def peek(path: str | os.PathLike[str], since: Cursor = START, *, follow: bool = True) -> Peek | None:
    """Look at a file; None: its header is still all zeros. since: where an earlier look at the same file ended.

    follow=False leaves the cursor where it is. Raises FormatError for what is no spool file (links and special files
    too), OSError on opening it.
    """
    with open_plain(path, largest=MAX_FILE) as (file, status):
        return _peek(file.fileno(), status, path, since, follow)


def _peek(
    handle: int, status: os.stat_result, path: str | os.PathLike[str], since: Cursor, follow: bool
) -> Peek | None:
    page = os.pread(handle, layout.HEADER_SIZE, 0)
    if len(page) < layout.HEADER_SIZE or not any(page[:8]):
        if any(page):
            raise FormatError(path, "is not a Crosswind spool file, or cut off in its header")
        return None
    is_log = page.startswith(layout.SHORT_MAGIC)
    header = check_header(page, layout.SHORT_MAGIC if is_log else layout.MAGIC, path)
    return Peek(
        path=os.fspath(path),
        is_log=is_log,
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        owner_uid=status.st_uid,
        state=State(header["state"]),
        pid=int(header["pid"]),
        pid_namespace=int(header["pid_namespace"]),
        parent_pid=int(header["parent_pid"]),
        start_ticks=int(header["start_ticks"]),
        start=header_instant(header["start"]),
        ranks=max(int(header["ranks"]), 0),
        slice_ns=int(header["slice_ns"]),
        boot_id=header_text(header["boot_id"]),
        host=header_text(header["host"]),
        job_id=header_text(header["job_id"]),
        step_id=header_text(header["step_id"]),
        cursor=since if is_log or not follow else _advanced(handle, header, since),
    )


def _advanced(handle: int, header: np.void, since: Cursor) -> Cursor:
    """The cursor behind the last record of the last chunk of slices. Checksums are the reader's business."""
    n = min(int(header["n_chunks"]), layout.MAX_CHUNKS)
    chunks = [(at, size) for at, size, kind in header["chunk"][:n].tolist() if kind == ChunkKind.SLICES]
    if not chunks:
        return since
    begin, size = chunks[-1]
    at = since.offset if since.chunk == len(chunks) else 0
    for _ in range(_MAX_WINDOWS):
        possible = at < size < MAX_FILE and begin + at < MAX_FILE  # the table of chunks may say anything
        window = os.pread(handle, min(_WINDOW, size - at), begin + at) if possible else b""
        passed = _walk(window)
        if not passed:
            break
        at += passed
    return Cursor(len(chunks), at)


def _walk(window: bytes) -> int:
    """How many bytes the records take that lie in the window as a whole."""
    at = 0
    while at + _RECORD_HEAD <= len(window):
        (length,) = _LENGTH.unpack_from(window, at)
        end = at + _RECORD_HEAD + (length + 3 & ~3)
        if not length or end > len(window):
            break
        at = end
    return at
