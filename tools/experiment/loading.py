"""The runs that are done into the experiment's database: profiles with their estimates, and what agents saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector import load_profile_file
from crosswind.db.connection import open_database, reading
from crosswind.db.errors import RefusedProfile
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.db.queries import find_jobs
from crosswind.profile.errors import FormatError
from crosswind.tools.evaluation import evaluate, summarize
from crosswind.tools.experiment.records import RUNS, ProgramRecord, RunRecord

__all__ = ["DATABASE", "load_run", "not_loaded", "open_jobs"]

DATABASE = "jobs.db"


def open_jobs(directory: Path) -> Engine:
    """The database of a results directory, made if there is none. DatabaseError."""
    return open_database(f"sqlite:///{directory / DATABASE}")


def load_run(engine: Engine, directory: Path, record: RunRecord, seen: Sequence[NodeSlices]) -> list[str]:
    """Load the profiles of a run, and what agents saw beside it; a line about each that the database refused.

    Loading again changes nothing. Raises DatabaseError, OSError.
    """
    refused = []
    for path in _profiles(directory, record):
        try:
            load_profile_file(path, engine, evaluate=evaluate, summarize=summarize)
        except (FormatError, RefusedProfile) as error:
            refused.append(f"{record.key}: not loaded: {error}")
    for slices in seen:
        try:
            load_node_slices(engine, slices)
        except RefusedProfile as error:
            refused.append(f"{record.key}: what the agent of {slices.node} saw is not loaded: {error}")
    return refused


def not_loaded(engine: Engine, records: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """Those whose jobs the database lacks: their runner was killed before it had loaded them."""
    for record in records:
        with reading(engine) as conn:
            missing = any(not find_jobs(conn, program.job_id) for program in _profiled(record))
        if missing:
            yield record


def _profiled(record: RunRecord) -> list[ProgramRecord]:
    return [program for program in record.programs if program.profile]


def _profiles(directory: Path, record: RunRecord) -> list[Path]:
    return [directory / RUNS / record.key / str(program.profile) for program in _profiled(record)]
