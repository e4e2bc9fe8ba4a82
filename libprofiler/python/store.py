"""The profile file `NAME.xwp`: one job step, merged. docs/format.md is its specification.

The reader trusts nothing in the file: sizes are bounded before anything is allocated, every section has a checksum, and
everything that is wrong is a `FormatError` that names the file.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import header as hd
from crosswind.profile.access import width_of
from crosswind.profile.errors import FormatError
from crosswind.profile.model import Profile
from crosswind.profile.sections import Section, SectionError, decode, encode
from crosswind.profile.segments import SegmentTable

__all__ = ["MAGIC", "VERSION", "read_profile", "write_profile"]

MAGIC = b"XWPROF\r\n"  # CR LF: a transfer in text mode breaks it visibly
VERSION = 1
PREFIX = struct.Struct("<8sIIII")  # magic, version, size of the header, its CRC-32, zero
MAX_HEADER = 256 << 20
MAX_FILE = 16 << 30
MAX_SECTIONS = 4096
SCALES = (1, 1000)  # a float column whose values are multiples of 1/scale is stored as int64


def write_profile(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write a profile file. The file appears whole or not at all. Raises OSError."""
    arrays = _arrays(profile)
    entries, blobs, offset = [], [], 0
    for section, array in arrays:
        blob = encode(section, array)
        entries.append(section.to_json() | {"offset": offset, "size": len(blob), "crc32": zlib.crc32(blob)})
        blobs.append(blob)
        offset += len(blob)
    header = json.dumps(hd.to_json(profile) | {"sections": entries}, separators=(",", ":")).encode()
    prefix = PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header), 0)
    _write_atomically(Path(path), [prefix, header, *blobs])


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile file of any version. Raises FormatError when it is none or damaged, OSError on opening it."""
    try:
        with open(path, "rb") as file:
            header, base, end = _read_header(file, path)
            sections = _read_sections(file, header, base, end)
        return _profile(header, sections)
    except (hd.HeaderError, SectionError) as error:
        raise FormatError(path, str(error)) from None
    except MemoryError:
        raise FormatError(path, "needs more memory than there is") from None


def _arrays(profile: Profile) -> list[tuple[Section, NDArray[Any]]]:
    """The sections of a profile, in the order of the file."""
    out = [_int_section("covered_ns", profile.covered_ns), _int_section("partial", profile.partial.astype(np.uint8))]
    out += [_int_section(f"slices/{name}", array) for name, array in profile.slices.items() if np.any(array)]
    for name in ("totals", "functions"):
        table: dict[str, NDArray[np.int64]] = getattr(profile, name)
        if table:
            out.append(_int_section(name, np.stack(list(table.values())), names=tuple(table)))
    out += [_int_section(f"access/{name}", array) for name, array in profile.access.items()]
    if profile.segments is not None:
        out += _segment_arrays(profile.segments)
    return out


def _segment_arrays(table: SegmentTable) -> list[tuple[Section, NDArray[Any]]]:
    out = [_int_section(f"segments.{n}", getattr(table, n)) for n in ("index", "ranks", "stride")]
    out.append(_int_section("segments.valid", table.valid.astype(np.uint8)))
    if table.from_call_sites.any():
        out.append(_int_section("segments.from_call_sites", table.from_call_sites.astype(np.uint8)))
    if table.places:
        out.append(_int_section("segments.closed_at", table.closed_at))
    for name, column in table.columns.items():
        label = f"segments/{name}"
        out.append(
            _int_section(label, column) if column.dtype.kind in "iu" else _float_section(label, column, table.valid)
        )
    return out


def _int_section(name: str, array: NDArray[Any], names: tuple[str, ...] = ()) -> tuple[Section, NDArray[Any]]:
    code = array.dtype.newbyteorder("<").str
    filters = ("zstd",) if array.dtype.itemsize == 1 else ("delta", "shuffle", "zstd")
    return Section(name, code, tuple(array.shape), filters, names=names), array


def _float_section(name: str, column: NDArray[np.float64], valid: NDArray[np.bool_]) -> tuple[Section, NDArray[Any]]:
    """Multiples of a thousandth, which is what measured columns are, become integers: they compress much better."""
    values = np.where(valid, column, 0.0)
    for scale in SCALES:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(values * scale)
            exact = np.all(np.abs(scaled) < 2.0**62) and np.array_equal(scaled / scale, values)
        if exact and not np.any(np.isnan(column) & valid):
            section, array = _int_section(name, scaled.astype(np.int64))
            return Section(section.name, section.dtype, section.shape, section.filters, scale=scale), array
    return Section(name, "<f8", tuple(column.shape), ("shuffle", "zstd")), column


def _write_atomically(path: Path, parts: list[bytes]) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.fchmod(file.fileno(), 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _read_header(file: Any, path: str | os.PathLike[str]) -> tuple[dict[str, Any], int, int]:  # noqa: ANN401
    """The header, the offset of the first section and the size of the file."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(PREFIX.size)
    if len(start) < PREFIX.size or not start.startswith(MAGIC):
        raise FormatError(path, "is not a Crosswind profile")
    _, version, length, crc, _ = PREFIX.unpack(start)
    if version != VERSION:
        raise FormatError(
            path, f"has format version {version}; this Crosswind reads up to version {VERSION}: update it"
        )
    if size > MAX_FILE or length > MAX_HEADER or PREFIX.size + length > size:
        raise FormatError(path, "is cut off or its header is damaged")
    raw = file.read(length)
    if zlib.crc32(raw) != crc:
        raise FormatError(path, "its header is damaged (wrong checksum)")
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError):
        raise FormatError(path, "its header is no JSON") from None
    if not isinstance(header, dict):
        raise FormatError(path, "its header is no JSON object")
    return header, PREFIX.size + length, size


