"""Watching the demo's jobs from outside: progress for the reader, and a truth to compare Crosswind's page with."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

__all__ = ["Watch"]

SAMPLE_S = 1.0
LINE_EVERY_S = 10.0  # a line of progress where there is no terminal


class Watch:
    """Counts LAMMPS's steps by the lines of its log while the writer says whether it floods the disk."""

    def __init__(self, log: Path, writer_output: Path, seconds: int) -> None:
        self.log = log
        self.writer_output = writer_output
        self.seconds = seconds
        self.lines = 0
        self.offset = 0
        self.steps = {"flood": 0, "quiet": 0}
        self.time = {"flood": 0.0, "quiet": 0.0}

    def until(self, ended: Callable[[], bool]) -> None:
        """Sample until `ended` says so."""
        begin = last_sample = last_line = time.monotonic()
        while not ended():
            time.sleep(SAMPLE_S / 4)
            now = time.monotonic()
            if now - last_sample >= SAMPLE_S:
                rate, phase = self._sample(now - last_sample), self._phase()
                last_sample = now
                if sys.stderr.isatty() or now - last_line >= LINE_EVERY_S:
                    self._tell(now - begin, rate, phase)
                    last_line = now
        if sys.stderr.isatty():
            click.echo(err=True)

    def summary(self) -> str:
        """LAMMPS's speed by the phase of the writer, counted from LAMMPS's own log."""
        rates = {p: self.steps[p] / self.time[p] if self.time[p] else 0.0 for p in self.steps}
        return (
            f"LAMMPS made {rates['quiet']:.0f} steps a second while the writer slept "
            f"and {rates['flood']:.0f} while it wrote (counted in LAMMPS's own log)"
        )

    def _sample(self, seconds: float) -> float:
        """Steps a second since the last sample."""
        new = self._new_lines()
        started = self.lines > 0
        self.lines += new
        if started and new:  # neither start-up nor the end
            self.steps[self._phase()] += new
            self.time[self._phase()] += seconds
        return new / seconds

    def _new_lines(self) -> int:
        try:
            with self.log.open("rb") as file:
                file.seek(self.offset)
                text = file.read()
        except OSError:
            return 0
        self.offset += len(text)
        return text.count(b"\n")

    def _phase(self) -> str:
        try:
            said = self.writer_output.read_text(errors="replace").split("\n")
        except OSError:
            return "quiet"
        return "flood" if any(said) and [line for line in said if line][-1].startswith("flood") else "quiet"

    def _tell(self, elapsed: float, rate: float, phase: str) -> None:
        writer = "writes" if phase == "flood" else "sleeps"
        text = f"{elapsed:4.0f} of {self.seconds} s: LAMMPS {rate:3.0f} steps/s, the writer {writer}"
        if sys.stderr.isatty():
            click.echo(f"\r{text}  ", nl=False, err=True)
        else:
            click.echo(text, err=True)
