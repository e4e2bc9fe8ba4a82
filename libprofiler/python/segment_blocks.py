"""Blocks of segments in a spool file -> rows, all blocks of a chunk at once. docs/format.md is their specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import varint
from crosswind.profile.records import MAX_VALUE, prefix, walk
from crosswind.profile.segment_log import (
    FUNCTION,
    MAX_SITE,
    MAX_WORLD,
    PLACE_SHIFT,
    SITE_BITS,
    SegmentLog,
    no_rows,
)  # fmt: skip

__all__ = ["LARGEST", "read_block_chunk"]

MAX_ROWS = 254  # of a block
MAX_BLOCK = 1 << 16  # bytes
MAX_WIDTH = 56  # bits of a packed step
LARGEST = 1 << 59
"""Value of a column; larger ones are cut off, so that sums of some stay below MAX_VALUE. Such a time is not known."""
MAX_HZ = 10**12
PREFIX = 4  # bytes that say how many bytes of numbers follow

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]


@dataclass
class _Cursor:
    """Walks through the numbers of all blocks side by side. good: false for a block once something was impossible."""

    values: Words
    at: Ints
    end: Ints
    good: Bools

    def take(self, limit: int) -> Words:
        """The next number of each block, which is below the limit."""
        inside = self.at < self.end
        value = self.values[np.where(inside, self.at, 0)] if self.values.size else np.zeros(self.at.size, np.uint64)
        self.good &= inside & (value < limit)
        self.at += inside
        return np.where(self.good, value, 0).astype(np.uint64)

    def take_list(self, count: Words, width: int) -> tuple[Ints, Words]:
        """The next `count` entries of `width` numbers of each block: (block, numbers [entry, width])."""
        self.good &= count <= ((self.end - self.at) // width).astype(np.uint64)
        n = np.where(self.good, count, 0).astype(np.int64)
        block = np.repeat(np.arange(n.size), n)
        nth = np.arange(block.size) - np.repeat(np.cumsum(n) - n, n)
        entries = self.values[(self.at[block] + width * nth)[:, None] + np.arange(width)]
        self.at += n * width
        return block, entries

    def refuse(self, block: Ints, impossible: Bools) -> None:
        """Entries of lists that cannot be."""
        self.good[block[impossible]] = False


@dataclass(frozen=True)
class _List:
    """Entries of all blocks, in their order."""

    block: Ints
    entries: Words

    def of(self, kept: Bools) -> _List:
        """Those of the blocks that are kept, numbered anew."""
        keep = kept[self.block]
        return _List((np.cumsum(kept) - 1)[self.block[keep]], self.entries[keep])


@dataclass(frozen=True)
class _Column:
    """How each block codes a column: width, precision, relative, first; exceptions: row, step."""

    width: Words
    precision: Words
    relative: Bools
    first: Words
    exceptions: _List

    def of(self, kept: Bools) -> _Column:
        """The blocks that are kept."""
        exceptions = self.exceptions.of(kept)
        return _Column(self.width[kept], self.precision[kept], self.relative[kept], self.first[kept], exceptions)


@dataclass(frozen=True)
class _Heads:
    """What the numbers of the blocks say. types: call, signature, worlds, sites. corrections: row, ticks."""

    rows: Ints
    position: Ints
    start_tick: Words
    hz: Words
    n_types: Ints
    types: _List
    columns: Sequence[_Column]
    corrections: _List
    bits_at: Ints
    good: Bools

    def of_good(self) -> _Heads:
        """The good blocks."""
        k = self.good
        arrays = (self.rows[k], self.position[k], self.start_tick[k], self.hz[k], self.n_types[k])
        columns = [column.of(k) for column in self.columns]
        return _Heads(*arrays, self.types.of(k), columns, self.corrections.of(k), self.bits_at[k], k[k])


def read_block_chunk(
    chunk: bytes, units: Sequence[str], names: Sequence[str], n_functions: int, most_rows: int
) -> tuple[SegmentLog, list[str]]:
    """The rows of a chunk of blocks, and what was wrong in sentences.

    units, names: of the segment fields, as in the table. A block that cannot be is left out, the others stay.
    """
    starts, lengths, crcs, complaint = walk(chunk, MAX_BLOCK, most_rows)
    problems = [f"the rest of a chunk of segment blocks dropped: {complaint}"] if complaint else []
    data = np.frombuffer(chunk + bytes(8), dtype=np.uint8)
    intact = prefix(varint.crc32c(data, starts, lengths) == crcs)
    if intact < starts.size:
        problems.append(f"{starts.size - intact} segment blocks dropped: wrong checksum")
    if not intact:
        return no_rows(len(units)), problems
    heads = _heads(data, starts[:intact], lengths[:intact], len(units), n_functions)
    within = np.cumsum(heads.rows * heads.good) <= most_rows
    if not within.all():
        problems.append("segment blocks dropped: too many rows")
    heads.good[~within] = False
    log, good = _rows(data, heads.of_good(), units, names)
    bad = int(np.count_nonzero(within)) - int(np.count_nonzero(good))
    if bad:
        problems.append(f"{bad} segment blocks dropped: impossible content")
    return log, problems


def _heads(data: NDArray[np.uint8], starts: Ints, lengths: Ints, n_fields: int, n_functions: int) -> _Heads:
    """Parse the numbers of all blocks; every list and range is checked here, but for what the bits say."""
    n_bytes = sum(data[starts + k].astype(np.int64) << 8 * k for k in range(PREFIX)) if starts.size else lengths
    possible = (n_bytes > 0) & (n_bytes <= lengths - PREFIX)
    numbers = varint.decode(data, starts + PREFIX, np.where(possible, n_bytes, 1))  # no range may be empty
    cursor = _Cursor(numbers.values, numbers.first.copy(), numbers.first + numbers.count, possible & numbers.good)
    rows = cursor.take(MAX_ROWS + 1)
    cursor.good &= rows > 0
    position, start_tick, hz = cursor.take(1 << 63), cursor.take(MAX_VALUE), cursor.take(MAX_HZ)
    cursor.good &= hz > 0
    n_types = cursor.take(MAX_ROWS + 1)
    cursor.good &= (n_types > 0) & (n_types <= rows)
    types = _List(*cursor.take_list(n_types, 4))
    limits = np.array([1 << 32, 1 << 32, MAX_WORLD, MAX_SITE], dtype=np.uint64)
    impossible = (types.entries >= limits).any(axis=1) | ~types.entries[:, 2:].any(axis=1)
    cursor.refuse(types.block, impossible | ((types.entries[:, 0] & np.uint64(FUNCTION)) >= np.uint64(n_functions)))
    columns = [_column(cursor, rows) for _ in range(n_fields)]
    corrections = _numbered(cursor, cursor.take(MAX_ROWS), rows)
    n_bits = [_bits_for(n_types), *(c.width for c in columns)]
    n_bit_bytes = sum(((rows * width + np.uint64(7)) >> np.uint64(3)).astype(np.int64) for width in n_bits)
    cursor.good &= n_bit_bytes <= lengths - PREFIX - n_bytes
    as_int = [a.astype(np.int64) for a in (rows, position, n_types)]
    return _Heads(
        as_int[0], as_int[1], start_tick, hz, as_int[2], types, columns, corrections, starts + PREFIX + n_bytes,
        cursor.good,
    )  # fmt: skip


def _column(cursor: _Cursor, rows: Words) -> _Column:
    shape = cursor.take(1 << 13)
    width, precision = shape & np.uint64(63), shape >> np.uint64(6) & np.uint64(63)
    cursor.good &= width <= MAX_WIDTH
    first = cursor.take(1 << 63)
    exceptions = _numbered(cursor, cursor.take(MAX_ROWS + 1), rows)
    return _Column(width, precision, shape >> np.uint64(12) > 0, varint.unzigzag(first).view(np.uint64), exceptions)


def _numbered(cursor: _Cursor, count: Words, rows: Words) -> _List:
    """A list of (row, value), its rows coded as differences to (the one before + 1)."""
    block, entries = cursor.take_list(count, 2)
    possible = entries[:, 0] < rows[block]
    steps = np.where(possible, entries[:, 0], 0).astype(np.int64) + 1
    row = _running(steps, _first_of(block)) - 1
    cursor.refuse(block, ~possible | (row >= rows[block].astype(np.int64)))
    entries[:, 0] = row
    return _List(block, entries)


def _bits_for(n_types: Words) -> Words:
    """Bits that the numbers 0 ... n_types - 1 need."""
    return np.ceil(np.log2(np.maximum(n_types, 1))).astype(np.uint64)


def _first_of(group: Ints) -> Ints:
    """For each entry the index of the first entry of its group; groups are runs."""
    return np.searchsorted(group, group, side="left")


def _running(values: NDArray, first: Ints) -> NDArray:
    """Sums from the first entry of each group up to and with each entry, modulo 2**64."""
    total = np.cumsum(values, dtype=values.dtype)
    return total - (total - values)[first]


def _rows(
    data: NDArray[np.uint8], heads: _Heads, units: Sequence[str], names: Sequence[str]
) -> tuple[SegmentLog, Bools]:
    """The rows of good blocks, and which blocks are still good when their bits are read."""
    block = np.repeat(np.arange(heads.rows.size), heads.rows)
    first = (np.cumsum(heads.rows) - heads.rows)[block]
    bits = _Bits(data, block, np.arange(block.size) - first, heads.rows, heads.bits_at.copy())
    kind = bits.take(_bits_for(heads.n_types.astype(np.uint64))).astype(np.int64)
    bad = kind >= heads.n_types[block]
    kind[bad] = 0
    order = np.argsort(block * MAX_ROWS + kind, kind="stable")
    first_type = np.searchsorted(heads.types.block, np.arange(heads.rows.size))
    types = heads.types.entries[first_type[block] + kind].astype(np.int64)
    values = np.empty((block.size, len(units)), dtype=np.int64)
    base = np.zeros(block.size, dtype=np.uint64)
    for c, column in enumerate(heads.columns):
        number = _numbers(bits, column, block, first, base)
        base = number if c == 0 else base
        value, impossible = _values(number, column.precision[block])
        values[order, c] = value
        bad |= impossible
    duration = names.index("duration") if "duration" in names else None
    _to_units(values, units, duration, heads.hz[block])
    begin, end, impossible = _positions(heads.position[block], first, types[:, 2], types[:, 3])
    begin_tick = _begins(heads, block, first, None if duration is None else values[:, duration])
    bad |= impossible | (begin_tick < 0) | (begin_tick >= MAX_VALUE)
    good = np.ones(heads.rows.size, dtype=np.bool_)
    good[block[bad]] = False
    k = good[block]
    return SegmentLog(
        begin=begin[k],
        end=end[k],
        count=types[k, 2] + types[k, 3],
        begin_tick=begin_tick[k],
        function=types[k, 0] & FUNCTION,
        signature=types[k, 1],
        values=values[k],
        block=(np.cumsum(good) - 1)[block[k]],
        place=types[k, 0] >> PLACE_SHIFT,
    ), good


@dataclass
class _Bits:
    """Reads the packed parts of all blocks, one after the other. nth: number of each row in its block."""

    data: NDArray[np.uint8]
    block: Ints
    nth: Ints
    rows: Ints
    at: Ints

    def take(self, width: Words) -> Words:
        """A number of `width[block]` bits for each row."""
        word = np.ndarray((self.data.size - 7,), dtype="<u8", buffer=self.data, strides=(1,))  # at every byte
        wide = width[self.block]
        bit = self.nth.astype(np.uint64) * wide
        loaded = word[self.at[self.block] + (bit >> np.uint64(3)).astype(np.int64)] >> (bit & np.uint64(7))
        self.at += ((self.rows * width.astype(np.int64)) + 7) >> 3
        return loaded & ((np.uint64(1) << wide) - np.uint64(1))


def _numbers(bits: _Bits, column: _Column, block: Ints, first: Ints, base: Words) -> Words:
    """The numbers of a column in the order of the rows by type, modulo 2**64."""
    step = bits.take(column.width)
    listed = column.exceptions
    first_row = np.cumsum(bits.rows) - bits.rows
    step[first_row[listed.block] + listed.entries[:, 0].astype(np.int64)] = listed.entries[:, 1]
    number = column.first[block] + _running(varint.unzigzag(step).view(np.uint64), first)
    return number + np.where(column.relative[block], base, np.uint64(0))


def _values(number: Words, precision: Words) -> tuple[Ints, Bools]:
    """The values of numbers, and which are impossible."""
    one = np.uint64(1)
    octave = number >> precision
    shift = np.where(octave > one, octave - one, np.uint64(0))
    impossible = (shift > 0) & (shift + precision > LARGEST.bit_length())
    shift[impossible] = 0
    mantissa = np.where(shift > 0, (number & ((one << precision) - one)) | one << precision, number)
    value = mantissa << shift
    impossible |= value > LARGEST
    return np.where(impossible, 0, value).astype(np.int64), impossible


def _to_units(values: Ints, units: Sequence[str], duration: int | None, hz: Words) -> None:
    """The duration (its column, if there is one) out of its parts, and times in ns out of ticks, in place.

    What was cut off stays so.
    """
    for c, unit in enumerate(units):
        if unit == "ns":
            known = values[:, c] < LARGEST
            values[:, c] = np.where(known, np.rint(np.minimum(values[:, c] * (1e9 / hz), LARGEST)), LARGEST)
        elif unit == "ticks" and duration is not None and c != duration:
            values[:, duration] = np.minimum(values[:, duration] + values[:, c], LARGEST)


def _positions(position: Ints, first: Ints, worlds: Ints, sites: Ints) -> tuple[Ints, Ints, Bools]:
    """Begin and end of rows that follow each other, each block from its position on; which are impossible."""
    rows = np.arange(first.size)
    world = (position >> SITE_BITS) + _running(worlds, first)
    site = (position & (MAX_SITE - 1)) + _running(sites, first)
    turned = np.maximum.accumulate(np.where(worlds > 0, rows, -1))  # the last world-sized cut
    since = turned >= first
    site[since] = (_running(sites, first) - (_running(sites, first) - sites)[turned])[since]
    end = (world << SITE_BITS) | site
    begin = np.where(rows == first, position, np.concatenate((position[:1], end[:-1])))
    return begin, end, (world >= MAX_WORLD) | (site >= MAX_SITE)


def _begins(heads: _Heads, block: Ints, first: Ints, duration: Ints | None) -> Ints:
    """The tick at which each row begins: where the one before ended, and corrected where that was too far off."""
    length = duration if duration is not None else np.zeros(block.size, dtype=np.int64)
    off = np.zeros(block.size, dtype=np.int64)
    listed = heads.corrections
    first_row = np.cumsum(heads.rows) - heads.rows
    off[first_row[listed.block] + listed.entries[:, 0].astype(np.int64)] = varint.unzigzag(listed.entries[:, 1])
    passed = _running(length, first) - length + _running(off, first)
    return heads.start_tick[block].view(np.int64) + passed
