"""How much a spool file holds, and what that makes in a day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosswind.profile import layout, read_spool

SLICES_PER_DAY = 21600
LEVEL_BYTES = 512 << 10
"""libprofiler/segment_store.c: after so many bytes of blocks each further row covers twice as many segments."""


@dataclass(frozen=True)
class SpoolGrowth:
    """One process's spool file: bytes that are there from the start, and bytes that each day adds (4 s slices).

    segment_bytes: of a row in a block. segments: rows, in blocks or not; all of the first level, so each is a segment.
    """

    fixed_bytes: int
    slice_bytes: float
    slices: int
    segment_bytes: float
    segments: int
    segments_per_day: float

    def slices_per_day(self) -> float:
        """Bytes of a day's slices."""
        return self.slice_bytes * SLICES_PER_DAY

    def per_day(self) -> float:
        """Bytes after one day: the fixed part, the slices, and the segments as they are thinned out."""
        return self.fixed_bytes + self.slices_per_day() + self.segments_of_a_day()

    def segments_of_a_day(self) -> float:
        """Bytes of a day's blocks: n levels of R rows cover R (2^n - 1) segments."""
        levels = np.log2(self.segments_per_day * self.segment_bytes / LEVEL_BYTES + 1)
        return float(min(self.segments_per_day * self.segment_bytes, levels * LEVEL_BYTES))

    def text(self) -> str:
        """What it is made of."""
        slices = f"{self.slices} slices of {self.slice_bytes:.0f} B"
        return f"{slices}, {self.segments} segments of {self.segment_bytes:.1f} B, {self.fixed_bytes} B fixed"


def spool_growth(path: Path) -> SpoolGrowth:
    """Measure a finished process's spool file."""
    spool = read_spool(path)
    data = path.read_bytes()
    header = np.frombuffer(data, layout.HEADER, count=1)[0]
    chunks = header["chunk"][: header["n_chunks"]]
    slices, slice_total = _log(data, chunks, layout.ChunkKind.SLICES)
    _, block_total = _log(data, chunks, layout.ChunkKind.BLOCKS)
    segments, in_blocks = len(spool.segments), int(np.count_nonzero(spool.segments.block >= 0))
    fixed_kinds = (layout.ChunkKind.THREADS, layout.ChunkKind.ROWS)
    fixed = sum(int(chunk["size"]) for chunk in chunks if chunk["kind"] in fixed_kinds)
    wall_s = (spool.end.mono_ns - spool.start.mono_ns) * 1e-9 if spool.end else float("nan")
    return SpoolGrowth(
        fixed_bytes=layout.HEADER_SIZE + int(header["table_size"]) + fixed,
        slice_bytes=slice_total / max(slices, 1),
        slices=slices,
        segment_bytes=block_total / max(in_blocks, 1),
        segments=segments,
        segments_per_day=segments / wall_s * 86400,
    )


def _log(data: bytes, chunks: np.ndarray, kind: layout.ChunkKind) -> tuple[int, int]:
    """Number of records in all chunks of a kind and their bytes, with length, checksum and padding."""
    records = total = 0
    for chunk in chunks[chunks["kind"] == kind]:
        at, end = int(chunk["offset"]), int(chunk["offset"]) + int(chunk["size"])
        while at + 8 <= end and (length := int.from_bytes(data[at : at + 4], "little")):
            size = (8 + length + 3) // 4 * 4
            records, total, at = records + 1, total + size, at + size
    return records, total
