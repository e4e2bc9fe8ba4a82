"""Node files (.xwn): the slices of one node, appended by its agent. docs/format.md has the format.

    crc32 {"node": "n01", "slice_ns": 4000000000, "version": 1, ...}          the header
    crc32 {"series": [["cpu_user", ""], ["net_rx_bytes", "eth0"], ...]}       from here on, these are the values' names
    crc32 {"slice": 440000000, "t": [begin, end], "v": [12, null, ...]}       one slice
    crc32 {"end": true}                                                      nothing follows

One line is one write. A line that its checksum does not confirm is not there: the last one of an agent that was killed
may be torn. A file spans at most one block of the database (crosswind.db.schema.BLOCK slices).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswind.collector.agent.boot import Boot, is_boot_id
from crosswind.collector.agent.metrics import BY_NAME
from crosswind.collector.agent.sample import Slice
from crosswind.db.nodes import NodeSlices
from crosswind.profile.errors import FormatError

__all__ = ["MAX_FILE", "NODE_SUFFIX", "VERSION", "NodeFile", "NodeWriter", "read_node_file"]

NODE_SUFFIX = ".xwn"
VERSION = 1
MAX_FILE = 64 << 20
MAX_SERIES = 1 << 14
MAX_TEXT = 255
MAX_SLICES = 1 << 16
MAX_INT = (1 << 63) - 1


@dataclass(frozen=True)
class NodeFile:
    """What a node file holds. boot: of the node when the file was begun. ended: its agent said that nothing follows;
    damaged: lines without a right checksum.
    """

    slices: NodeSlices
    boot: Boot
    ended: bool
    damaged: int


class NodeWriter:
    """Appends the slices of one node to a new file. Raises OSError; then the file is of no more use."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.slices = 0
        self._series: list[tuple[str, str]] = []
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._write([{**header, "version": VERSION}])
        except OSError:
            os.close(self._handle)
            raise

    @property
    def is_there(self) -> bool:
        """Whether the file still has a name: who loads takes away what has not grown for long."""
        return os.fstat(self._handle).st_nlink > 0

    def append(self, piece: Slice) -> None:
        """Append one slice, and before it the names of its values where they changed."""
        records: list[dict[str, Any]] = []
        if not piece.values.keys() <= set(self._series):
            self._series = sorted(piece.values.keys() | set(self._series))
            records.append({"series": self._series})
        values = [piece.values.get(key) for key in self._series]
        records.append({"slice": piece.number, "t": [piece.begin_ns, piece.end_ns], "v": values})
        self._write(records)
        self.slices += 1

    def close(self) -> None:
        """Say that nothing follows."""
        try:
            self._write([{"end": True}])
        finally:
            os.close(self._handle)

    def abandon(self) -> None:
        """Close a file that could not be written to."""
        os.close(self._handle)

    def _write(self, records: Iterable[Mapping[str, Any]]) -> None:
        lines = b"".join(_line(record) for record in records)
        if os.write(self._handle, lines) != len(lines):
            raise OSError(28, "No space left on device", str(self.path))


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read_node_file(data: bytes, path: str | os.PathLike[str] = "") -> NodeFile:
    """The content of a node file. path: for messages. Raises FormatError when it is none or says the impossible."""
    reader = _Reader(os.fspath(path))
    if len(data) > MAX_FILE:
        raise reader.error(f"it is longer than {MAX_FILE >> 20} MiB")
    *lines, _torn = data.split(b"\n")
    for line in lines:
        record = _record(line)
        if record is None:
            reader.damaged += 1
        else:
            reader.take(record)
    return reader.result()


def _record(line: bytes) -> dict[str, Any] | None:
    crc, _, text = line.partition(b" ")
    try:
        if int(crc, 16) != zlib.crc32(text):
            return None
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


@dataclass
class _Reader:
    path: str
    header: dict[str, Any] | None = None
    series: list[tuple[str, str]] = field(default_factory=list)
    rows: dict[int, dict[tuple[str, str], int]] = field(default_factory=dict)
    ended: bool = False
    damaged: int = 0

    def error(self, reason: str) -> FormatError:
        return FormatError(self.path, reason)

    def take(self, record: dict[str, Any]) -> None:
        """One line. Unknown ones are of a newer agent and are left out."""
        if self.header is None:
            self.header = self._checked_header(record)
        elif "series" in record:
            self.series = self._checked_series(record["series"])
        elif "slice" in record:
            self._take_slice(record)
        elif "end" in record:
            self.ended = True

    def result(self) -> NodeFile:
        if self.header is None:
            raise self.error("it has no header")
        names = {metric for row in self.rows.values() for metric, _ in row}
        slices = NodeSlices(
            node=self.header["node"],
            serves=self.header.get("serves", ""),
            slice_ns=self.header["slice_ns"],
            columns={name: BY_NAME[name] for name in names},
            rows=self.rows,
        )
        return NodeFile(slices, _boot_of(self.header), self.ended, self.damaged)

    def _checked_header(self, record: dict[str, Any]) -> dict[str, Any]:
        if record.get("version") != VERSION:
            raise self.error("it is no node file, or of a newer Crosswind")
        texts = (record.get("node"), record.get("serves", ""))
        if not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts) or not texts[0]:
            raise self.error("it names no node")
        if not _is_count(record.get("slice_ns")) or record["slice_ns"] == 0:
            raise self.error("its slices have no length")
        return record

    def _checked_series(self, series: Any) -> list[tuple[str, str]]:  # noqa: ANN401 (any JSON value)
        if not isinstance(series, list) or len(series) > MAX_SERIES:
            raise self.error(f"it has no list of at most {MAX_SERIES} series")
        pairs = [tuple(pair) if isinstance(pair, list) else () for pair in series]
        if not all(len(p) == 2 and all(isinstance(text, str) and len(text) <= MAX_TEXT for text in p) for p in pairs):
            raise self.error("a series of it has no name")
        return pairs

    def _take_slice(self, record: dict[str, Any]) -> None:
        number, values = record["slice"], record.get("v")
        if not _is_count(number) or not isinstance(values, list) or len(values) != len(self.series):
            raise self.error("a slice of it does not fit its series")
        if len(self.rows) >= MAX_SLICES:
            raise self.error(f"it has more than {MAX_SLICES} slices")
        if not all(value is None or _is_count(value) for value in values):
            raise self.error(f"slice {number} of it holds what is no count")
        self.rows[number] = _known(self.series, values)


def _boot_of(header: Mapping[str, Any]) -> Boot:
    """The boot that a header tells of; older agents tell of none."""
    boot_id, booted_ns = header.get("boot_id"), header.get("booted_ns")
    if isinstance(boot_id, str) and isinstance(booted_ns, int) and is_boot_id(boot_id) and _is_count(booted_ns):
        return Boot(boot_id, booted_ns)
    return Boot()


def _known(series: Sequence[tuple[str, str]], values: Sequence[int | None]) -> dict[tuple[str, str], int]:
    """The values there are, of metrics that this version knows."""
    pairs = zip(series, values, strict=True)
    return {key: value for key, value in pairs if value is not None and key[0] in BY_NAME}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT
