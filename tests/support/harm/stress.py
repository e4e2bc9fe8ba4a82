"""Runs tests/harm/stress.c under the library and compares what it says that it did with what was counted."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswind.profile import Profile, merge_directory
from support.preload import PROGRAMS, Counts, counts, environment, expected

__all__ = ["StressResult", "run_stress"]


@dataclass(frozen=True)
class StressResult:
    """What happened: the program's own summary, its truth, what was counted of the same functions, and what the library
    said that it lost. A child that is born while the process has another user is counted in a profile of that user."""

    status: int
    stderr: str
    summary: str
    truth: Counts
    counted: Counts
    lost: dict[str, int]

    @property
    def differences(self) -> dict[str, tuple]:
        """Function -> truth and count, where they are not the same."""
        nothing = (0, 0, 0)
        both = {name: (truth, self.counted.get(name, nothing)) for name, truth in self.truth.items()}
        return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def run_stress(seconds: int) -> StressResult:
    """Run it for so many seconds, in directories that its changes of user can reach."""
    with tempfile.TemporaryDirectory(prefix="crosswind-stress-", dir="/tmp") as base:
        Path(base).chmod(0o755)
        spool, work = Path(base, "spool"), Path(base, "work")
        for directory in (spool, work):
            directory.mkdir()
            directory.chmod(0o1777 if directory == spool else 0o777)
        done = subprocess.run(
            [PROGRAMS / "harm_stress", str(seconds)],
            cwd=work, env=environment(spool, {"CROSSWIND_SLICE": "1s"}), capture_output=True, timeout=seconds + 120,
        )  # fmt: skip
        profiles = merge_directory(spool)
        left = list(work.iterdir())
    assert not left, left
    assert not any(found.dropped_files for found in profiles)
    truth = expected(done.stdout)
    counted = {name: _sum(profiles, name) for name in truth}
    lost = sum((Counter(found.lost) for found in profiles), Counter())
    return StressResult(
        done.returncode, done.stderr.decode(), done.stdout.decode().partition("\n")[0], truth, counted, dict(lost)
    )


def _sum(profiles: Sequence[Profile], function: str) -> tuple[int, int, int]:
    rows = [counts(found).get(function, (0, 0, 0)) for found in profiles]
    calls, out, into = (sum(column) for column in zip(*rows, strict=True))
    return calls, out, into
