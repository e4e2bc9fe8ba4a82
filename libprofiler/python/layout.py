"""The structures of libprofiler/format.h, for NumPy. tests/profile/test_layout.py compares them with the compiler's."""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

__all__ = [
    "CHUNK", "HEADER", "HEADER_SIZE", "MAGIC", "MAX_CHUNKS", "QUAD_FIELDS", "ROW_HEAD", "ROW_WEIGHT", "SHORT_MAGIC",
    "SHORT_VERSION", "THREAD_HEAD", "VERSION", "ChunkKind", "SliceFlag", "SlotState", "State", "TickSource",
]  # fmt: skip

MAGIC = b"XWSPOOL\0"
SHORT_MAGIC = b"XWSHORT\0"
VERSION = 3
SHORT_VERSION = 2
HEADER_SIZE = 4096
MAX_CHUNKS = 96
QUAD_FIELDS = ("calls", "bytes_out", "bytes_in", "ticks")


class ChunkKind(IntEnum):
    """What a chunk holds."""

    THREADS = 1
    SLICES = 2
    SEGMENTS = 3
    FILES = 4
    ROWS = 5
    BLOCKS = 6
    SITES = 7


class State(IntEnum):
    """How the process ended, as far as it could say so itself."""

    RUNNING = 1
    CLEAN = 2
    EXITED = 3


class TickSource(IntEnum):
    """Which clock the wrappers read."""

    MONOTONIC = 0
    CYCLES = 1
    OFF = 2


class SlotState(IntEnum):
    """State of a thread block."""

    FREE = 0
    USED = 1
    RETIRED = 2
    SHARED = 3
    TAKEN = 4


class SliceFlag(IntFlag):
    """Flags of a slice record."""

    FIRST = 1
    LAST = 2
    UNSYNCHRONISED = 4
    GAP = 8


CHUNK = np.dtype([("offset", "<u8"), ("size", "<u4"), ("kind", "<u4")], align=True)
INSTANT = np.dtype([("real_ns", "<u8"), ("mono_ns", "<u8"), ("tick", "<u8")], align=True)
HEADER = np.dtype(
    [
        ("magic", "V8"),
        ("version", "<u4"),
        ("header_size", "<u4"),
        ("table_offset", "<u4"),
        ("table_size", "<u4"),
        ("block_size", "<u4"),
        ("n_groups", "<u4"),
        ("n_functions", "<u4"),
        ("n_columns", "<u4"),
        ("n_lost", "<u4"),
        ("state", "<u4"),
        ("pid", "<u4"),
        ("parent_pid", "<u4"),
        ("uid", "<u4"),
        ("rank", "<i4"),
        ("ranks", "<i4"),
        ("tick_source", "<u4"),
        ("tick_hz", "<u8"),
        ("slice_ns", "<u8"),
        ("start_ticks", "<u8"),
        ("start", INSTANT),
        ("end", INSTANT),
        ("lost", "<u8", (16,)),
        ("boot_id", "S40"),
        ("host", "S64"),
        ("exe", "S64"),
        ("job_id", "S64"),
        ("step_id", "S64"),
        ("mpi", "S64"),
        ("counters", "S128"),
        ("n_chunks", "<u4"),
        ("reserved", "<u4"),
        ("chunk", CHUNK, (MAX_CHUNKS,)),
        ("omp_num_threads", "S32"),  # this and what follows: zeros in files of older libraries
        ("pid_namespace", "<u8"),
    ],
    align=True,
)
THREAD_HEAD = np.dtype(
    [
        ("tid", "<u4"),
        ("state", "<u4"),
        ("call_since", "<u8"),
        ("call_group", "<u4"),
        ("call_function", "<u4"),
        ("io_seen", "<u8"),
        ("inside_calls", "<u8"),
        ("inside_bytes", "<u8"),
        ("site_hash", "<u8"),
        ("reserved", "<u8"),
    ],
    align=True,
)
ROW_WEIGHT = 0x9E3779B97F4A7C15
ROW_HEAD = np.dtype(
    [
        ("check", "<u8"),
        ("position", "<u8"),
        ("worlds", "<u4"),
        ("sites", "<u4"),
        ("start_tick", "<u8"),
        ("call", "<u4"),
        ("signature", "<u4"),
    ],
    align=True,
)
