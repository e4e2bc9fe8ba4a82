"""Finding spool files. The directories are open to all users, so names and kinds of what lies there are hostile."""

from __future__ import annotations

import os
import time
from pathlib import Path

from crosswind.collector.errors import SpoolError
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain

__all__ = ["COPY_MARK", "MAX_FILES", "SUFFIXES", "find_spools", "is_copy", "remove_unfinished"]

SUFFIXES = (".xws", ".xwl")  # a process's own file; the log of a job step's short processes
COPY_MARK = ".running"  # ends the stem of a delivered copy of a file to which its process still writes
UNFINISHED = ".making."  # the name under which the library makes a file, before it gives it its own
MAX_FILES = 1 << 20
STARTING_S = 60.0  # how long a file may be without a header: its process is about to write it


def is_copy(path: str | os.PathLike[str]) -> bool:
    """Whether a file was delivered from another node while its process still wrote to it."""
    return Path(path).stem.endswith(COPY_MARK)


def find_spools(directory: str | os.PathLike[str]) -> list[Path]:
    """The spool files of a directory by name, without those that their process is just making.

    Whatever bears such a name is returned, also what is no regular file: the reader refuses it with the reason. Raises
    SpoolError when the directory can't be read.
    """
    found: list[Path] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIXES) and not entry.name.startswith(".") and not _is_starting(entry.path):
                    found.append(Path(entry.path))
                if len(found) > MAX_FILES:
                    raise SpoolError(f"{directory} holds more than {MAX_FILES} spool files: find out who makes them")
    except OSError as error:
        raise SpoolError(f"cannot read the spool directory {directory}: {error.strerror}") from None
    return sorted(found)


def _is_starting(path: str) -> bool:
    """Whether a young file has no header yet."""
    try:
        with open_plain(path) as (file, status):
            return time.time() - status.st_mtime < STARTING_S and not any(os.pread(file.fileno(), 8, 0))
    except (FormatError, OSError):
        return False


def remove_unfinished(directory: str | os.PathLike[str]) -> int:
    """Remove files whose process died within the moment in which it made them; how many there were.

    Making one takes less than a millisecond, so what is older than a minute will never be finished. Nothing was counted
    in it.
    """
    removed = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.name.startswith(UNFINISHED) or not entry.is_file(follow_symlinks=False):
                continue
            try:
                if time.time() - entry.stat(follow_symlinks=False).st_mtime >= STARTING_S:
                    os.unlink(entry.path)
                    removed += 1
            except OSError:  # gone meanwhile, or not ours to remove: it does no harm
                continue
    return removed
