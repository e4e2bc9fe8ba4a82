"""Makes the runs that are not there yet, one after the other, and says how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accuracy.real.calibration import calibrate
from accuracy.real.evaluation import evaluate
from accuracy.real.execution import RunFailed, execute
from accuracy.real.injection import KINDS, plan_injection
from accuracy.real.programs import PROGRAMS
from accuracy.real.results import Results
from accuracy.real.schedule import Run

from crosswind.tools.machine import describe_machine

__all__ = ["AGAIN", "RUN_DELAY_LIMIT_PCT", "Study"]

RUN_DELAY_LIMIT_PCT = 3.0  # of the ranks' time: so much of the run may have been lost to what is in no log
AGAIN = "-again"


class Study:
    """A results file and a folder of finished runs, and what is needed to make more of them."""

    def __init__(self, directory: Path, *, ranks: int, seconds: float, seed: int) -> None:
        """seconds: how long a clean run is to take, for programs that were not calibrated yet."""
        self.results = Results(directory / "results.jsonl")
        self.directory = directory
        self.ranks = ranks
        self.seconds = seconds
        self.seed = seed

    def make(self, runs: Iterable[Run]) -> list[str]:
        """Make all of them that are not there; the names of those that failed."""
        todo = [run for run in runs if not self.is_done(run)]
        failed, begin, left = [], time.monotonic(), sum(run.weight for run in todo)
        whole = left
        for number, run in enumerate(todo, start=1):
            try:
                said = self.make_one(run)
            except RunFailed as error:
                failed.append(run.key)
                said = str(error)
            left -= run.weight
            remaining = (time.monotonic() - begin) / (whole - left) * left
            _tell(f"{number}/{len(todo)} {run.key}: {said}; {remaining / 60:.0f} min left")
        return failed

    def is_done(self, run: Run) -> bool:
        """Whether a run was made, and repeated if it had to be."""
        first = self.results.runs.get(run.key)
        return first is not None and (not is_disturbed(first) or run.key + AGAIN in self.results.runs)

    def make_one(self, run: Run) -> str:
        """Make a run; once more if something else disturbed it. Returns it in words. Raises RunFailed."""
        record = self.results.runs.get(run.key) or self._make(run, run.key)
        if is_disturbed(record):
            record = self._make(run, run.key + AGAIN)
        return in_words(record)

    def calibrate(self, programs: Iterable[str]) -> None:
        """Find out how much work each program needs, unless the results file knows. Raises RunFailed."""
        if not self.results.machine:
            self.results.add_machine(describe_machine())
        for name in programs:
            if name not in self.results.calibrations:
                amount, clean = calibrate(PROGRAMS[name], self.ranks, self.seconds, self.folder(f"calibration-{name}"))
                self.results.add_calibration(name, amount, clean)
                _tell(f"{name}: amount {amount} takes {clean.duration_s:.1f} s")

    def evaluate_again(self) -> None:
        """Estimate all runs that were kept anew, as after a change of an estimator."""
        for key, record in list(self.results.runs.items()):
            if self.folder(key).is_dir():
                self.results.add_run({**record, **evaluate(self.folder(key))})

    def folder(self, key: str) -> Path:
        """Where a run is kept."""
        return self.directory / "runs" / key

    def _make(self, run: Run, key: str) -> dict[str, Any]:
        amount, clean = self.results.calibrations[run.program]
        kind = run.kind if run.kind in KINDS else KINDS[0]  # nothing is added then, but the injector is there
        injection = plan_injection(clean, kind, run.injected_pct, run.seed(self.seed))
        execute(PROGRAMS[run.program], amount, self.ranks, injection, self.folder(key))
        record = {"key": key, **asdict(run), "ranks": self.ranks, **evaluate(self.folder(key))}
        self.results.add_run(record)
        return record


def is_disturbed(record: dict[str, Any]) -> bool:
    """Whether the ranks had to wait for processors: something ran that the study did not start."""
    return (record["run_delay_pct"] or 0.0) > RUN_DELAY_LIMIT_PCT


def in_words(record: dict[str, Any]) -> str:
    """A record in a line."""
    said = ", ".join(f"{method} {_percent(one['pct'])}" for method, one in record["estimates"].items())
    return (
        f"true {record['true_pct']:.1f} %, {said}; run-queue delay {_percent(record['run_delay_pct'])}, "
        f"others {record['others_pct']:.0f} %, steal {record['steal_pct']:.1f} %, {record['wall_s']:.0f} s"
    )


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} %"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
