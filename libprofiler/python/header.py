"""The JSON header of the profile file: everything of a profile that is no array, checked field by field when read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crosswind.profile.model import Clock, Column, Job, Process, Profile

__all__ = ["HeaderError", "Parts", "from_json", "integer", "to_json"]

MAX_PROCESSES = 1 << 20
MAX_SLICES = 1 << 22
MAX_COLUMNS = 1 << 14
MAX_TEXT = 1 << 12
MAX_ENTRIES = 1 << 20
MAX_INT = (1 << 63) - 1
MAX_BYTES = 8 << 30  # of all arrays of a profile together
STATES = ("clean", "exited", "killed", "lost", "replaced", "running", "short")
KINDS = ("counter", "gauge")


class HeaderError(ValueError):
    """The header says something impossible; the message says what."""


@dataclass(frozen=True)
class Parts:
    """The parts of a profile that the header holds."""

    job: Job
    processes: tuple[Process, ...]
    columns: tuple[Column, ...]
    slice_ns: int
    first_slice: int
    n_slices: int
    clock: Clock
    lost: dict[str, int]
    dropped_files: tuple[tuple[str, str], ...]
    mpi_functions: frozenset[str]
    call_sites: tuple[str, ...]
    places: tuple[str, ...]


def to_json(profile: Profile) -> dict[str, Any]:
    """The header of a profile, without its sections."""
    return {
        "job": asdict(profile.job),
        "processes": [asdict(p) for p in profile.processes],
        "columns": [asdict(c) for c in profile.columns],
        "slice_ns": profile.slice_ns,
        "first_slice": profile.first_slice,
        "n_slices": profile.n_slices,
        "clock": asdict(profile.clock),
        "lost": profile.lost,
        "dropped_files": [list(pair) for pair in profile.dropped_files],
        "mpi_functions": sorted(profile.mpi_functions),
        "call_sites": list(profile.segments.call_sites) if profile.segments is not None else [],
        "places": list(profile.segments.places) if profile.segments is not None else [],
    }


def from_json(header: dict[str, Any]) -> Parts:
    """The checked header. Fields that this version does not know are ignored. Raises HeaderError."""
    columns = tuple(_column(c) for c in _list(header, "columns", MAX_COLUMNS))
    if len({c.name for c in columns}) != len(columns):
        raise HeaderError("its header names a column twice")
    return Parts(
        job=_job(_object(header, "job")),
        processes=tuple(_process(p) for p in _list(header, "processes", MAX_PROCESSES)),
        columns=columns,
        slice_ns=integer(header, "slice_ns", 1, MAX_INT),
        first_slice=integer(header, "first_slice", -MAX_INT, MAX_INT),
        n_slices=integer(header, "n_slices", 0, MAX_SLICES),
        clock=_clock(_object(header, "clock")),
        lost=_counts(header, "lost"),
        dropped_files=tuple(_pair(p) for p in _list(header, "dropped_files", MAX_ENTRIES)),
        mpi_functions=frozenset(_texts(header, "mpi_functions")),
        call_sites=tuple(_texts(header, "call_sites")) if "call_sites" in header else (),
        places=tuple(_texts(header, "places")) if "places" in header else (),
    )


def integer(entry: dict[str, Any], key: str, low: int, high: int) -> int:
    """An integer field in [low, high]. Raises HeaderError."""
    value = entry.get(key)
    if type(value) is not int or not low <= value <= high:
        raise HeaderError(f"its header has no usable {key}")
    return value


def _object(entry: dict[str, Any], key: str) -> dict[str, Any]:
    value = entry.get(key)
    if not isinstance(value, dict):
        raise HeaderError(f"its header has no usable {key}")
    return value


def _list(entry: dict[str, Any], key: str, most: int) -> list[Any]:
    value = entry.get(key)
    if not isinstance(value, list) or len(value) > most:
        raise HeaderError(f"its header has no usable list of {key}")
    return value


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise HeaderError(f"its header has no usable {key}")
    return value


def _texts(entry: dict[str, Any], key: str) -> list[str]:
    values = _list(entry, key, MAX_ENTRIES)
    if not all(isinstance(v, str) and len(v) <= MAX_TEXT for v in values):
        raise HeaderError(f"its header has no usable list of {key}")
    return values


def _counts(entry: dict[str, Any], key: str) -> dict[str, int]:
    values = _object(entry, key)
    if len(values) > MAX_COLUMNS:
        raise HeaderError(f"its header has no usable {key}")
    return {name: integer(values, name, 0, MAX_INT) for name in values}


def _number(entry: dict[str, Any], key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise HeaderError(f"its header has no usable {key}")
    return float(value)


def _pair(value: object) -> tuple[str, str]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(v, str) and len(v) <= MAX_TEXT for v in value)
    ):
        raise HeaderError("its header has no usable list of dropped_files")
    return value[0], value[1]


def _job(entry: dict[str, Any]) -> Job:
    return Job(
        id=_text(entry, "id"),
        step=_text(entry, "step"),
        user=_text(entry, "user"),
        uid=integer(entry, "uid", 0, 1 << 32),
        hosts=tuple(_texts(entry, "hosts")),
        ranks=integer(entry, "ranks", 0, MAX_INT),
        start_ns=integer(entry, "start_ns", 0, MAX_INT),
        end_ns=integer(entry, "end_ns", 0, MAX_INT),
        command=_text(entry, "command"),
        mpi=_text(entry, "mpi"),
    )


def _process(entry: object) -> Process:
    if not isinstance(entry, dict):
        raise HeaderError("its header has no usable list of processes")
    state = _text(entry, "state")
    if state not in STATES:
        raise HeaderError("its header has a process of an unknown state")
    return Process(
        host=_text(entry, "host"),
        pid=integer(entry, "pid", 0, 1 << 32),
        rank=None if entry.get("rank") is None else integer(entry, "rank", 0, MAX_INT),
        exe=_text(entry, "exe"),
        uid=integer(entry, "uid", 0, 1 << 32),
        start_ns=integer(entry, "start_ns", 0, MAX_INT),
        end_ns=integer(entry, "end_ns", 0, MAX_INT),
        state=state,
        is_mpi=bool(entry.get("is_mpi", False)),
        lost=_counts(entry, "lost"),
        counters=_text(entry, "counters"),
        count=integer(entry, "count", 1, MAX_INT) if "count" in entry else 1,
        omp_num_threads=_text(entry, "omp_num_threads") if "omp_num_threads" in entry else "",
    )


def _column(entry: object) -> Column:
    if not isinstance(entry, dict):
        raise HeaderError("its header has no usable list of columns")
    kind = _text(entry, "kind")
    if kind not in KINDS:
        raise HeaderError("its header has a column of an unknown kind")
    return Column(integer(entry, "id", 0, MAX_INT), _text(entry, "name"), _text(entry, "unit"), kind)


def _clock(entry: dict[str, Any]) -> Clock:
    return Clock(*(_number(entry, key) for key in ("synchronised", "max_error_us", "late_median_ms", "late_max_ms")))
