"""Rows and blocks of segments that were written apart from the library: what is read, and what is refused."""

import struct

import numpy as np
import pytest

from crosswind.profile import FormatError, layout, merge_spools, read_spool
from crosswind.profile.metrics import SEGMENT_FIELDS
from crosswind.profile.segment_blocks import LARGEST, read_block_chunk
from support import spools
from support.segment_blocks import SLOT_BYTES, Row, block, varint
from support.spools import Segment, SpoolBuilder, record

NAMES = [name for name, _, _ in SEGMENT_FIELDS]
UNITS = [unit for _, unit, _ in SEGMENT_FIELDS]
HZ = 10**9  # so that ticks are ns


def make_rows(n, world=100, **changes):
    rng = np.random.default_rng(world)
    rows = []
    for i in range(n):
        p2p, coll, rest = (int(v) for v in rng.integers(1, 10**6, 3))
        values = {"duration": p2p + coll + rest, "p2p_time": p2p, "coll_time": coll, "cpu_time": rest + 3}
        values |= {"coll_calls": 1, "coll_bytes": int(rng.integers(1 << 40)), "instructions": 17}
        rows.append(Row(world + i, 10**12 + 10**6 * i, values, signature=i % 3, function=i % 2, **changes))
    return rows


def read(*payloads, n_functions=5, most_rows=10**6):
    chunk = b"".join(map(record, payloads)) + bytes(16)
    return read_block_chunk(chunk, UNITS, NAMES, n_functions, most_rows)


def test_blocks_of_any_size_side_by_side():
    groups = [make_rows(n, world=1000 * i) for i, n in enumerate((1, 2, 9, 100, 254))]
    log, problems = read(*(block(rows, HZ, {}, relative=["cpu_time"]) for rows in groups))
    assert problems == []
    rows = [row for group in groups for row in group]
    assert log.begin.tolist() == [row.position for row in rows]
    assert log.end.tolist() == [row.position + (1 << 31) for row in rows]
    assert log.signature.tolist() == [row.signature for row in rows]
    assert log.function.tolist() == [row.function for row in rows]
    assert log.values.tolist() == [[row.values.get(name, 0) for name in NAMES] for row in rows]
    assert log.block.tolist() == [i for i, group in enumerate(groups) for _ in group]
    first = np.cumsum([0, *map(len, groups)])
    for i, group in enumerate(groups):
        duration = [row.values["duration"] for row in group]
        expected = group[0].start_tick + np.cumsum([0, *duration[:-1]])
        expected[-1] -= 5 if len(group) > 2 else 0  # the correction that the builder puts in
        assert log.begin_tick[first[i] : first[i + 1]].tolist() == expected.tolist()


def test_positions_count_collectives_of_the_world_and_call_sites_between_them():
    spans = [(0, 1), (0, 1), (1, 0), (0, 5), (2, 3), (0, 1), (4, 0)]
    rows, world, site = [], 7, 2
    for worlds, sites in spans:
        rows.append(Row(world, 10**9, {"duration": 10}, site=site, worlds=worlds, sites=sites))
        world, site = world + worlds, sites + (0 if worlds else site)
    log, problems = read(block(rows, HZ, {}))
    assert problems == []
    positions = [row.position for row in rows] + [world << 31 | site]
    assert log.begin.tolist() == positions[:-1]
    assert log.end.tolist() == positions[1:]
    assert log.count.tolist() == [worlds + sites for worlds, sites in spans]


@pytest.mark.parametrize("precision", [1, 5, 7, 11, 20, 63])
def test_values_are_rounded_to_their_precision(precision):
    rows = make_rows(200)
    log, problems = read(block(rows, HZ, {"coll_bytes": precision, "p2p_calls": precision}))
    assert problems == []
    exact = np.array([row.values["coll_bytes"] for row in rows])
    found = log.values[:, NAMES.index("coll_bytes")]
    assert np.all(np.abs(found - exact) <= exact * 2.0**-precision)  # the builder rounds down
    assert np.any(found != exact) == (precision < 39)


def change_numbers(payload, change):
    """The payload with other numbers in front of its bits."""
    (size,) = struct.unpack_from("<I", payload)
    numbers = change(payload[4 : 4 + size])
    return struct.pack("<I", len(numbers)) + numbers + payload[4 + size :]


@pytest.mark.parametrize(
    "hostile",
    [
        lambda p: p[:4],
        lambda p: p[:20],
        lambda p: p[:-1],
        lambda p: struct.pack("<I", 1 << 31) + p[4:],
        lambda p: change_numbers(p, lambda n: varint(1 << 40) + n[1:]),
        lambda p: change_numbers(p, lambda n: varint(0) + n[1:]),
        lambda p: change_numbers(p, lambda n: varint(1000) + n[1:]),
        lambda p: block(make_rows(255), HZ, {}),
        lambda p: change_numbers(p, lambda n: n[:1] + varint((1 << 64) - 1) + n[1:]),
        lambda p: change_numbers(p, lambda n: n[:-1]),
        lambda p: change_numbers(p, lambda n: n[:30]),
        lambda p: change_numbers(p, lambda n: n[:1] + bytes([0x80]) * 40 + n[1:]),
    ],
)
def test_an_impossible_block_is_left_out_alone(hostile):
    good = block(make_rows(9), HZ, {})
    log, problems = read(block(make_rows(5, 50), HZ, {}), hostile(good), block(make_rows(3, 500), HZ, {}))
    assert problems == ["1 segment blocks dropped: impossible content"]
    assert (log.begin >> 31).tolist() == [*range(50, 55), *range(500, 503)]


