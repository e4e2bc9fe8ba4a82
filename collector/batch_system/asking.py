"""Asking Slurm's commands: they may take their time while the controller is busy, so a thread waits for them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future

from crosswind.collector.batch_system.slurm import UnreadableReport

__all__ = ["Answer", "Question", "ask_sinfo", "ask_squeue"]

MAX_BYTES = 1 << 30  # of an answer
_PATIENCE_S = 60

Answer = tuple[bytes, int]  # what was printed, and when it was asked for (UTC, ns)


def ask_squeue(program: str = "squeue") -> Answer:
    """The queue as JSON. Raises UnreadableReport when squeue fails, as while the controller is down."""
    return _ask("squeue", [program, "--json", "--states=all"])


def ask_sinfo(program: str = "sinfo") -> Answer:
    """The nodes as JSON, those of hidden partitions, too. Raises UnreadableReport when sinfo fails."""
    return _ask("sinfo", [program, "--all", "--Node", "--json"])


class Question:
    """A command that is asked every so many seconds, in a thread of the pool."""

    def __init__(self, ask: Callable[[], Answer], every_s: float, pool: Executor) -> None:
        self._ask = ask
        self._every_s = every_s
        self._pool = pool
        self._asked: Future[Answer] | None = None
        self._ask_from = 0.0

    def answer(self) -> Answer | None:
        """The answer, once, when it is there; else nothing, and it is asked again when it is time. Raises
        UnreadableReport.
        """
        if self._asked is not None and self._asked.done():
            done, self._asked = self._asked, None
            self._ask_from = time.monotonic() + self._every_s
            return done.result()
        if self._asked is None and time.monotonic() >= self._ask_from:
            self._asked = self._pool.submit(self._ask)
        return None


def _ask(name: str, command: list[str]) -> Answer:
    asked_ns = time.time_ns()
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=True)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnreadableReport(f"{name} failed: {reason[0] if reason else error.returncode}"[:200]) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreadableReport(f"{name} failed: {error}"[:200]) from None
    if len(done.stdout) > MAX_BYTES:
        raise UnreadableReport(f"the answer of {name} is larger than {MAX_BYTES} bytes")
    return done.stdout, asked_ns
