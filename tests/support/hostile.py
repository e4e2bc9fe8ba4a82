"""Files that lie: mutations of good spool files, logs of short processes and profiles, with checksums put right again.

Blind changes are caught by a checksum; what is behind the checksums is reached by changing the content and signing it
anew.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from crosswind.profile import FormatError, read_profile, read_short_log, read_spool, summarize, write_profile
from crosswind.profile.dump import dump_json
from crosswind.profile.merge import merge_files
from support import segment_blocks, spools
from support.profiles import make_profile
from support.segment_blocks import SLOT_BYTES, Row, row_check
from support.spools import FIRST_SLICE, START_NS, START_TICK, Segment, Short, Slice, SpoolBuilder, Thread

KINDS = ("spool", "short", "profile")
SUFFIX = {"spool": ".xws", "short": ".xwl", "profile": ".xwp"}
EXTREME = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
PROFILE_PREFIX = struct.Struct("<8sIIII")


class Samples:
    """One good file of each kind, small, with something of everything in it."""

    def __init__(self, directory: Path) -> None:
        values = {"mpi_p2p_calls": 5, "mpi_p2p_bytes_out": 1 << 33, "cpu_time": 10**9, "rss": 1 << 30}
        fields = {"duration": 10**6, "p2p_time": 10**5, "cpu_time": 10**5, "coll_calls": 1, "instructions": 10**9}
        rows = [Row(9 + i, START_TICK + 10**7 + 10**6 * i, fields, signature=i % 2) for i in range(12)]
        block = segment_blocks.block(rows[:9], spools.HZ, {"duration": 11, "cpu_time": 11}, relative=["cpu_time"])
        self.builder = SpoolBuilder(
            version=2,
            blocks=[block, segment_blocks.block(rows[9:10], spools.HZ, {})],
            rows=rows[8:],
            slices=[Slice(FIRST_SLICE + i, values, offset_ns=-5) for i in range(6)],
            segments=[Segment(i, START_TICK + 10**6 * i, fields) for i in range(9)],
            slices_per_chunk=3,
            segments_per_chunk=5,
            threads=[Thread({"mpi_p2p": (40, 1 << 36, 3, 4)}, {"MPI_Send": (3, 4, 5, 6)}, call_group="mpi_wait")],
            state=spools.RUNNING,
            rank=0,
            ranks=2,
        )
        functions = {"read": (1, 2, 3, 4), "write": (5, 6, 7, 8)}
        shorts = [Short(f"exe{i % 2}", START_NS + i, 10**9, values, functions) for i in range(5)]
        write_profile(make_profile(n_segments=4, n_slices=5, killed_rank=1), directory / "sample.xwp")
        self.files = {
            "spool": self.builder.build(),
            "short": self.builder.build_short_log(shorts),
            "profile": (directory / "sample.xwp").read_bytes(),
        }

    def mutated(self, kind: str, rng: random.Random) -> bytes:
        """A hostile variant of the sample of a kind."""
        data = bytearray(self.files[kind])
        if kind == "profile":
            return change_profile(data, rng) if rng.random() < 0.9 else change_bytes(data, rng)
        start = rng.choice((0, 4096, behind_table(), behind_table(), behind_table()))
        data = bytearray(change_bytes(data, rng, start))
        if rng.random() < 0.7:
            sign_records(data, *(self.chunks_but(spools.THREADS) if kind == "spool" else [behind_table()]))
            sign_rows(data, *(self.chunks_of(spools.ROWS) if kind == "spool" else ()))
        return bytes(data)

    def chunks_but(self, other: int) -> list[int]:
        """Offsets of the chunks of the spool file that are of any other kind."""
        return [offset for offset, _, kind in self._chunks() if kind != other]

    def chunks_of(self, wanted: int) -> list[int]:
        """Offsets of the chunks of the kind."""
        return [offset for offset, _, kind in self._chunks() if kind == wanted]

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        (n,) = struct.unpack_from("<I", self.files["spool"], spools.N_CHUNKS_AT)
        return struct.iter_unpack("<QII", self.files["spool"][spools.N_CHUNKS_AT + 8 :][: 16 * n])


def behind_table() -> int:
    """Where the records of a log of short processes begin, and the first chunk of a spool file soon does."""
    return 4096 + len(spools.table_text())


def change_bytes(data: bytearray, rng: random.Random, start: int = 0) -> bytes:
    """Up to four changes behind `start`: a bit, a byte, a number of 4 or 8 bytes, a stretch copied or cut out."""
    for _ in range(rng.randint(1, 4)):
        if len(data) <= start + 8:
            break
        at = rng.randrange(start, len(data) - 8)
        what = rng.randrange(6)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.choice(EXTREME) & 0xFF
        elif what == 2:
            struct.pack_into("<I", data, at & ~3, rng.choice(EXTREME) & 0xFFFFFFFF)
        elif what == 3:
            struct.pack_into("<Q", data, at & ~7, rng.choice(EXTREME))
        elif what == 4:
            n = rng.randrange(1, 64)
            other = rng.randrange(start, len(data))
            data[at : at + n] = data[other : other + n]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def sign_records(data: bytearray, *offsets: int) -> None:
    """Put the checksums of all records right that begin at the offsets and follow one another."""
    for at in offsets:
        while at + 8 <= len(data):
            (length,) = struct.unpack_from("<I", data, at)
            if length == 0 or length > min(len(data) - at - 8, 4096):
                break
            struct.pack_into("<I", data, at + 4, spools.crc32c(bytes(data[at + 8 : at + 8 + length])))
            at += 8 + (length + 3) // 4 * 4


def sign_rows(data: bytearray, *offsets: int) -> None:
    """Put the checks of all rows right that begin at the offsets and are not empty."""
    for at in offsets:
        while at + SLOT_BYTES <= len(data) and any(data[at : at + SLOT_BYTES]):
            words = struct.unpack_from(f"<{SLOT_BYTES // 8}Q", data, at)
            struct.pack_into("<Q", data, at, row_check(words[1:]))
            at += SLOT_BYTES


def change_profile(data: bytearray, rng: random.Random) -> bytes:
    """Change a field of the header or a byte of a section, and sign both anew."""
    magic, version, length, _, zero = PROFILE_PREFIX.unpack_from(data)
    header = json.loads(data[PROFILE_PREFIX.size : PROFILE_PREFIX.size + length])
    body = bytearray(data[PROFILE_PREFIX.size + length :])
    if rng.random() < 0.7:
        _change_json(header, rng)
    else:
        body = bytearray(change_bytes(body, rng))
        for entry in header["sections"]:
            entry["crc32"] = zlib.crc32(body[entry["offset"] : entry["offset"] + entry["size"]])
    raw = json.dumps(header).encode()
    return PROFILE_PREFIX.pack(magic, version, len(raw), zlib.crc32(raw), zero) + raw + bytes(body)


def _change_json(value: object, rng: random.Random) -> None:
    """Replace, remove or double one value somewhere inside."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(value[key], dict | list) and rng.random() < 0.85:
        _change_json(value[key], rng)
    elif rng.random() < 0.2:
        del value[key]
    elif isinstance(value, list) and rng.random() < 0.2:
        value.append(value[key])
    else:
        value[key] = rng.choice(
            (*EXTREME, -1, 1.5, "", "x" * 5000, None, True, [], {}, [[]], float("nan"), "slices/rss")
        )


def try_file(path: Path, kind: str) -> str:
    """Read, merge, summarise, dump and store it. Returns what came of it; any other exception is a fault of ours."""
    try:
        if kind == "profile":
            profile = read_profile(path)
        else:
            file = read_spool(path) if kind == "spool" else read_short_log(path)
            profile = merge_files([file], now_ns=START_NS + 10**12)
        json.dumps(summarize(profile))
        for _ in dump_json(path):
            pass
        again = path.with_suffix(".again")
        write_profile(profile, again)
        read_profile(again)
    except FormatError as error:
        return "refused" if "\n" not in str(error) else "refused in several lines"
    return "read"
