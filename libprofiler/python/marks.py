"""Reading on: a file of a running process is followed by a mark, and only what was written behind it is read.

A mark says how far the slices of a file were read and what they came to, so that the counts beyond the last record (see
fold.py) can be told without the records before it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile import layout
from crosswind.profile.container import MAX_FILE, MAX_TABLE, check_header
from crosswind.profile.errors import FormatError
from crosswind.profile.layout import ChunkKind
from crosswind.profile.plain_file import open_plain
from crosswind.profile.records import LogPlace

__all__ = ["Mark", "read_since"]

_FOLLOWED = (ChunkKind.THREADS, ChunkKind.FILES)


@dataclass(frozen=True)
class Mark:
    """How far a file was read. inode: of the file. place: behind the last record. until_ns: UTC, its end. sums: int64
    [column], what the records came to; gauges: the largest value.
    """

    inode: int
    place: LogPlace
    until_ns: int
    sums: NDArray[np.int64]


def read_since(path: str | os.PathLike[str], mark: Mark) -> tuple[bytes, os.stat_result]:
    """A file with zeros where nothing behind the mark is: its header, its table, the counters of its threads and the
    slices that follow. Raises FormatError, also when it is another file than the one of the mark; OSError.
    """
    with open_plain(path, largest=MAX_FILE) as (file, status):
        if status.st_ino != mark.inode:
            raise FormatError(path, "is another file than before")
        data = bytearray(status.st_size)

        def read(begin: int, size: int) -> None:
            room = memoryview(data)[begin : begin + max(size, 0)]
            if room:
                os.preadv(file.fileno(), [room], begin)

        read(0, layout.HEADER_SIZE)
        header = check_header(bytes(data[: layout.HEADER_SIZE]), layout.MAGIC, path)
        read(int(header["table_offset"]), min(int(header["table_size"]), MAX_TABLE))
        n_logs = 0
        for offset, size, kind in header["chunk"][: min(int(header["n_chunks"]), layout.MAX_CHUNKS)].tolist():
            if offset > MAX_FILE:
                continue
            if kind in _FOLLOWED:
                read(offset, size)
            if kind == ChunkKind.SLICES:
                if n_logs >= mark.place.chunk:
                    behind = mark.place.offset if n_logs == mark.place.chunk else 0
                    read(offset + behind, size - behind)
                n_logs += 1
        return bytes(data), status
