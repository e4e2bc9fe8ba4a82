"""Claims: how several collectors share one spool directory and how the work of a dead one is found again.

    SPOOL/                     open to all users, sticky
        JOB.RANK.PID.TIME.xws
        claims/ID/owner        locked (flock) as long as the collector lives
        claims/ID/...          spool files that it is loading
        running/...            whose turn it is to read a running step (live.py)
        done/...               loaded
        refused/...            unreadable, kept for inspection

Taking a file is one rename, so exactly one collector gets it. A claim whose lock is free belongs to nobody alive:
its files go back to the spool, and since loading is idempotent it does not matter how far the dead collector came.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from crosswind.collector.errors import SpoolError
from crosswind.collector.folders import RefusedFolder, move_into, own_folder
from crosswind.collector.log import log_event

__all__ = ["RUNNING", "Claim", "Claims", "lock_file", "recover"]

CLAIMS, DONE, RUNNING, OWNER = "claims", "done", "running", "owner"


class Claim:
    """The files of one spool directory that this collector has taken. Made by `Claim.in_directory`."""

    def __init__(self, spool: Path, folder: Path) -> None:
        self.spool = spool
        self.folder = folder
        self._refused = RefusedFolder(spool)

    @classmethod
    @contextmanager
    def in_directory(cls, spool: Path) -> Iterator[Claim]:
        """A claim that is held within the block; what is still in it at the end goes back. Raises SpoolError."""
        folder, owner = _locked_folder(own_folder(spool, CLAIMS))
        claim = cls(spool, folder)
        try:
            yield claim
        finally:
            try:
                _empty(folder, spool)
            finally:
                os.close(owner)

    def take(self, path: Path) -> Path | None:
        """Take a file of the spool; its path from now on, or None when it is gone. Raises SpoolError."""
        target = self.folder / path.name
        try:
            os.rename(path, target)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SpoolError(
                f"cannot take {path.name} out of {self.spool} ({error.strerror}): run the collector as root or as the "
                "owner of the files"
            ) from None
        return target

    def finish(self, taken: Path, *, delete: bool) -> None:
        """A taken file is loaded: keep it in done/, or delete it."""
        if delete:
            os.unlink(taken)
        else:
            move_into(own_folder(self.spool, DONE), taken)

    def refuse(self, taken: Path) -> bool:
        """A taken file cannot be loaded: it goes to refused/. False: it is a directory, there was no room for it, and
        it is back in the spool.
        """
        if self._refused.keep(taken):
            return True
        self.give_back(taken)
        return False

    def give_back(self, taken: Path) -> None:
        """Put a taken file back into the spool."""
        move_into(self.spool, taken)


class Claims:
    """The claims of one look on its spool directories, each made when it is needed first. A context manager."""

    def __init__(self, spools: Sequence[Path]) -> None:
        self.spools = list(spools)
        self._claims: dict[Path, Claim] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *error: object) -> None:
        self._claims.clear()
        self._stack.close()

    def of(self, path: Path) -> Claim:
        """The claim on the directory of a file, which may have been taken already. Raises SpoolError."""
        for claim in self._claims.values():
            if path.parent in (claim.spool, claim.folder):
                return claim
        spool = next(spool for spool in self.spools if spool == path.parent)
        self._claims[spool] = self._stack.enter_context(Claim.in_directory(spool))
        return self._claims[spool]

    def origin(self, path: Path) -> Path:
        """Where a taken file lay, for reports."""
        return next((c.spool / path.name for c in self._claims.values() if path.parent == c.folder), path)


def recover(spool: Path) -> int:
    """Put back what collectors that died had taken; how many files. Raises SpoolError."""
    recovered = 0
    if not (spool / CLAIMS).is_dir():
        return 0
    for folder in sorted(own_folder(spool, CLAIMS).iterdir()):
        owner = lock_file(folder / OWNER)
        if owner is not None:
            try:
                recovered += _empty(folder, spool)
            finally:
                os.close(owner)
    return recovered


def _locked_folder(claims: Path) -> tuple[Path, int]:
    """A new folder and the descriptor that locks it."""
    while True:
        folder = claims / uuid4().hex
        folder.mkdir(mode=0o700)
        try:
            os.close(os.open(folder / OWNER, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except FileNotFoundError:
            continue  # taken for a dead one's and removed before it was locked
        owner = lock_file(folder / OWNER)
        if owner is not None:
            return folder, owner


def lock_file(path: Path) -> int | None:
    """The descriptor that holds a file's lock, made if need be; None: another collector holds it, or its folder is
    gone.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == os.stat(path).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None


def _empty(folder: Path, spool: Path) -> int:
    """Put the files of a locked claim back; how many. One that cannot be put back keeps no other: the claim stays, and
    the next collector tries again.
    """
    files = [path for path in folder.iterdir() if path.name != OWNER]
    moved = 0
    for path in files:
        try:
            move_into(spool, path)
            moved += 1
        except OSError as error:
            log_event(logging.WARNING, "not_given_back", file=path, reason=error)
    if moved == len(files):
        shutil.rmtree(folder)
    return moved