def _read_sections(file: Any, header: dict[str, Any], base: int, end: int) -> dict[str, tuple[Section, NDArray[Any]]]:  # noqa: ANN401
    """All sections whose name this version knows; others are left unread."""
    entries = header.get("sections")
    if not isinstance(entries, list) or len(entries) > MAX_SECTIONS:
        raise SectionError("its header has no usable list of sections")
    sections: dict[str, tuple[Section, NDArray[Any]]] = {}
    budget = hd.MAX_BYTES
    for entry in entries:
        section = Section.from_json(entry)
        if not _is_known(section.name):
            continue
        offset, size, crc = (hd.integer(entry, key, 0, MAX_FILE) for key in ("offset", "size", "crc32"))
        if section.name in sections or base + offset + size > end:
            raise SectionError(f"section {section.name} is there twice or lies outside the file")
        budget -= section.n_bytes
        if budget < 0:
            raise SectionError("its sections are too large together")
        file.seek(base + offset)
        blob = file.read(size)
        if zlib.crc32(blob) != crc:
            raise SectionError(f"section {section.name} is damaged (wrong checksum)")
        sections[section.name] = section, decode(section, blob)
    return sections


def _is_known(name: str) -> bool:
    known = ("covered_ns", "partial", "totals", "functions")
    return name in known or name.startswith(("slices/", "access/", "segments/", "segments."))


def _profile(header: dict[str, Any], sections: dict[str, tuple[Section, NDArray[Any]]]) -> Profile:
    parts = hd.from_json(header)
    grid = (len(parts.processes), parts.n_slices)
    names = {c.name for c in parts.columns}
    slices = {
        name.removeprefix("slices/"): _expect(sections, name, "<i8", grid)
        for name in sections
        if name.startswith("slices/") and name.removeprefix("slices/") in names
    }
    partial = _expect(sections, "partial", "|u1", grid[:1]) if "partial" in sections else np.zeros(grid[0], np.uint8)
    return Profile(
        job=parts.job,
        processes=parts.processes,
        columns=parts.columns,
        slice_ns=parts.slice_ns,
        first_slice=parts.first_slice,
        n_slices=parts.n_slices,
        slices=slices,
        covered_ns=_expect(sections, "covered_ns", "<i8", grid),
        totals=_named(sections, "totals", grid[:1]),
        functions=_named(sections, "functions", (grid[0], 4)),
        segments=_segments(sections, parts),
        clock=parts.clock,
        lost=parts.lost,
        dropped_files=parts.dropped_files,
        partial=partial.astype(np.bool_),
        mpi_functions=parts.mpi_functions,
        access=_access(sections, grid[0]),
    )


