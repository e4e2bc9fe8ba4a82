"""Frequency and throttling of the processors: /sys/devices/system/cpu."""

from __future__ import annotations

import re
from pathlib import Path

from crosswind.collector.agent.files import Values, names_in, read_number

__all__ = ["parse", "read"]

MAX_FREQUENCIES = 64  # processors whose frequency is looked at
_CPU = re.compile(r"cpu(\d+)")


def parse(frequencies_khz: list[int], core_throttles: list[int], package_throttles: dict[int, int]) -> Values:
    """Values of the numbers found. package_throttles: by package; its processors all show the same count."""
    values: Values = {}
    if frequencies_khz:
        values["cpu_frequency", ""] = 1000 * sum(frequencies_khz) // len(frequencies_khz)
        values["cpu_frequency_min", ""] = 1000 * min(frequencies_khz)
    if core_throttles:
        values["cpu_core_throttles", ""] = sum(core_throttles)
    if package_throttles:
        values["cpu_package_throttles", ""] = sum(package_throttles.values())
    return values


def read(root: Path) -> Values:
    """Read below root."""
    base = root / "sys/devices/system/cpu"
    numbers = sorted(int(match[1]) for name in names_in(base) if (match := _CPU.fullmatch(name)))
    step = max(1, -(-len(numbers) // MAX_FREQUENCIES))
    frequencies = [read_number(base / f"cpu{n}/cpufreq/scaling_cur_freq") for n in numbers[::step]]
    cores: list[int] = []
    packages: dict[int, int] = {}
    for number in numbers:
        throttle = base / f"cpu{number}/thermal_throttle"
        core = read_number(throttle / "core_throttle_count")
        if core is None:
            break  # a machine has it for all of its processors or for none
        cores.append(core)
        package = read_number(base / f"cpu{number}/topology/physical_package_id")
        count = read_number(throttle / "package_throttle_count") if package not in packages else None
        if package is not None and count is not None:
            packages[package] = count
    return parse([f for f in frequencies if f is not None], cores, packages)
