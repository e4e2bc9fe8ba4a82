"""Who reads a running job step: one collector at a time, and none again what another has loaded already.

    SPOOL/running/NAME     locked (flock) while a collector reads the step; holds the state of the files it loaded last

The lock goes with the process, however it dies. The state is written after the database has committed, so a collector
that dies in between costs a second, idempotent load and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crosswind.collector.claim import RUNNING, lock_file
from crosswind.collector.folders import own_folder
from crosswind.profile.steps import StepKey

__all__ = ["Turn", "end_turns", "sweep_turns", "take_turn"]

_MAX_STATE = 64
ABANDONED_S = 3600.0  # a turn that nobody took anything from for so long


class Turn:
    """The right to load a running step now. loaded: the state of its files that was loaded last, by anybody."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.loaded = os.pread(handle, _MAX_STATE, 0).decode("ascii", errors="replace")

    def note(self, state: str) -> None:
        """This state is in the database now."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, state.encode("ascii")[:_MAX_STATE], 0)


@contextmanager
def take_turn(spool: Path, key: StepKey) -> Iterator[Turn | None]:
    """The turn, held within the block; None: another collector has it. Raises SpoolError."""
    handle = lock_file(_path(spool, key))
    try:
        yield None if handle is None else Turn(handle)
    finally:
        if handle is not None:
            os.close(handle)


def end_turns(spool: Path, key: StepKey) -> None:
    """The step is finished: nobody follows it any more."""
    with suppress(FileNotFoundError):
        os.unlink(_path(spool, key))


def sweep_turns(spool: Path, abandoned_s: float = ABANDONED_S) -> int:
    """Remove the turns of steps whose files went away without being finished; how many. Raises SpoolError.

    One that is still wanted is made again, which costs a second, idempotent load.
    """
    removed = 0
    with os.scandir(own_folder(spool, RUNNING)) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another collector was quicker
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > abandoned_s:
                    removed += _remove_unlocked(Path(entry.path))
    return removed


def _remove_unlocked(path: Path) -> bool:
    handle = lock_file(path)
    if handle is None:
        return False
    try:
        os.unlink(path)
    finally:
        os.close(handle)
    return True


def _path(spool: Path, key: StepKey) -> Path:
    text = "\0".join((key.job_id, key.step_id, str(key.uid)))
    return own_folder(spool, RUNNING) / hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