def _access(sections: dict[str, tuple[Section, NDArray[Any]]], n_processes: int) -> dict[str, NDArray[np.int64]]:
    """The arrays of access patterns whose names this version knows."""
    names = [name.removeprefix("access/") for name in sections if name.startswith("access/")]
    widths = {name: width for name in names if (width := width_of(name))}
    return {n: _expect(sections, f"access/{n}", "<i8", (n_processes, width)) for n, width in widths.items()}


def _expect(
    sections: dict[str, tuple[Section, NDArray[Any]]], name: str, dtype: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """A section that has to have this type and shape."""
    if name not in sections:
        raise SectionError(f"section {name} is missing")
    section, array = sections[name]
    if section.dtype != dtype or section.shape != shape:
        raise SectionError(f"section {name} is {section.dtype} {section.shape}, not {dtype} {shape}")
    return array


def _named(
    sections: dict[str, tuple[Section, NDArray[Any]]], name: str, shape: tuple[int, ...]
) -> dict[str, NDArray[np.int64]]:
    """The rows of a section whose first axis has names."""
    if name not in sections:
        return {}
    names = sections[name][0].names
    array = _expect(sections, name, "<i8", (len(names), *shape))
    return dict(zip(names, array, strict=True))


def _segments(sections: dict[str, tuple[Section, NDArray[Any]]], parts: hd.Parts) -> SegmentTable | None:
    if "segments.index" not in sections:
        return None
    n, r = (
        sections["segments.index"][0].shape[:1],
        sections.get("segments.ranks", sections["segments.index"])[0].shape[:1],
    )
    valid = _expect(sections, "segments.valid", "|u1", r + n).astype(np.bool_)
    columns: dict[str, NDArray[Any]] = {}
    for name in sections:
        if name.startswith("segments/"):
            columns[name.removeprefix("segments/")] = _segment_column(sections, name, valid)
    return SegmentTable(
        index=_expect(sections, "segments.index", "<i8", n),
        ranks=_expect(sections, "segments.ranks", "<i8", r),
        columns=columns,
        valid=valid,
        stride=_expect(sections, "segments.stride", "<i8", n),
        from_call_sites=_call_sites(sections, n),
        call_sites=parts.call_sites,
        closed_at=_closed_at(sections, n, len(parts.places)),
        places=parts.places,
    )


def _closed_at(
    sections: dict[str, tuple[Section, NDArray[Any]]], shape: tuple[int, ...], n_places: int
) -> NDArray[np.int64]:
    """Which of the places ended each segment; profiles of older libraries do not say."""
    if "segments.closed_at" not in sections:
        return np.full(shape, -1, dtype=np.int64)
    found: NDArray[np.int64] = _expect(sections, "segments.closed_at", "<i8", shape)
    return np.where((found >= 0) & (found < n_places), found, -1)


def _call_sites(sections: dict[str, tuple[Section, NDArray[Any]]], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """The mark of the segments that call sites cut; profiles without such segments do not have it."""
    name = "segments.from_call_sites"
    return _expect(sections, name, "|u1", shape).astype(np.bool_) if name in sections else np.zeros(shape, np.bool_)


def _segment_column(
    sections: dict[str, tuple[Section, NDArray[Any]]], name: str, valid: NDArray[np.bool_]
) -> NDArray[Any]:
    section, _ = sections[name]
    if section.dtype not in ("<i8", "<u8", "<f8"):
        raise SectionError(f"section {name} has type {section.dtype}")
    array = _expect(sections, name, section.dtype, valid.shape)
    if section.scale:
        array = np.where(valid, array / section.scale, np.nan)
    return array
