"""What spool files and logs of short processes have in common: how a file is opened, its header page and its table."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from crosswind.profile import layout
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import State, TickSource
from crosswind.profile.plain_file import open_plain
from crosswind.profile.table import Table, TableError, parse_table

__all__ = [
    "MAX_COUNT",
    "MAX_FILE",
    "MAX_TABLE",
    "Instant",
    "check_header",
    "header_instant",
    "header_text",
    "lost_counts",
    "read_file",
    "read_table",
]

MAX_FILE = 256 << 20
MAX_TABLE = 1 << 20
MAX_COUNT = 1 << 62
SLICE_RANGE_NS = (1_000_000, 86_400_000_000_000)


@dataclass(frozen=True)
class Instant:
    """One reading of all clocks: CLOCK_REALTIME and CLOCK_MONOTONIC in ns, and the tick of the wrappers."""

    real_ns: int
    mono_ns: int
    tick: int


def read_file(path: str | os.PathLike[str]) -> tuple[bytes, os.stat_result]:
    """The whole file. It is read, not mapped: a file cut short by its owner meanwhile must not kill the reader."""
    with open_plain(path, largest=MAX_FILE) as (file, status):
        return file.read(status.st_size), status


def check_header(data: bytes, magic: bytes, path: str | os.PathLike[str]) -> np.void:
    """The header, with the fields that sizes are computed from checked."""
    if len(data) >= layout.HEADER_SIZE and not any(data[: len(magic)]):
        raise FormatError(path, "has no header yet: its process is just starting, or died then")
    if len(data) < layout.HEADER_SIZE or not data.startswith(magic):
        raise FormatError(path, "is not a Crosswind spool file, or cut off in its header")
    header = np.frombuffer(data, dtype=layout.HEADER, count=1)[0]
    newest = layout.SHORT_VERSION if magic == layout.SHORT_MAGIC else layout.VERSION
    if not 1 <= header["version"] <= newest:
        raise FormatError(
            path,
            f"has spool format version {header['version']}; this Crosswind reads up to version {newest}: update it",
        )
    if not SLICE_RANGE_NS[0] <= header["slice_ns"] <= SLICE_RANGE_NS[1]:
        raise FormatError(path, "its header has an impossible slice length")
    if header["state"] not in set(State) or header["tick_source"] not in set(TickSource):
        raise FormatError(path, "its header has an unknown state or clock")
    if max(int(header[i][f]) for i in ("start", "end") for f in ("real_ns", "mono_ns", "tick")) >= MAX_COUNT:
        raise FormatError(path, "its header has impossible times")
    return header


def read_table(data: bytes, header: np.void) -> Table:
    """The table text that the header points to. Raises TableError."""
    offset, size = int(header["table_offset"]), int(header["table_size"])
    if size > MAX_TABLE or offset + size > len(data):
        raise TableError("its table of columns lies outside the file")
    return parse_table(
        data[offset : offset + size],
        n_columns=int(header["n_columns"]),
        n_groups=int(header["n_groups"]),
        n_functions=int(header["n_functions"]),
        n_lost=int(header["n_lost"]),
    )


def header_instant(instant: np.void) -> Instant:
    """An instant of the header in Python's integers."""
    return Instant(*(int(instant[name]) for name in ("real_ns", "mono_ns", "tick")))


def lost_counts(table: Table, header: np.void) -> dict[str, int]:
    """What the writer had to leave undone, by name."""
    return {name: min(int(n), MAX_COUNT) for name, n in zip(table.lost, header["lost"], strict=False) if n}


def header_text(raw: np.bytes_) -> str:
    """A text of the header up to its NUL, without control characters."""
    text = bytes(raw).split(b"\0", 1)[0].decode("utf-8", errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text)
