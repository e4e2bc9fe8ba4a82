"""Which boot of a node this is, and since when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from crosswind.collector.agent.files import read_text

__all__ = ["Boot", "is_boot_id", "read_boot"]

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Boot:
    """boot_id: the kernel's name of the boot, "" where there is none. booted_ns: UTC, right to a second or two."""

    boot_id: str = ""
    booted_ns: int = 0


def is_boot_id(text: str) -> bool:
    """Whether it looks like one: a UUID."""
    return _ID.fullmatch(text) is not None


def read_boot(root: Path) -> Boot:
    """The boot of the node whose files are below root."""
    boot_id = (read_text(root / "proc/sys/kernel/random/boot_id", 64) or "").strip()
    since = re.search(r"^btime ([0-9]{1,11})$", read_text(root / "proc/stat") or "", re.MULTILINE)
    return Boot(boot_id, int(since[1]) * 10**9) if since and is_boot_id(boot_id) else Boot()
