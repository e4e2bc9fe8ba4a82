"""Where bundles arrive: their files go into the collector's spool directory, bad bundles are set aside."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from crosswind.collector.errors import SpoolError
from crosswind.collector.folders import RefusedFolder
from crosswind.collector.log import log_event
from crosswind.collector.transport.bundle import ARRIVING, BUNDLE_SUFFIX, unpack
from crosswind.collector.transport.errors import BadBundle, OtherCluster
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain

__all__ = ["Inbox"]

ABANDONED_S = 3600.0  # what was not finished after so long belongs to a receiver that died
MAX_FAILURES = 5  # a bundle that could not be delivered so often, and not for want of anything here, is refused
MAX_KEPT = 100  # refused bundles that are kept
MAX_NOTED = 1000  # bundles that are remembered as refused, or as failed
_OURS = frozenset((  # what a delivery fails for that says something of this machine, and nothing of the bundle
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EACCES,
    errno.EPERM, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN, errno.ENOENT, errno.ENOTDIR,
))  # fmt: skip


class Inbox:
    """Delivers into one spool directory, what is of one cluster. files: delivered so far. n_refused: bundles that were
    refused so far; refused: the latest of them, (bundle, why).
    """

    def __init__(self, spool: Path, *, cluster: str = "") -> None:
        self.spool = spool
        self.cluster = cluster
        self.files = 0
        self.n_refused = 0
        self.refused: list[tuple[str, str]] = []
        self._failures: Counter[str] = Counter()
        self._kept = RefusedFolder(spool, most=MAX_KEPT, suffix=BUNDLE_SUFFIX)
        self._remove_abandoned()

    def deliver(self, bundle: Path) -> bool:
        """Deliver a bundle's files; False: it was refused. Raises OSError: it was not delivered and may be tried again;
        OtherCluster: it is not for us, and has to stay where it is.

        After it the bundle may go, either way: its files are on stable storage, or a copy is in refused/ as far as
        there is room.
        """
        try:
            files = unpack(bundle, self.spool, cluster=self.cluster)
        except OSError as error:
            if not os.path.lexists(bundle):
                return False  # another receiver was quicker
            if not self._gives_up(bundle, error):
                raise
            return self._set_aside(bundle, f"it cannot be delivered ({error.strerror})")
        except OtherCluster as error:
            self.refuse(bundle, str(error))
            raise
        except BadBundle as error:
            return self._set_aside(bundle, str(error))
        except Exception as error:  # no bundle may end the receiver, whatever is in it
            return self._set_aside(bundle, f"it cannot be unpacked ({type(error).__name__})")
        self._failures.pop(bundle.name, None)
        self.files += len(files)
        log_event(logging.INFO, "delivered", bundle=bundle.stem[:12], files=len(files))
        return True

    def refuse(self, bundle: Path, reason: str) -> None:
        """Note a bundle that was not delivered, once."""
        if not any(Path(known).name == bundle.name and why == reason for known, why in self.refused):
            self.n_refused += 1
            self.refused = [*self.refused[1 - MAX_NOTED :], (str(bundle), reason)]
            log_event(logging.ERROR, "refused", bundle=bundle.name, reason=reason, refused_so_far=self.n_refused)

    def _gives_up(self, bundle: Path, error: OSError) -> bool:
        """Whether a delivery failed for the last time."""
        if error.errno in _OURS or error.errno is None:
            return False
        if len(self._failures) >= MAX_NOTED:
            self._failures.clear()
        self._failures[bundle.name] += 1
        return self._failures[bundle.name] >= MAX_FAILURES

    def _set_aside(self, bundle: Path, reason: str) -> bool:
        self._keep(bundle)
        self.refuse(bundle, reason)
        return False

    def _keep(self, bundle: Path) -> None:
        """Copy a bundle into refused/: it may lie on another file system."""
        try:
            if not self._kept.has_room():
                return
            target = self._kept.folder / bundle.name
        except SpoolError as error:
            raise PermissionError(errno.EACCES, str(error), str(self.spool)) from None
        refusing = suppress(FileNotFoundError, FormatError)
        with refusing, open_plain(bundle) as (source, _), open(target, "wb") as copy:
            os.fchmod(copy.fileno(), 0o600)
            shutil.copyfileobj(source, copy, 1 << 20)
            self._kept.note()

    def _remove_abandoned(self) -> None:
        """Remove what a receiver that died had begun to write."""
        with os.scandir(self.spool) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.name.startswith(ARRIVING) and time.time() - os.lstat(entry.path).st_ctime > ABANDONED_S:
                        os.unlink(entry.path)
