"""Transport by a directory that the nodes and the collector share: whole files, by rename."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from crosswind.collector.transport.bundle import BUNDLE_SUFFIX, UNFINISHED, fsync_directory
from crosswind.collector.transport.errors import OtherCluster, TransportError
from crosswind.collector.transport.inbox import Inbox

__all__ = ["SharedReceiver", "SharedSender"]

ABANDONED_S = 3600.0  # a copy that was not finished after so long belongs to a node that died


class SharedSender:
    """Puts bundles into the shared directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def send(self, bundle: Path) -> None:
        """Copy a bundle; when it returns, the directory has it on stable storage. Raises TransportError."""
        making = self.directory / f"{UNFINISHED}{uuid4().hex}"
        try:
            with open(bundle, "rb") as source, open(making, "xb") as target:
                os.fchmod(target.fileno(), 0o600)
                shutil.copyfileobj(source, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
            os.rename(making, self.directory / bundle.name)
            fsync_directory(self.directory)
        except OSError as error:
            making.unlink(missing_ok=True)
            raise TransportError(f"cannot write to {self.directory}: {error.strerror}") from None

    def untaken(self, names: Collection[str]) -> set[str]:
        """Which of these bundles still lie there."""
        return {name for name in names if (self.directory / name).exists()}


class SharedReceiver:
    """Takes bundles out of the shared directory. Only those of root or of our own user count: docs/operations.md."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._others: set[Path] = set()  # bundles of other clusters that lie there

    def receive(self, inbox: Inbox) -> int:
        """Deliver all bundles that are there, as they came; how many. Raises TransportError; OSError, after the others,
        when a delivery fails.
        """
        delivered = 0
        failed: list[OSError] = []
        listed = self._listed()
        self._others &= set(listed)
        for path in listed:
            try:
                delivered += self._take(path, inbox)
            except OSError as error:  # the others need not wait for this one
                failed.append(error)
        if failed:
            raise failed[0]
        return delivered

    def _listed(self) -> list[Path]:
        """What is there, the oldest first. Raises TransportError."""
        found = []
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
        except OSError as error:
            raise TransportError(f"cannot read {self.directory}: {error.strerror}") from None
        return [Path(path) for _, path in sorted(found)]

    def _take(self, path: Path, inbox: Inbox) -> bool:
        """Deliver one bundle, or remove what was left of one; whether anything was delivered. Raises OSError."""
        if path in self._others:
            return False
        if path.suffix == BUNDLE_SUFFIX and self._is_trusted(path, inbox):
            try:
                delivered = inbox.deliver(path)
            except OtherCluster:
                self._others.add(path)
                return False
            path.unlink(missing_ok=True)
            return delivered
        if path.name.startswith(UNFINISHED):
            self._remove_abandoned(path)
        return False

    @staticmethod
    def _is_trusted(path: Path, inbox: Inbox) -> bool:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return False
        if stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.geteuid()):
            return True
        inbox.refuse(path, f"it is of user {status.st_uid}: only root speaks for a node")
        return False

    @staticmethod
    def _remove_abandoned(path: Path) -> None:
        try:
            if time.time() - os.lstat(path).st_mtime > ABANDONED_S:
                path.unlink()
        except FileNotFoundError:
            pass
