"""How the slices of a job are cut into blocks, and what is stored of each. Pure: arrays in, rows out, and back.

    slice      first_slice        a multiple of the width              first_slice + n_slices
               |------- block -------|------- block -------|--- block ---|

All frames of a block, its coverage and its summary carry the begin of its first slice. Wide jobs have narrow blocks, so
that the open block of a running job is cheap to write again, and a zoom reads little. A block says itself how many
slices it has, and processes: one that a job's first blocks do not have came later, and did nothing there. Databases of
schemas before 0010 have one block a job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.db import codec
from crosswind.db.summaries import Block, Summarize, Summary, summary_of
from crosswind.profile.model import Profile
from crosswind.profile.sections import Rows

__all__ = ["BlockRows", "Span", "assembled", "block_rows", "cut", "width_of"]

_CELLS = 1 << 17  # processes times slices of a block, at most but for the narrowest
_NARROWEST, _WIDEST = 64, 4096

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Span:
    """Which slices, counted from the epoch in slices of the job, and of how many processes a block is."""

    first_slice: int
    n_slices: int
    n_processes: int


@dataclass(frozen=True)
class BlockRows:
    """A block as it is stored. frames: by metric, those that are not zero everywhere in it. summary: None for a job of
    so few processes that its frames are read as fast.
    """

    span: Span
    coverage: bytes
    frames: dict[str, bytes]
    summary: Summary | None
    digest: str


def width_of(n_processes: int) -> int:
    """How many slices a block of so many processes has, a power of two."""
    width = _WIDEST
    while width > _NARROWEST and width * n_processes > _CELLS:
        width //= 2
    return width


def cut(first_slice: int, n_slices: int, n_processes: int) -> Iterator[Span]:
    """The blocks of some slices. All but the first begin at a multiple of their width."""
    width, at, end = width_of(n_processes), first_slice, first_slice + n_slices
    while at < end:
        until = min((at // width + 1) * width, end)
        yield Span(at, until - at, n_processes)
        at = until


def block_rows(
    profile: Profile, summarize: Summarize | None = None, goes_on_before: bool = False
) -> tuple[BlockRows, ...]:
    """The blocks of a profile. summarize: what makes the series of one; None: they are left out. goes_on_before: these
    are the last slices of the job.
    """
    ranks = np.array([process.rank is not None for process in profile.processes], dtype=np.bool_)
    gauges = frozenset(column.name for column in profile.columns if column.kind == "gauge")
    end = profile.first_slice + profile.n_slices
    rows = []
    for span in cut(profile.first_slice, profile.n_slices, len(profile.processes)):
        at = span.first_slice - profile.first_slice
        here = slice(at, at + span.n_slices)
        values = {name: array[:, here] for name, array in sorted(profile.slices.items())}
        alive = {name: array for name, array in values.items() if array.any()}
        ends = (goes_on_before or at > 0, span.first_slice + span.n_slices < end)
        block = Block(alive, profile.covered_ns[:, here], ranks, profile.slice_ns, ends)
        rows.append(_rows(span, block, gauges, summarize))
    return tuple(rows)


def _rows(span: Span, block: Block, gauges: Collection[str], summarize: Summarize | None) -> BlockRows:
    coverage = codec.encode_ints(block.covered_ns)
    frames = {name: codec.encode_ints(array, smooth=name in gauges) for name, array in block.values.items()}
    return BlockRows(span, coverage, frames, summary_of(block, summarize), _digest(span, coverage, frames))


def _digest(span: Span, coverage: bytes, frames: Mapping[str, bytes]) -> str:
    state = hashlib.blake2b(digest_size=16)
    state.update(f"{span.first_slice} {span.n_slices} {span.n_processes}\0".encode())
    for name, blob in (("", coverage), *frames.items()):
        state.update(f"{name}\0{len(blob)}\0".encode() + blob)
    return state.hexdigest()


def assembled(
    blobs: Mapping[Span, bytes | None], n_processes: int, first_slice: int, n_slices: int, rows: Rows | None = None
) -> Ints:
    """Int64 [process, slice] of some slices from the blocks that overlap them; None, and what is in no block: zeros.
    rows: only these processes, in ascending order.

    Raises DatabaseError for a block that holds something else than it should.
    """
    wanted = np.arange(n_processes)[slice(None) if rows is None else rows]
    out: Ints | None = None
    for span, blob in blobs.items():
        begin = max(span.first_slice, first_slice)
        end = min(span.first_slice + span.n_slices, first_slice + n_slices)
        if blob is None or begin >= end:
            continue
        there = wanted[: np.searchsorted(wanted, span.n_processes)]
        few = None if there.size == span.n_processes else there
        values = codec.decode_ints(blob, (span.n_processes, span.n_slices), few)
        part = values[:, begin - span.first_slice : end - span.first_slice]
        if part.shape == (wanted.size, n_slices):
            return part
        if out is None:
            out = np.zeros((wanted.size, n_slices), dtype=np.int64)
        out[: there.size, begin - first_slice : end - first_slice] = part
    return np.zeros((wanted.size, n_slices), dtype=np.int64) if out is None else out
