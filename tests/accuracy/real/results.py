"""The results file: JSON lines, appended run by run, so that a study that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accuracy.real.injection import Clean

__all__ = ["Results"]


class Results:
    """The file's lines: the machine in words, how each program was calibrated, and a record per run."""

    def __init__(self, path: Path) -> None:
        """Read what is there already. A last line that was cut off is dropped. ValueError: another broken line."""
        self.path = path
        self.machine = ""
        self.calibrations: dict[str, tuple[int, Clean]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        for number, line in enumerate(lines[:-1], start=1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: line {number}: is no result ({error})") from None
        if lines[-1]:
            path.write_bytes(b"".join(line + b"\n" for line in lines[:-1]))

    def _take(self, record: dict[str, Any]) -> None:
        if "machine" in record:
            self.machine = record["machine"]
        elif "calibration" in record:
            self.calibrations[record["calibration"]] = (record["amount"], Clean(**record["clean"]))
        else:
            self.runs[record["key"]] = record

    def add_machine(self, machine: str) -> None:
        """Keep what the runs are made on."""
        self._append({"machine": machine})

    def add_calibration(self, program: str, amount: int, clean: Clean) -> None:
        """Keep how a program was calibrated."""
        self._append(_calibration(program, amount, clean))

    def add_run(self, record: Mapping[str, Any]) -> None:
        """Keep a run; its name is record["key"]. A later one of the same name counts instead of the earlier."""
        self._append(dict(record))

    def write_to(self, path: Path) -> None:
        """Write a file of what counts, without runs that later ones replaced."""
        calibrated = (_calibration(program, *found) for program, found in self.calibrations.items())
        records = [{"machine": self.machine}, *calibrated, *self.runs.values()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def _append(self, record: dict[str, Any]) -> None:
        self._take(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _calibration(program: str, amount: int, clean: Clean) -> dict[str, Any]:
    return {"calibration": program, "amount": amount, "clean": asdict(clean)}
