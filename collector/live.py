"""Who reads a running job step: one collector at a time, and none again what another has loaded already.

    SPOOL/running/NAME     locked (flock) while a collector reads the step; holds the state of the files it loaded last

The lock goes with the process, however it dies. The state is written after the database has committed, so a collector
that dies in between costs a second, idempotent load and nothing else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crosswind.collector.claim import RUNNING, lock_file, own_folder
from crosswind.profile.steps import StepKey

__all__ = ["Turn", "end_turns", "take_turn"]

_MAX_STATE = 64


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


def _path(spool: Path, key: StepKey) -> Path:
    text = "\0".join((key.job_id, key.step_id, str(key.uid)))
    return own_folder(spool, RUNNING) / hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
