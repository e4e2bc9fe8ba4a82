"""The collector's own folders in a spool directory, and moving files into them: nothing is ever overwritten."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from uuid import uuid4

from crosswind.collector.errors import SpoolError

__all__ = ["MAX_REFUSED", "REFUSED", "RefusedFolder", "move_into", "own_folder"]

REFUSED = "refused"
MAX_REFUSED = 10_000
COUNT_AGAIN_S = 60.0  # a full folder: somebody may have looked at it and emptied it


def own_folder(spool: Path, name: str) -> Path:
    """A folder of the spool that belongs to us alone: whoever may write to the spool could have planted another.

    Raises SpoolError.
    """
    folder = spool / name
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError as error:
        raise SpoolError(
            f"cannot make {folder} ({error.strerror}): the collector has to be able to write there"
        ) from None
    if folder.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise SpoolError(f"{folder} is not the collector's own folder (user {status.st_uid}): look at it and remove it")
    return folder


class RefusedFolder:
    """refused/ of a spool directory: what could not be used is kept for inspection. most: how many things that end in
    suffix may be there, MAX_REFUSED unless said.
    """

    def __init__(self, spool: Path, *, most: int | None = None, suffix: str = "") -> None:
        self._spool = spool
        self._most = MAX_REFUSED if most is None else most
        self._suffix = suffix
        self._count = 0
        self._counted_at: float | None = None

    def keep(self, path: Path) -> bool:
        """Move a file there; one too many is deleted. False: it is a directory, there is no room for it, and it was
        left alone. Raises SpoolError, OSError.
        """
        folder = self.folder
        if not self.has_room():
            if stat.S_ISDIR(os.lstat(path).st_mode):
                return False
            os.unlink(path)
            return True
        move_into(folder, path)
        self.note()
        return True

    def note(self) -> None:
        """One more thing was put there."""
        self._count += 1

    @property
    def folder(self) -> Path:
        """Where it lies. Raises SpoolError."""
        return own_folder(self._spool, REFUSED)

    def has_room(self) -> bool:
        """Whether one more thing may be kept. Raises SpoolError, OSError."""
        now, is_full = time.monotonic(), self._count >= self._most
        if self._counted_at is None or (is_full and now > self._counted_at + COUNT_AGAIN_S):
            self._count = sum(name.endswith(self._suffix) for name in os.listdir(self.folder))
            self._counted_at = now
        return self._count < self._most


def move_into(folder: Path, path: Path) -> None:
    """Move into a folder, never over something that is there: link, then unlink; half done it is easily completed."""
    target = folder / path.name
    while True:
        try:
            os.link(path, target, follow_symlinks=False)
        except FileExistsError:
            if _is_same(path, target):
                break
            target = _other_name(folder, path)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            if os.path.lexists(target):  # what bears the same name was refused before
                target = _other_name(folder, path)
            os.rename(path, target)  # a directory, or a file system without links
            return
        else:
            break
    os.unlink(path)


def _is_same(path: Path, target: Path) -> bool:
    """Whether both names are of one file. Links are not followed: users make them, also to nowhere."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(target))
    except FileNotFoundError:
        return False


def _other_name(folder: Path, path: Path) -> Path:
    """A name that is free and, whatever characters the user chose, no longer than a name may be."""
    stem = os.fsdecode(os.fsencode(path.stem)[:80])
    return folder / f"{stem}.{uuid4().hex[:8]}{path.suffix}"
