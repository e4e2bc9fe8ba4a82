"""PID namespaces below this one: /proc has their processes, too, under other pids than their own."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

__all__ = ["pids_here"]

_PIDS = re.compile(r"^NSpid:\t[0-9]+\t(?:[0-9]+\t)*([0-9]+)$", re.MULTILINE)  # from here inwards; one: it is of ours


def pids_here(proc: Path, pid: int) -> tuple[int, ...]:
    """The pids by which /proc has the processes that are `pid` in a namespace below: any user may see them. Right to a
    second.
    """
    return _by_inner_pid(proc, int(time.monotonic())).get(pid, ())


@lru_cache(maxsize=1)  # one look at all processes for all files of a moment
def _by_inner_pid(proc: Path, _moment: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir(proc)):
            with suppress(OSError):  # gone
                inner = _PIDS.search((proc / name / "status").read_text(errors="replace"))
                if inner:
                    found[int(inner[1])] = (*found.get(int(inner[1]), ()), int(name))
    return found
