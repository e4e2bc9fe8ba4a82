"""How busy the machine was while a run lasted, apart from the run itself."""

from __future__ import annotations

import os
import platform
import re
import resource
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Conditions", "Watch", "describe_machine"]


@dataclass(frozen=True)
class Conditions:
    """load: of the last minute, when the run began. steal_pct: what the hypervisor took. others_pct: processor time of
    other processes. Both in percent of what the machine has."""

    load: float
    steal_pct: float
    others_pct: float


class Watch:
    """Created when a run begins; `conditions` after it has ended and been waited for."""

    def __init__(self) -> None:
        self._load = os.getloadavg()[0]
        self._at = _read()

    def conditions(self) -> Conditions:
        """What was seen since then."""
        elapsed, busy, steal, own = (now - before for now, before in zip(_read(), self._at, strict=True))
        capacity = max(elapsed * (os.cpu_count() or 1), 1e-9)
        return Conditions(self._load, 100 * steal / capacity, 100 * max(busy - own, 0.0) / capacity)


def describe_machine() -> str:
    """The machine in words: processors, their model, kernel, distribution."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    hypervisor = "guest, " if " hypervisor" in Path("/proc/cpuinfo").read_text() else "machine, "
    version = ".".join(platform.release().split(".")[:2])
    name = model[1] if model else platform.machine()
    return f"{os.cpu_count()}-core {hypervisor}{name}, Linux {version}, {system}"


def _read() -> tuple[float, float, float, float]:
    """Now, in seconds: clock, processor time of all processes, what was stolen, processor time of this one and of its
    children that were waited for."""
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    tick = os.sysconf("SC_CLK_TCK")
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return time.monotonic(), (user + nice + system + irq + softirq) / tick, steal / tick, own
