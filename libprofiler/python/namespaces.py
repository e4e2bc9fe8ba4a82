"""PID namespaces below this one: /proc has their processes, too, under other pids than their own."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

__all__ = ["pid_here"]

_INNER_PID = re.compile(r"^NSpid:.*\t([0-9]+)$", re.MULTILINE)


def pid_here(proc: Path, namespace: int, pid: int) -> int | None:
    """The pid by which /proc has a process that is `pid` in another PID namespace (its inode); None: it is not seen
    from here, or not by this user. Right to a second.
    """
    return _inhabitants(proc, int(time.monotonic())).get((namespace, pid))


@lru_cache(maxsize=1)  # one look at all processes for all files of a moment
def _inhabitants(proc: Path, _moment: int) -> dict[tuple[int, int], int]:
    """By namespace and pid there the pid here, of the processes in other namespaces."""
    found: dict[tuple[int, int], int] = {}
    with suppress(OSError):
        own = _namespace(proc / "self")
        for name in filter(str.isdecimal, os.listdir(proc)):
            with suppress(OSError):  # gone, or of another user
                namespace = _namespace(proc / name)
                inner = None if namespace == own else _INNER_PID.search((proc / name / "status").read_text())
                if inner:
                    found[namespace, int(inner[1])] = int(name)
    return found


def _namespace(process: Path) -> int:
    return os.stat(process / "ns/pid").st_ino
