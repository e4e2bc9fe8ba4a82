"""The segments of a spool file: blocks, then the rows that are in no block yet; in version 1 records of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import varint
from crosswind.profile.layout import ROW_HEAD, ROW_WEIGHT, ChunkKind
from crosswind.profile.records import MAX_RECORDS, MAX_VALUE, committed, fixed, prefix, report, running_index
from crosswind.profile.segment_blocks import LARGEST, read_block_chunk
from crosswind.profile.segment_log import (
    FUNCTION,
    MAX_SITE,
    MAX_WORLD,
    PLACE_SHIFT,
    SITE_BITS,
    SegmentLog,
    end_of,
    join_logs,
)  # fmt: skip
from crosswind.profile.table import Table

__all__ = ["read_records", "read_segments"]

RECORD_HEAD = 5  # numbers of a record before its values
MAX_CELLS = 16 * MAX_RECORDS  # rows x fields


def read_segments(chunks: Mapping[ChunkKind, list[bytes]], table: Table) -> tuple[SegmentLog, list[str]]:
    """All segments of a file, and what was wrong, in sentences."""
    n_functions = len(table.functions)
    most = min(MAX_RECORDS, MAX_CELLS // max(len(table.segment_fields), 1))
    records, problems = read_records(chunks[ChunkKind.SEGMENTS], len(table.segment_fields), n_functions)
    logs = [records]
    n_blocks = 0
    for chunk in chunks[ChunkKind.BLOCKS]:
        room = max(most - sum(map(len, logs)), 0)
        log, found = read_block_chunk(chunk, table.segment_units, table.segment_fields, n_functions, room)
        logs.append(replace(log, block=log.block + n_blocks))
        n_blocks += int(log.block[-1]) + 1 if len(log) else 0
        problems += found
    end = max((int(log.end.max()) for log in logs if len(log)), default=0)
    for chunk in chunks[ChunkKind.ROWS]:
        logs.append(read_rows(chunk, len(table.segment_fields), n_functions, end))
    return join_logs(logs), problems


def read_rows(chunk: bytes, n_fields: int, n_functions: int, behind: int) -> SegmentLog:
    """The rows that are in no block yet: those at the position `behind` or later.

    A slot whose check does not agree is empty, or was being written. Of several rows at one position the longest is the
    newest.
    """
    slot = np.dtype([("head", ROW_HEAD), ("value", "<u8", (n_fields,))])
    n, n_words = len(chunk) // slot.itemsize, slot.itemsize // 8
    words = np.frombuffer(chunk, dtype="<u8", count=n * n_words).reshape(n, n_words)
    weight = np.cumprod(np.full(n_words - 1, ROW_WEIGHT, dtype=np.uint64))
    slots = np.frombuffer(chunk, dtype=slot, count=n)
    head, value = slots["head"], slots["value"]
    good = words[:, 0] == (words[:, 1:] * weight).sum(axis=1, dtype=np.uint64) + np.uint64(1)
    good &= (head["position"] < 1 << 63) & (head["sites"] < MAX_SITE) & (head["start_tick"] < MAX_VALUE)
    good &= ((head["worlds"] | head["sites"]) > 0) & ((head["call"] & FUNCTION) < n_functions)
    position, worlds, sites = (head[name].astype(np.int64) for name in ("position", "worlds", "sites"))
    good &= ((position >> SITE_BITS) + worlds < MAX_WORLD) & ((position & (MAX_SITE - 1)) + sites < MAX_SITE)
    log = SegmentLog(
        begin=position,
        end=end_of(position, worlds, sites),
        count=worlds + sites,
        begin_tick=head["start_tick"].astype(np.int64),
        function=(head["call"] & FUNCTION).astype(np.int64),
        signature=head["signature"].astype(np.int64),
        values=np.minimum(value, LARGEST).astype(np.int64),
        block=np.full(n, -1, dtype=np.int64),
        place=(head["call"] >> PLACE_SHIFT).astype(np.int64),
    )
    order = np.lexsort((log.end, log.begin))
    order = order[good[order] & (log.begin[order] >= behind)]
    return log.of(order[np.diff(log.begin[order], append=-1) != 0])


def read_records(chunks: list[bytes], n_fields: int, n_functions: int) -> tuple[SegmentLog, list[str]]:
    """The segment records of a file of version 1, and what was wrong, one sentence a chunk."""
    longest = 10 * (RECORD_HEAD + n_fields)
    logs: list[SegmentLog] = []
    problems: list[str] = []
    for numbers in committed(chunks, longest, "segment", problems):
        log, good = _records(numbers, n_fields, n_functions)
        report("segment", good, problems)
        logs.append(log)
    return join_logs(logs), problems


def _records(numbers: varint.Varints, n_fields: int, n_functions: int) -> tuple[SegmentLog, NDArray[np.bool_]]:
    """Good records of a chunk up to the first bad one; which were good."""
    good = numbers.good & (numbers.count == RECORD_HEAD + n_fields)
    rows = fixed(numbers, good, RECORD_HEAD + n_fields)
    index, index_good = running_index(rows[:, 0], MAX_WORLD)
    good = good & index_good & (rows[:, 1] > 0) & (rows[:, 1] < MAX_WORLD) & (rows[:, 3] < n_functions)
    good &= (rows[:, 4] < 1 << 32) & (rows[:, RECORD_HEAD:] < MAX_VALUE).all(axis=1)
    duration = rows[:, RECORD_HEAD] if n_fields else np.zeros(len(rows), np.uint64)
    # begin[i] = end[i - 1] + step[i], end[i] = begin[i] + duration[i]; from 0, modulo 2**64
    begin = (np.cumsum(varint.unzigzag(rows[:, 2]).view(np.uint64)) + np.cumsum(duration) - duration).view(np.int64)
    good &= (begin >= 0) & (begin < MAX_VALUE)
    good &= index + rows[:, 1].view(np.int64) < MAX_WORLD
    n = prefix(good)
    signed = rows[:n].astype(np.int64)
    position, count = index[:n] << SITE_BITS, signed[:, 1]
    end = end_of(position, count, np.zeros_like(count))
    none = np.full(n, -1, dtype=np.int64)
    values = signed[:, RECORD_HEAD:]
    return SegmentLog(position, end, count, begin[:n], signed[:, 3], signed[:, 4], values, none, none * 0), good
