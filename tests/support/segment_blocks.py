"""Rows and blocks of segments written by the words of docs/format.md, apart from the library and from the reader."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crosswind.profile.metrics import SEGMENT_FIELDS

WEIGHT = 0x9E3779B97F4A7C15
NAMES = [name for name, _, _ in SEGMENT_FIELDS]
SLOT_WORDS = 5 + len(NAMES)
SLOT_BYTES = 8 * SLOT_WORDS
WORD = 1 << 64


@dataclass
class Row:
    """One row: position, the cuts it reaches over, and values by field name; times in ticks, also CPU time."""

    world: int
    start_tick: int
    values: Mapping[str, int]
    site: int = 0
    worlds: int = 1
    sites: int = 0
    function: int = 4
    signature: int = 0xC0FFEE
    place: int = 0

    @property
    def position(self) -> int:
        """As one number."""
        return self.world << 31 | self.site

    def slot(self) -> bytes:
        """The row as it lies in the ROWS chunk."""
        spans, what = self.worlds | self.sites << 32, self.function | self.place << 16 | self.signature << 32
        words = [self.position, spans, self.start_tick, what, *(self.values.get(name, 0) for name in NAMES)]
        return struct.pack(f"<{SLOT_WORDS}Q", row_check(words), *words)

    def content(self, name: str) -> int:
        """What its column in a block holds."""
        if name != "duration":
            return self.values.get(name, 0)
        busy = sum(self.values.get(other, 0) for other in ("p2p_time", "coll_time", "io_time"))
        return max(self.values.get(name, 0) - busy, 0)


def row_check(words: Sequence[int]) -> int:
    """The check of a row with these words behind it."""
    return (1 + sum(word * pow(WEIGHT, i, WORD) for i, word in enumerate(words, start=1))) % WORD


def varint(value: int) -> bytes:
    """Unsigned LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> int:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    return 2 * value if value >= 0 else -2 * value - 1


def number_of(value: int, precision: int) -> int:
    """The number of a value at a precision; rounds down."""
    shift = max(value.bit_length() - precision - 1, 0)
    return (shift << precision) + (value >> shift)


def pack(numbers: Sequence[int], width: int) -> bytes:
    """So many bits each, from the lowest of the first byte on, up to a whole byte."""
    total = sum(number << i * width for i, number in enumerate(numbers))
    return total.to_bytes((len(numbers) * width + 7) // 8, "little")


def block(rows: Sequence[Row], hz: int, precisions: Mapping[str, int], relative: Sequence[str] = ()) -> bytes:
    """The payload of a block; a column without a precision is exact. One step in eight or so is listed."""
    types = [(r.function | r.place << 16, r.signature, r.worlds, r.sites) for r in rows]
    kinds = list(dict.fromkeys(types))
    kind = [kinds.index(each) for each in types]
    order = sorted(range(len(rows)), key=lambda i: kind[i])
    numbers = b"".join(map(varint, (len(rows), rows[0].position, rows[0].start_tick, hz, len(kinds))))
    numbers += b"".join(varint(part) for k in kinds for part in k)
    bits = pack(kind, (len(kinds) - 1).bit_length())
    base = [number_of(rows[i].content("duration"), precisions.get("duration", 63)) for i in order]
    for name in NAMES:
        precision = precisions.get(name, 63)
        number = [number_of(rows[i].content(name), precision) for i in order]
        if name in relative:
            number = [n - b for n, b in zip(number, base, strict=True)]
        steps = [0, *(zigzag(b - a) for a, b in pairwise(number))]
        width = min(sorted(s.bit_length() for s in steps)[len(steps) * 7 // 8], 56)
        listed = {i: s for i, s in enumerate(steps) if s.bit_length() > width}
        numbers += varint(width + 64 * precision + 4096 * (name in relative)) + varint(zigzag(number[0]))
        numbers += _listed(listed)
        bits += pack([0 if i in listed else s for i, s in enumerate(steps)], width)
    numbers += _listed({len(rows) - 1: zigzag(-5)} if len(rows) > 2 else {})
    return struct.pack("<I", len(numbers)) + numbers + bits


def _listed(entries: Mapping[int, int]) -> bytes:
    out, behind = varint(len(entries)), 0
    for row, value in entries.items():
        out += varint(row - behind) + varint(value)
        behind = row + 1
    return out
