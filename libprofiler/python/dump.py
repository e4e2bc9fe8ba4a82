"""Every record of a spool file, a log of short processes or a profile, one line each: as text or as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from crosswind.profile.layout import MAGIC as SPOOL_MAGIC
from crosswind.profile.layout import QUAD_FIELDS, SHORT_MAGIC, SliceFlag
from crosswind.profile.segment_log import SITE_BITS
from crosswind.profile.segments import SegmentTable
from crosswind.profile.short import ShortLog, read_short_log
from crosswind.profile.spool import SpoolFile, read_spool
from crosswind.profile.store import read_profile

__all__ = ["dump_json", "dump_text", "records"]

Record = tuple[str, dict[str, Any]]
FUNCTION_FIELDS = ("calls", "bytes_out", "bytes_in", "time_ns")


def dump_text(path: str | os.PathLike[str]) -> Iterator[str]:
    """One line a record: its kind, then name=value. Raises FormatError and OSError like the readers."""
    for kind, fields in records(path):
        yield " ".join([kind, *(f"{name}={_text(value)}" for name, value in fields.items())])


def dump_json(path: str | os.PathLike[str]) -> Iterator[str]:
    """One JSON object a record, with its kind under `record`."""
    for kind, fields in records(path):
        yield json.dumps({"record": kind} | fields, ensure_ascii=True)


def records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """All records of a file, whichever of the three kinds it is."""
    with open(path, "rb") as file:
        magic = file.read(len(SPOOL_MAGIC))
    if magic == SPOOL_MAGIC:
        yield from _spool_records(read_spool(path))
    elif magic == SHORT_MAGIC:
        yield from _short_records(read_short_log(path))
    else:
        yield from _profile_records(path)


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return "{" + " ".join(f"{k}={_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + " ".join(_text(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value) if not value or set(value) & set(' ="') else value
    return str(value)


def _spool_records(file: SpoolFile) -> Iterator[Record]:
    simple = {k: v for k, v in vars(file).items() if isinstance(v, str | int | float | None) and k != "path"}
    yield "spool", simple | {"state": file.state.name, "tick_source": file.tick_source.name, "lost": file.lost}
    yield "start", asdict(file.start)
    if file.end:
        yield "end", asdict(file.end)
    for column in file.table.columns:
        yield "column", asdict(column)
    for number in np.flatnonzero(file.groups.any(axis=1)).tolist():
        yield "group", {"number": number} | dict(zip(QUAD_FIELDS, file.groups[number].tolist(), strict=True))
    for number in np.flatnonzero(file.functions.any(axis=1)).tolist():
        name, layer = file.table.functions[number]
        quad = dict(zip(QUAD_FIELDS, file.functions[number].tolist(), strict=True))
        yield "function", {"name": name, "layer": layer} | quad
    for name, values in file.table.named_words(file.words).items():
        yield "words", {"name": name, "values": values.tolist()}
    if file.files.size:
        yield "files", {"count": int(file.files.size)}
    for call in file.running:
        yield "running", asdict(call)
    yield from _slice_records(file)
    yield from _segment_records(file)
    for problem in file.problems:
        yield "problem", {"text": problem}


def _slice_records(file: SpoolFile) -> Iterator[Record]:
    log = file.slices
    names = [c.name for c in file.table.columns]
    first = np.searchsorted(log.record, np.arange(len(log) + 1))
    for i in range(len(log)):
        pairs = range(int(first[i]), int(first[i + 1]))
        yield (
            "slice",
            {
                "index": int(log.index[i]),
                "flags": [f.name for f in SliceFlag if f & int(log.flags[i])],
                **{n: int(getattr(log, n)[i]) for n in ("begin_ns", "end_ns", "offset_ns", "max_error_us", "cost_ns")},
                "values": {names[log.column[p]]: int(log.value[p]) for p in pairs},
            },
        )


def _segment_records(file: SpoolFile) -> Iterator[Record]:
    log = file.segments
    for i in range(len(log)):
        fields: dict[str, Any] = dict(zip(("index", "site"), divmod(int(log.begin[i]), 1 << SITE_BITS), strict=True))
        fields |= {n: int(getattr(log, n)[i]) for n in ("count", "begin_tick", "signature", "block")}
        function = int(log.function[i])
        fields["function"] = file.table.functions[function][0] if function < len(file.table.functions) else function
        if site := file.sites.get(int(log.place[i])):
            fields["place"] = f"{site.module}+{site.offset:#x}"
        yield "segment", fields | dict(zip(file.table.segment_fields, log.values[i].tolist(), strict=True))


def _short_records(log: ShortLog) -> Iterator[Record]:
    names = ("owner_uid", "uid", "slice_ns", "start_ns", "boot_id", "host", "job_id", "step_id")
    yield "short_log", {name: getattr(log, name) for name in names} | {"processes": len(log)}
    columns = [c.name for c in log.table.columns]
    value_at = np.searchsorted(log.pieces.piece, np.arange(len(log) + 1))
    function_at = np.searchsorted(log.functions[:, 0], np.arange(len(log) + 1))
    word_at = np.searchsorted(log.words[:, 0], np.arange(len(log) + 1))
    for i in range(len(log)):
        values = range(int(value_at[i]), int(value_at[i + 1]))
        rows = log.functions[function_at[i] : function_at[i + 1]].tolist()
        words = np.zeros(log.table.n_words, dtype=np.int64)
        _, number, value = log.words[word_at[i] : word_at[i + 1]].T
        words[number] = value
        yield (
            "short",
            {
                "pid": int(log.pid[i]),
                "parent_pid": int(log.parent_pid[i]),
                "exe": log.names[log.exe[i]],
                "begin_ns": int(log.pieces.begin[i]),
                "end_ns": int(log.pieces.end[i]),
                "values": {columns[log.pieces.column[v]]: int(log.pieces.value[v]) for v in values},
                "functions": {
                    log.table.functions[r[1]][0]: dict(zip(FUNCTION_FIELDS, r[2:], strict=True)) for r in rows
                },
                "words": {name: values.tolist() for name, values in log.table.named_words(words).items()},
            },
        )
    for problem in log.problems:
        yield "problem", {"text": problem}


def _profile_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    profile = read_profile(path)
    yield "job", asdict(profile.job)
    yield "clock", asdict(profile.clock)
    for process, partial in zip(profile.processes, profile.partial.tolist(), strict=True):
        yield "process", asdict(process) | {"partial": partial}
    for column in profile.columns:
        yield "column", asdict(column)
    for name, quads in profile.functions.items():
        for row in np.flatnonzero(quads.any(axis=1)).tolist():
            quad = dict(zip(FUNCTION_FIELDS, quads[row].tolist(), strict=True))
            yield "function", {"name": name, "process": row} | quad
    for name, arrays in profile.access.items():
        for row in np.flatnonzero(arrays.any(axis=1)).tolist():
            yield "access", {"name": name, "process": row, "values": arrays[row].tolist()}
    for row, j in np.argwhere(profile.covered_ns > 0).tolist():
        values = {name: int(v[row, j]) for name, v in profile.slices.items() if v[row, j]}
        index, covered = profile.first_slice + j, int(profile.covered_ns[row, j])
        yield "slice", {"process": row, "index": index, "covered_ns": covered, "values": values}
    if profile.segments:
        yield from _segments_of_ranks(profile.segments)
    for dropped, reason in profile.dropped_files:
        yield "dropped", {"path": dropped, "reason": reason}


def _segments_of_ranks(table: SegmentTable) -> Iterator[Record]:
    for rank, s in np.argwhere(table.valid).tolist():
        head = {"rank": int(table.ranks[rank]), "index": int(table.index[s]), "count": int(table.stride[s])}
        yield "segment", head | {name: column[rank, s].item() for name, column in table.columns.items()}