def test_a_damaged_block_ends_what_is_read_of_its_chunk():
    chunk = bytearray(b"".join(record(block(make_rows(5, w), HZ, {})) for w in (10, 20, 30)))
    chunk[len(chunk) // 2] ^= 1
    log, problems = read_block_chunk(bytes(chunk), UNITS, NAMES, 5, 10**6)
    assert problems == ["2 segment blocks dropped: wrong checksum"]
    assert (log.begin >> 31).tolist() == list(range(10, 15))


def test_more_rows_than_a_file_may_have_are_not_unpacked():
    log, problems = read(*(block(make_rows(9, w), HZ, {}) for w in (100, 200, 300)), most_rows=20)
    assert len(log) == 18
    assert problems == ["segment blocks dropped: too many rows"]


def spool_file(tmp_path, rows, blocks=()):
    return read_spool(SpoolBuilder(version=2, rows=rows, blocks=blocks, rank=0, ranks=1).write(tmp_path))


def test_rows_follow_the_blocks(tmp_path):
    rows = make_rows(12)
    in_block, left_over, open_versions, closed = rows[:9], rows[4:8], [rows[11]], rows[9:11]
    older = Row(rows[11].world, rows[11].start_tick, {"duration": 3}, worlds=1)
    newer = Row(rows[11].world, rows[11].start_tick, {"duration": 7}, worlds=2)
    slots = [*closed, *left_over, newer, older, *open_versions]
    file = spool_file(tmp_path, slots, [block(in_block, HZ, {})])
    assert file.problems == ()
    assert (file.segments.begin >> 31).tolist() == list(range(100, 112))
    assert file.segments.end[-1] >> 31 == 113
    assert file.segments.values[-1, 0] == 7
    assert file.segments.block.tolist() == [0] * 9 + [-1] * 3


def test_a_torn_row_is_none(tmp_path):
    path = SpoolBuilder(version=2, rows=make_rows(4), rank=0, ranks=1).write(tmp_path)
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<Q", 101 << 31))
    for word in range(SLOT_BYTES // 8 - 1):
        torn = bytearray(data)
        torn[at + 8 * word] ^= 1
        path.write_bytes(torn)
        assert (read_spool(path).segments.begin >> 31).tolist() == [100, 102, 103]


def test_impossible_rows_are_none(tmp_path):
    bad = [
        Row(1 << 32, 10**9, {}),
        Row((1 << 32) - 1, 10**9, {}),
        Row(5, 1 << 63, {}),
        Row(6, 10**9, {}, function=len(spools.FUNCTIONS)),
        Row(7, 10**9, {}, worlds=0),
        Row(8, 10**9, {}, site=1 << 30, worlds=0, sites=1 << 30),
    ]
    good = Row(9, 10**9, {"io_bytes": (1 << 64) - 1})
    segments = spool_file(tmp_path, [*bad, good]).segments
    assert (segments.begin >> 31).tolist() == [9]
    assert segments.values[0, -1] == 1 << 59


def test_without_functions_no_segment_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "FUNCTIONS", ())
    rows = [Row(i, 10**9 + i, {"duration": 1}, function=0) for i in range(9)]
    segments = [Segment(i, 10**9 + i, {"duration": 1}, function=0) for i in range(9)]
    builder = SpoolBuilder(version=2, rows=rows, blocks=[block(rows[:5], HZ, {})], segments=segments, rank=0, ranks=1)
    path = builder.write(tmp_path)
    assert len(read_spool(path).segments) == 0
    assert merge_spools([path]).segments is None
    assert len(read(block(make_rows(5), HZ, {}), n_functions=0)[0]) == 0


def test_more_segment_fields_than_any_library_has_are_refused(tmp_path, monkeypatch):
    more = [(f"more_{i}", "bytes", "") for i in range(64 - len(NAMES))]
    monkeypatch.setattr(spools, "SEGMENT_FIELDS", [*SEGMENT_FIELDS, *more])
    assert len(read_spool(SpoolBuilder().write(tmp_path)).table.segment_fields) == 64
    monkeypatch.setattr(spools, "SEGMENT_FIELDS", [*SEGMENT_FIELDS, *more, ("one_more", "bytes", "")])
    with pytest.raises(FormatError, match="too many segment fields"):
        read_spool(SpoolBuilder().write(tmp_path))


def test_chunks_that_lie_over_others_are_left_out(tmp_path):
    """96 entries for one chunk of blocks: what is in it counts once."""
    path = SpoolBuilder(version=2, blocks=[block(make_rows(254), HZ, {})], rank=0, ranks=1).write(tmp_path)
    data = bytearray(path.read_bytes())
    entries, size = spools.N_CHUNKS_AT + 8, layout.CHUNK.itemsize
    (n,) = struct.unpack_from("<I", data, spools.N_CHUNKS_AT)
    for i in range(n, layout.MAX_CHUNKS):
        data[entries + size * i : entries + size * (i + 1)] = data[entries + size * (n - 1) : entries + size * n]
    struct.pack_into("<I", data, spools.N_CHUNKS_AT, layout.MAX_CHUNKS)
    path.write_bytes(data)
    file = read_spool(path)
    assert len(file.segments) == 254
    assert file.problems == (f"{layout.MAX_CHUNKS - n} chunks that lie over others left out",)


def test_times_that_were_cut_off_stay_so():
    rows = make_rows(6)
    for name in ("p2p_time", "cpu_time"):
        rows[3].values[name] = LARGEST
    rows[3].values["duration"] = 2 * LARGEST  # the builder takes the times in calls off
    log, problems = read(block(rows, 2 * HZ, {}))
    assert problems == []
    cut_off = log.values == LARGEST
    assert sorted(np.array(NAMES)[cut_off[3]]) == ["cpu_time", "duration", "p2p_time"]
    assert not cut_off[[0, 1, 2, 4, 5]].any()
