"""SIGINT, SIGTERM and SIGHUP as an exception, so that what runs is ended before the experiment stops."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupted", "interruptible"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Somebody asked the experiment to stop. No error: nothing on the way catches it."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, the first of these signals raises Interrupted; later ones are ignored. Only in the main thread."""

    def leave(number: int, _frame: FrameType | None) -> None:
        for later in SIGNALS:
            signal.signal(later, signal.SIG_IGN)  # cleaning up is not to be interrupted, and is bounded
        raise Interrupted(signal.Signals(number).name)

    before = {number: signal.signal(number, leave) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
