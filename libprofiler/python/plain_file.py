"""Opening files in directories that are open to others: what bears a file's name may be a link, a pipe or a device."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BufferedReader

from crosswind.profile.errors import FormatError

__all__ = ["open_plain"]

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def open_plain(
    path: str | os.PathLike[str], *, largest: int | None = None, owners: Collection[int] | None = None
) -> Iterator[tuple[BufferedReader, os.stat_result]]:
    """A regular file for reading and what is known of it, both of what was opened, whatever the name is by then.

    Opening it follows no link and waits for no pipe. largest: bytes that it may have; owners: users who may own it.
    Raises FormatError for what it is not, OSError when it can't be opened.
    """
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        if os.path.islink(path):
            raise FormatError(path, "is a symbolic link, no regular file") from None
        if error.errno in (errno.ENXIO, errno.ENODEV):  # sockets, devices that are not there
            raise FormatError(path, "is no regular file") from None
        raise error
    try:
        status = os.fstat(handle)
        if reason := _refusal(status, largest, owners):
            raise FormatError(path, reason)
        file = os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        yield file, status


def _refusal(status: os.stat_result, largest: int | None, owners: Collection[int] | None) -> str:
    """Why a file is not taken; empty where it is."""
    if not stat.S_ISREG(status.st_mode):
        return "is no regular file"
    if owners is not None and status.st_uid not in owners:
        return f"is of user {status.st_uid}"
    if largest is not None and status.st_size > largest:
        return f"is larger than {_size(largest)}"
    return ""


def _size(n_bytes: int) -> str:
    return f"{n_bytes >> 20} MiB" if n_bytes >= 1 << 20 else f"{n_bytes >> 10} KiB"
