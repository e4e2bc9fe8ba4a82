"""Arrays as compressed bytes in a column of the database, and back.

The compression is the profile file's (`crosswind.profile.sections`). The first byte says how an array was encoded, so
that better ways can follow; shapes are in the rows beside it, and the reader takes no memory for any other shape.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.db.errors import DatabaseError
from crosswind.profile.sections import Rows, Section, SectionError, decode, encode
from crosswind.profile.segments import SegmentTable

__all__ = [
    "SEGMENT_HEAD", "decode_floats", "decode_ints", "decode_segments", "encode_floats", "encode_ints",
    "encode_segments", "segment_cells",
]  # fmt: skip

_FILTERS = {1: ("shuffle", "zstd"), 2: ("delta", "shuffle", "zstd")}
_SINGLE = 3  # an array of single precision, shuffled
_MAX_SEGMENT_BYTES = 4 << 30
_MAX_SEGMENT_SECTIONS = 64
_TEXTS = ("call_sites", "places")  # of a segment table, as JSON in one array
SEGMENT_HEAD = 1 << 14  # bytes in which the list of a table's arrays ends


def encode_ints(values: NDArray[np.int64], *, smooth: bool = False) -> bytes:
    """An int64 array of any shape. smooth: neighbours on the last axis are alike (gauges), so differences are stored.

    Counters are differences over a slice already; storing differences of those makes them a quarter larger.
    """
    code = 2 if smooth else 1
    return bytes([code]) + encode(Section("values", "<i8", values.shape, _FILTERS[code]), values)


def decode_ints(blob: bytes, shape: tuple[int, ...], rows: Rows | None = None) -> NDArray[np.int64]:
    """The int64 array of this shape; rows: only these of its first axis. Raises DatabaseError when the bytes do not
    hold exactly that.
    """
    filters = _FILTERS.get(blob[0]) if blob else None
    if filters is None:
        raise DatabaseError("a stored array is damaged or of a newer Crosswind: restore the database from its backup")
    return _decoded(Section("values", "<i8", shape, filters), blob[1:], rows)


def encode_floats(values: NDArray[np.float64]) -> bytes:
    """An array of any shape in single precision."""
    section = Section("values", "<f4", values.shape, _FILTERS[1])
    with np.errstate(over="ignore"):  # no measured rate is too large for it; an absurd one becomes infinite
        return bytes([_SINGLE]) + encode(section, values.astype("<f4"))


def decode_floats(blob: bytes, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The array of this shape. Raises DatabaseError when the bytes do not hold exactly that."""
    if not blob or blob[0] != _SINGLE:
        raise DatabaseError("a stored array is damaged or of a newer Crosswind: restore the database from its backup")
    return _decoded(Section("values", "<f4", shape, _FILTERS[1]), blob[1:]).astype(np.float64)


def encode_segments(table: SegmentTable) -> bytes:
    """A segment table: the length of a list of its arrays (JSON), the list, the arrays one after another.

    Readers know arrays by their names: they leave out those of later versions, and do without those that an earlier
    version did not write. So a table that lacks what a version added is the same bytes as before.
    """
    arrays = {
        "index": table.index, "ranks": table.ranks, "stride": table.stride, "valid": table.valid.astype(np.uint8),
    } | {f"column/{name}": column for name, column in table.columns.items()}  # fmt: skip
    if table.from_call_sites.any():
        arrays["from_call_sites"] = table.from_call_sites.astype(np.uint8)
    if table.places:
        arrays["closed_at"] = table.closed_at
    texts = {name: list(found) for name in _TEXTS if (found := getattr(table, name))}
    if texts:
        arrays["texts"] = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    entries, blobs = [], []
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        filters = _FILTERS[1] if data.dtype.itemsize > 1 else ("zstd",)
        section = Section(name, data.dtype.newbyteorder("<").str, data.shape, filters)
        blobs.append(encode(section, data))
        entries.append({**section.to_json(), "size": len(blobs[-1])})
    listing = json.dumps(entries, separators=(",", ":")).encode()
    return b"".join([struct.pack("<I", len(listing)), listing, *blobs])


def segment_cells(head: bytes) -> int:
    """How many cells (segments times ranks) a table has, from its first SEGMENT_HEAD bytes. Raises DatabaseError."""
    try:
        (length,) = struct.unpack_from("<I", head)
        shapes = [entry["shape"] for entry in json.loads(head[4 : 4 + length]) if entry["name"] == "valid"]
        return math.prod(map(int, shapes[0]))
    except (ValueError, KeyError, TypeError, IndexError, struct.error) as error:
        raise DatabaseError(
            f"a stored segment table is damaged ({error}): restore the database from its backup"
        ) from None


def decode_segments(blob: bytes) -> SegmentTable:
    """The segment table. Raises DatabaseError when the bytes do not hold one."""
    try:
        arrays = _segment_arrays(blob)
        columns = {n.removeprefix("column/"): a for n, a in arrays.items() if n.startswith("column/")}
        valid = arrays["valid"].astype(np.bool_)
        if any(a.shape != valid.shape for a in columns.values()):
            raise ValueError("columns of different shapes")
        from_call_sites = arrays.get("from_call_sites", np.zeros(0)).astype(np.bool_)
        call_sites, places = _texts(arrays)
        closed_at = _closed_at(arrays, len(places))
        return SegmentTable(
            arrays["index"], arrays["ranks"], columns, valid, arrays["stride"], from_call_sites, call_sites, closed_at,
            places,
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise DatabaseError(
            f"a stored segment table is damaged ({error}): restore the database from its backup"
        ) from None


def _texts(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, ...]]:
    """Each of _TEXTS, empty where there is none."""
    found = json.loads(arrays["texts"].tobytes()) if "texts" in arrays else {}
    for name in _TEXTS:
        texts = found.get(name, []) if isinstance(found, dict) else None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("texts that are none")
        yield tuple(texts)


def _closed_at(arrays: Mapping[str, NDArray[Any]], n_places: int) -> NDArray[np.int64]:
    """Which of the places ended each segment, -1 where that is not known."""
    found = arrays.get("closed_at", np.full(arrays["index"].shape, -1, dtype=np.int64))
    if found.dtype != np.int64:
        raise ValueError("places without numbers")
    return np.where((found >= 0) & (found < n_places), found, -1)


def _segment_arrays(blob: bytes) -> dict[str, NDArray[Any]]:
    (length,) = struct.unpack_from("<I", blob)
    at = 4 + length
    arrays: dict[str, NDArray[Any]] = {}
    budget = _MAX_SEGMENT_BYTES
    for entry in json.loads(blob[4:at])[:_MAX_SEGMENT_SECTIONS]:
        section, size = Section.from_json(entry), int(entry["size"])
        budget -= section.n_bytes
        if budget < 0:
            raise ValueError("too large")
        arrays[section.name] = _decoded(section, blob[at : at + size])
        at += size
    return arrays


def _decoded(section: Section, blob: bytes, rows: Rows | None = None) -> NDArray[Any]:
    try:
        return decode(section, blob, rows)
    except SectionError as error:
        raise DatabaseError(f"a stored array is damaged ({error}): restore the database from its backup") from None
