"""CRC-32C and LEB128 over many records at once: a day's spool file has a hundred thousand of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Varints", "crc32c", "decode", "unzigzag"]

MAX_WIDTH = 10  # bytes of a 64-bit number
FEW = 16  # records left: from here on a plain loop is faster than arrays


def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(0x82F63B78)
    return table


TABLE = _table()
_TABLE_LIST: list[int] = TABLE.tolist()


def crc32c(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """CRC-32C of data[start : start + length] for each record; every range has to lie inside data.

    All records advance together, one byte a step, the longest first, so that the ones still running are a prefix.
    """
    order = np.argsort(-lengths, kind="stable")
    at, length = starts[order], lengths[order]
    crc = np.full(starts.size, 0xFFFFFFFF, dtype=np.uint32)
    step, running = 0, int(np.count_nonzero(length > 0))
    while running > FEW:
        c = crc[:running]
        crc[:running] = TABLE[(c ^ data[at[:running] + step]) & 0xFF] ^ (c >> 8)
        step += 1
        running = int(np.searchsorted(-length, -step, side="left"))
    for i in range(running):
        value = int(crc[i])
        for byte in data[at[i] + step : at[i] + length[i]].tobytes():
            value = _TABLE_LIST[(value ^ byte) & 0xFF] ^ (value >> 8)
        crc[i] = value
    out = np.empty_like(crc)
    out[order] = ~crc
    return out


@dataclass(frozen=True)
class Varints:
    """The numbers in a run of records.

    values: uint64 [number]. end: int64 [number], the byte behind each, from the begin of its record. first: int64
    [record], where each record's numbers begin. count: int64 [record]. good: bool [record], false where the last number
    of a record is cut off or one is wider than 64 bits.
    """

    values: NDArray[np.uint64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    good: NDArray[np.bool_]


def decode(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Varints:
    """All LEB128 numbers of the records data[start : start + length], which must be ascending and disjoint."""
    payload = _gather(data, starts, lengths)
    record_ends = np.cumsum(lengths)
    cut_off = np.zeros(starts.size, dtype=np.bool_)
    has_bytes = lengths > 0
    last = record_ends[has_bytes] - 1
    cut_off[has_bytes] = payload[last] >= 0x80
    payload[last] &= 0x7F  # so that a cut-off number cannot run on into the next record
    ends = np.flatnonzero(payload < 0x80)
    begins = np.concatenate(([0], ends[:-1] + 1)) if ends.size else ends
    width = ends - begins + 1
    values = np.zeros(ends.size, dtype=np.uint64)
    for k in range(min(MAX_WIDTH, int(width.max(initial=0)))):
        wide = np.flatnonzero(width > k)
        values[wide] |= (payload[begins[wide] + k] & 0x7F).astype(np.uint64) << np.uint64(7 * k)
    too_wide = (width > MAX_WIDTH) | ((width == MAX_WIDTH) & (payload[ends] > 1))
    after = np.searchsorted(ends, record_ends, side="left")
    first = np.concatenate(([0], after[:-1])) if after.size else after
    n_too_wide = np.concatenate(([0], np.cumsum(too_wide)))
    good = ~cut_off & (n_too_wide[after] == n_too_wide[first]) & has_bytes
    end = ends + 1 - np.repeat(record_ends - lengths, after - first)
    return Varints(values, end, first, after - first, good)


def _gather(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The bytes of all records, one after the other. A header lies between any two, so no start is another's end."""
    edge = np.zeros(data.size + 1, dtype=np.int8)
    edge[starts] = 1
    edge[starts + lengths] = -1
    return data[np.cumsum(edge[:-1], dtype=np.int8).astype(np.bool_)]


def unzigzag(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Signed numbers of zigzag-coded ones."""
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
