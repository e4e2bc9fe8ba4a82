"""Which signals stop an experiment."""

from __future__ import annotations

import os
import signal

import pytest

from crosswind.tools.experiment.interruption import Interrupted, interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_a_signal_interrupts_once(number):
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=number.name), interruptible():  # noqa: PT012
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)  # while it cleans up
    assert signal.getsignal(number) == before


def test_what_nohup_has_it_ignore_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
