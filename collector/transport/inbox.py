"""Where bundles arrive: their files go into the collector's spool directory, bad bundles are set aside."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosswind.collector.claim import REFUSED, own_folder
from crosswind.collector.errors import SpoolError
from crosswind.collector.log import log_event
from crosswind.collector.transport.bundle import ARRIVING, open_bundle, unpack
from crosswind.collector.transport.errors import BadBundle

__all__ = ["Inbox"]

ABANDONED_S = 3600.0  # what was not finished after so long belongs to a receiver that died


@dataclass
class Inbox:
    """Delivers into one spool directory. refused: (bundle, why)."""

    spool: Path
    files: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Remove what a receiver that died had begun to write."""
        with os.scandir(self.spool) as entries:
            for entry in entries:
                if entry.name.startswith(ARRIVING) and time.time() - os.lstat(entry.path).st_ctime > ABANDONED_S:
                    os.unlink(entry.path)

    def deliver(self, bundle: Path) -> bool:
        """Deliver a bundle's files; False: it was refused. Raises OSError: it was not delivered and may be tried again.

        After it the bundle may go, either way: its files are on stable storage, or a copy is in refused/.
        """
        try:
            files = unpack(bundle, self.spool)
        except FileNotFoundError:
            return False  # another receiver was quicker
        except BadBundle as error:
            self._keep(bundle)
            self.refuse(bundle, str(error))
            return False
        self.files += len(files)
        log_event(logging.INFO, "delivered", bundle=bundle.stem[:12], files=len(files))
        return True

    def refuse(self, bundle: Path, reason: str) -> None:
        """Note a bundle that was not delivered."""
        if (str(bundle), reason) not in self.refused:
            self.refused.append((str(bundle), reason))
            log_event(logging.ERROR, "refused", bundle=bundle.name, reason=reason)

    def _keep(self, bundle: Path) -> None:
        try:
            target = own_folder(self.spool, REFUSED) / bundle.name
        except SpoolError as error:
            raise PermissionError(errno.EACCES, str(error), str(self.spool / REFUSED)) from None
        with suppress(FileNotFoundError), open_bundle(bundle) as source, open(target, "wb") as copy:
            os.fchmod(copy.fileno(), 0o600)
            shutil.copyfileobj(source, copy, 1 << 20)
