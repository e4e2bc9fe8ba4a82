"""What Crosswind says of the runs of an experiment by itself: their estimates, and whom the lookup names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosswind.analysis.result import NO_SEGMENTS
from crosswind.db.connection import open_database, reading
from crosswind.db.errors import DatabaseError
from crosswind.db.queries import find_jobs
from crosswind.tools.experiment.measures import Beside
from crosswind.tools.experiment.records import ProgramRecord
from crosswind.tools.experiment.results import EstimateResult, LookupResult
from crosswind.web.lookup import read_lookup

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from crosswind.db.job_rows import JobRow
    from crosswind.web.lookup_answer import Lookup

__all__ = ["DATABASE", "Judge"]

DATABASE = "jobs.db"
_NOT_LOADED = "its profile is not in jobs.db"


class Judge:
    """Reads the database of an experiment. One that is not there or damaged has an answer for nothing, and says so."""

    def __init__(self, directory: Path) -> None:
        """directory: of the results."""
        self._url = f"sqlite:///{directory / DATABASE}"
        self._is_there = (directory / DATABASE).is_file()

    def estimate(self, programs: Sequence[ProgramRecord]) -> EstimateResult:
        """What was estimated of each of these when it was loaded."""
        told = [self._estimate(program) for program in programs]
        pct = [value for value, _ in told if value is not None]
        reasons = list(dict.fromkeys(why for _, why in told if why))
        return EstimateResult(pct=pct, runs=len(told), why="" if pct else "; ".join(reasons) or "no runs")

    def lookup(self, together: Sequence[Beside]) -> LookupResult:
        """Whom the lookup of each probe names, and where the signal stands in its list."""
        told = [self._rank(each) for each in together]
        reasons = list(dict.fromkeys(why for _, _, why in told if why))
        return LookupResult(
            ranks=[rank for rank, _, _ in told],
            named=sum(named for _, named, _ in told),
            runs=len(told),
            why="; ".join(reasons) if len(reasons) and not any(rank for rank, _, _ in told) else "",
        )

    def _estimate(self, program: ProgramRecord) -> tuple[float | None, str]:
        """Percent of the run's time, or why there is none."""
        try:
            with self._job(program) as found:
                return _pct(found[1].estimate) if found else (None, _NOT_LOADED)
        except DatabaseError as error:
            return None, str(error)

    def _rank(self, each: Beside) -> tuple[int | None, bool, str]:
        """The signal's place, whether it came first and is a finding, and why there is no list."""
        try:
            with self._job(each.probe) as job:
                if job is None:
                    return None, False, _NOT_LOADED
                found = read_lookup(*job)
        except DatabaseError as error:
            return None, False, str(error)
        if found.why_not:
            return None, False, found.why_not
        rank = _place(found, each.signal)
        first = found.lines[0] if found.lines else None
        return rank, rank == 1 and first is not None and first.found, ""

    @contextmanager
    def _job(self, program: ProgramRecord) -> Iterator[tuple[Connection, JobRow] | None]:
        """A connection and the program's job in it; None: it is not there. Raises DatabaseError."""
        if not self._is_there:
            yield None
            return
        engine = open_database(self._url, create=False)
        try:
            with reading(engine) as connection:
                jobs = find_jobs(connection, program.job_id, program.step or None)
                yield (connection, jobs[0]) if jobs else None
        finally:
            engine.dispose()


def _place(found: Lookup, signal: ProgramRecord) -> int | None:
    """The place of a job among all that is listed, from 1; whoever has several lines counts once."""
    listed = list(dict.fromkeys(line.who if line.job is None else line.job.job_id for line in found.lines))
    return listed.index(signal.job_id) + 1 if signal.job_id in listed else None


def _pct(document: dict[str, Any] | None) -> tuple[float | None, str]:
    """Percent of the run's time from an estimate's document, or why it gives none."""
    if document is None:
        return None, NO_SEGMENTS
    value = document.get("interference_pct")
    return (float(value), "") if isinstance(value, int | float) else (None, str(document.get("sentence", "")))
