"""The places from which calls ended segments, as the spool file names them: a function, a module, an offset in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from crosswind.profile import varint
from crosswind.profile.records import prefix, walk

__all__ = ["CallSite", "label", "read_sites"]

MAX_SITES = 255
MAX_NAME = 64
MAX_CHUNK = 1 << 16  # bytes of a chunk, eight times what the library makes
MAX_CHUNKS = 4
MAX_OFFSET = 1 << 63
HEAD = 4  # numbers of a record before the name
_STRANGE = re.compile(r"[^A-Za-z0-9_.+@~-]", re.ASCII)  # names are shown in text, CSV and pages


@dataclass(frozen=True)
class CallSite:
    """A place in a module. function: number of the one that was called there. offset: the return address as the
    module's own file knows it, which is what addr2line takes.
    """

    function: int
    module: str
    offset: int


def label(function: str, site: CallSite | None) -> str:
    """What is shown of a call: `MPI_Allreduce at lmp+0x53c1e`, or the function alone."""
    return f"{function} at {site.module}+{site.offset:#x}" if site else function


def read_sites(chunks: Sequence[bytes], n_functions: int) -> tuple[dict[int, CallSite], tuple[str, ...]]:
    """The places by number, and what was wrong in sentences."""
    return _read(tuple(chunk[:MAX_CHUNK] for chunk in chunks[:MAX_CHUNKS]), n_functions)


@lru_cache(maxsize=8)  # the ranks of one program have equal logs
def _read(chunks: tuple[bytes, ...], n_functions: int) -> tuple[dict[int, CallSite], tuple[str, ...]]:
    sites: dict[int, CallSite] = {}
    problems = []
    impossible = 0
    for chunk in chunks:
        starts, lengths, crcs, complaint = walk(chunk, 10 * HEAD + MAX_NAME, MAX_SITES)
        data = np.frombuffer(chunk, dtype=np.uint8)
        intact = prefix(varint.crc32c(data, starts, lengths) == crcs)
        if intact < starts.size or complaint:
            problems.append("the rest of a chunk of call sites dropped: damaged")
        for begin, length in zip(starts[:intact].tolist(), lengths[:intact].tolist(), strict=True):
            numbers, name = _split(chunk[begin : begin + length])
            number, function, offset, size = numbers
            possible = 0 < number <= MAX_SITES and function < n_functions and offset < MAX_OFFSET
            if not possible or not 0 < size == len(name):
                impossible += 1
            else:
                sites[number] = CallSite(function, _STRANGE.sub("?", name.decode("ascii", "replace")), offset)
    if impossible:
        problems.append(f"{impossible} call sites dropped: impossible content")
    return sites, tuple(problems)


def _split(record: bytes) -> tuple[list[int], bytes]:
    """The numbers of a record, zeros where it has fewer, and the bytes behind them."""
    numbers, left = [], iter(record)
    for _ in range(HEAD):
        numbers.append(_number(left))
    return numbers, bytes(left)


def _number(left: Iterator[int]) -> int:
    value = shift = 0
    for byte in left:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value
