"""Arrays of the profile file: how one array becomes bytes and back, with every bound checked before memory is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

__all__ = ["Rows", "Section", "SectionError", "decode", "encode"]

Rows = slice | NDArray[np.intp]  # some rows of an array

DTYPES = ("<i8", "<u8", "<f8", "|u1")
FILTERS = (("zstd",), ("shuffle", "zstd"), ("delta", "shuffle", "zstd"))
MAX_SECTION_BYTES = 4 << 30
MAX_NAMES = 1 << 16
MAX_NAME = 128
LEVEL = 3


class SectionError(ValueError):
    """A section is damaged or impossible; the message says which and why."""


@dataclass(frozen=True)
class Section:
    """Description of one array in the header.

    filters, in the order in which the writer applies them: `delta` (along the last axis, modulo 2**64), `shuffle`
    (first all lowest bytes of the values, then all second ones, ...), `zstd`. scale, if not 0: the values are the
    stored integers divided by it. names: what the first axis stands for.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    filters: tuple[str, ...]
    scale: int = 0
    names: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Size of the decoded array."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def to_json(self) -> dict[str, Any]:
        """The entry of the header, without offset, size and checksum."""
        entry: dict[str, Any] = {
            "name": self.name, "dtype": self.dtype, "shape": list(self.shape), "filters": list(self.filters),
        }  # fmt: skip
        if self.scale:
            entry["scale"] = self.scale
        if self.names:
            entry["names"] = list(self.names)
        return entry

    @classmethod
    def from_json(cls, entry: object) -> Section:
        """A checked entry. Raises SectionError."""
        if not isinstance(entry, dict):
            raise SectionError("a section of its header is no object")
        name, dtype = entry.get("name"), entry.get("dtype")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            raise SectionError("a section of its header has no usable name")
        shape, filters = _tuple(entry, "shape"), _tuple(entry, "filters")
        names, scale = _tuple(entry, "names"), entry.get("scale", 0)
        if dtype not in DTYPES or filters not in FILTERS or (filters[0] == "delta" and dtype not in ("<i8", "<u8")):
            raise SectionError(f"section {name}: unknown type or filters")
        if not 1 <= len(shape) <= 3 or not all(type(n) is int and 0 <= n <= 1 << 40 for n in shape):
            raise SectionError(f"section {name}: impossible shape")
        if len(names) > MAX_NAMES or not all(isinstance(n, str) and len(n) <= MAX_NAME for n in names):
            raise SectionError(f"section {name}: impossible names")
        if len(set(names)) != len(names):
            raise SectionError(f"section {name}: a name is there twice")
        if type(scale) is not int or not 0 <= scale <= 1_000_000_000 or (scale and dtype != "<i8"):
            raise SectionError(f"section {name}: impossible scale")
        section = cls(name, dtype, shape, filters, scale, names)
        if section.n_bytes > MAX_SECTION_BYTES:
            raise SectionError(f"section {name}: too large")
        return section


def _tuple(entry: dict[str, Any], key: str) -> tuple[Any, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise SectionError(f"a section of its header has no usable {key}")
    return tuple(value)


def encode(section: Section, array: NDArray[Any]) -> bytes:
    """The bytes of an array whose type and shape are those of the section."""
    data = np.ascontiguousarray(array, dtype=section.dtype)
    if "delta" in section.filters:
        words = data.view("<u8")
        data = np.concatenate((words[..., :1], words[..., 1:] - words[..., :-1]), axis=-1)
    raw = data.reshape(-1).view(np.uint8)
    shuffled = raw.reshape(-1, data.dtype.itemsize).T if "shuffle" in section.filters else raw
    return zstandard.ZstdCompressor(level=LEVEL).compress(shuffled.tobytes())


def decode(section: Section, blob: bytes, rows: Rows | None = None) -> NDArray[Any]:
    """The array of a section; rows: only these of its first axis, in the time of decompressing alone.

    Raises SectionError when the bytes do not hold exactly it.
    """
    raw = _decompress(section, blob)
    itemsize = np.dtype(section.dtype).itemsize
    data = np.frombuffer(raw, dtype=np.uint8)
    shape = section.shape
    planes = itemsize if "shuffle" in section.filters else 1
    if rows is not None:
        data = data.reshape(planes, shape[0], math.prod(shape[1:]) * itemsize // planes)[:, rows]
        shape = (data.shape[1], *shape[1:])
    if planes > 1:
        data = data.reshape(planes, math.prod(shape)).T
    array = np.ascontiguousarray(data).reshape(-1).view(section.dtype).reshape(shape)
    if "delta" in section.filters:
        array = np.cumsum(array.view("<u8"), axis=-1, dtype="<u8").view(section.dtype)
    return array if array.flags.writeable else array.copy()


def _decompress(section: Section, blob: bytes) -> bytes:
    """The frame states its content's size, so a bomb is refused before it is unpacked."""
    expected = section.n_bytes
    try:
        stated = zstandard.frame_content_size(blob)
        if stated != expected:
            raise SectionError(f"section {section.name}: holds {stated} bytes instead of {expected}")
        raw = zstandard.ZstdDecompressor().decompress(blob, max_output_size=expected) if expected else b""
    except zstandard.ZstdError as error:
        raise SectionError(f"section {section.name}: {error}") from None
    if len(raw) != expected:
        raise SectionError(f"section {section.name}: holds {len(raw)} bytes instead of {expected}")
    return raw
