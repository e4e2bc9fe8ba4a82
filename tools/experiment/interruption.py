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
    """Inside, the first of these signals raises Interrupted; later ones are ignored, as are those that were ignored
    before (nohup). Only in the main thread.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        for later in before:
            signal.signal(later, signal.SIG_IGN)  # cleaning up is not to be interrupted, and is bounded
        raise Interrupted(signal.Signals(number).name)

    caught = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in caught}
    for number in caught:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
