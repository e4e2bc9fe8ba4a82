"""A day of slices, from those of some minutes: how the memory of a process and its spool file grow."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measure import BenchError, Goal, Result
from spool_growth import SLICES_PER_DAY, spool_growth
from variants import BARE, CROSSWIND, Setup, spool_directory

DAY_GOAL_MB = 1.0
SLICE_MS, SLICES = 100, 2160
"""The shortest slices there are, for 216 s; a day has ten times as many."""

PROGRAM = """
import os, sys, time
null = os.open("/dev/null", os.O_WRONLY)
while True:
    os.write(null, b"x")
    sum(range(1000))
    time.sleep(0.004)
"""


def day(setup: Setup) -> list[Result]:
    """Resident memory that a process gains over the slices of a day, and what its spool file holds then."""
    slices = int(SLICES * setup.scale)
    step = setup.progress("a day of slices", 20)
    library = setup.variants()[CROSSWIND].preload
    with spool_directory() as environment:
        bare = _start({**environment, "LD_PRELOAD": ""})
        profiled = _start({**environment, "LD_PRELOAD": library, "CROSSWIND_SLICE": f"{SLICE_MS}ms"})
        try:
            time.sleep(4)  # the helper has started, its file is there
            before = [_resident_mb(process.pid) for process in (bare, profiled)]
            for _ in range(20):
                time.sleep(slices * SLICE_MS * 1e-3 / 20)
                step()
            after = [_resident_mb(process.pid) for process in (bare, profiled)]
        finally:
            for process in (bare, profiled):
                process.terminate()
                process.wait()
        growth = [spool_growth(path) for path in sorted(Path(environment["CROSSWIND_SPOOL"]).glob("*.xws"))]
    if len(growth) != 1:
        raise BenchError(f"a day of slices: {len(growth)} spool files")
    if growth[0].slices < slices:
        raise BenchError(f"a day of slices: {growth[0].slices} of {slices} slices were written")
    grown = (np.array(after) - before) * SLICES_PER_DAY / slices
    goals = [Goal(DAY_GOAL_MB, CROSSWIND, BARE)]
    return [
        Result("memory that a day of slices adds", "MB", 2, {BARE: grown[:1], CROSSWIND: grown[1:]}, goals),
        Result("memory at the start", "MB", 2, {BARE: np.array(before[:1]), CROSSWIND: np.array(before[1:])},
               note=f"a program that writes and sleeps: {growth[0].text()}"),
    ]  # fmt: skip


def _start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", PROGRAM], env=environment)


def _resident_mb(pid: int) -> float:
    """Resident memory without files, shared memory included: the spool file lies there."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) * 1024e-6
