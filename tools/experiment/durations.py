"""How long runs take: as measured where one of their kind was made, before as the description says."""

from __future__ import annotations

from collections.abc import Iterable

from crosswind.tools.experiment.description import Experiment
from crosswind.tools.experiment.plan import Cell, Run
from crosswind.tools.experiment.records import RunRecord

__all__ = ["Durations", "in_words"]


class Durations:
    """What is known of the time that runs take, in seconds."""

    def __init__(self, experiment: Experiment, records: Iterable[RunRecord] = ()) -> None:
        self._experiment = experiment
        self._measured: dict[tuple[str, str | None], list[float]] = {}
        for record in records:
            if record.status != "failed":  # it may have ended at once
                self.add(record.probe, record.signal, (record.end_ns - record.begin_ns) / 1e9)

    def add(self, probe: str, signal: str | None, seconds: float) -> None:
        """A run of this kind took so long."""
        self._measured.setdefault((probe, signal), []).append(seconds)

    def of(self, cell: Cell) -> float:
        """What one run of a cell takes."""
        measured = self._measured.get((cell.probe, cell.signal))
        if measured:
            return sum(measured) / len(measured)
        if cell.mutual and cell.signal:
            return cell.lead_s + max(self._alone(cell.probe), self._alone(cell.signal))
        return cell.lead_s + self._alone(cell.probe)

    def total(self, runs: Iterable[Run]) -> float:
        """What all of these take."""
        return sum(self.of(run.cell) for run in runs)

    def _alone(self, name: str) -> float:
        measured = self._measured.get((name, None))
        return sum(measured) / len(measured) if measured else self._experiment.programs[name].seconds


def in_words(seconds: float) -> str:
    """A length of time for people: 45 s, 12 min, 3 h 05 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
