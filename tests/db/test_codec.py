"""Arrays to bytes and back; damaged bytes are an error, never another array."""

import dataclasses
import json
import struct
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crosswind.db import DatabaseError
from crosswind.db.codec import decode_ints, decode_segments, encode_ints, encode_segments
from crosswind.profile.sections import Section, encode
from crosswind.profile.segments import SegmentTable
from support.profiles import make_segments

from .comparing import assert_same_segments

EXTREMES = [0, 1, -1, (1 << 63) - 1, -(1 << 63)]
ints = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(EXTREMES) | st.integers(0, 10)


@given(st.integers(0, 5), st.integers(0, 40), st.booleans(), st.data())
def test_integers_survive(processes, slices, smooth, data):
    flat = data.draw(st.lists(ints, min_size=processes * slices, max_size=processes * slices))
    values = np.array(flat, dtype=np.int64).reshape(processes, slices)
    back = decode_ints(encode_ints(values, smooth=smooth), values.shape)
    assert back.dtype == np.int64
    np.testing.assert_array_equal(back, values)
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=processes, max_size=processes)))
    for some in (rows, slice(1, 3)):
        part = decode_ints(encode_ints(values, smooth=smooth), values.shape, some)
        np.testing.assert_array_equal(part, values[some])


@given(st.binary(max_size=300))
def test_any_bytes_are_an_array_or_an_error(blob):
    for start in (b"", b"\x01", b"\x02"):
        with suppress(DatabaseError):
            assert decode_ints(start + blob, (4, 8)).shape == (4, 8)


def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = b"\x01" + zstandard.compress(bytes(1 << 28))
    with pytest.raises(DatabaseError, match="holds 268435456 bytes instead of 256"):
        decode_ints(bomb, (4, 8))


def test_wrong_shape_is_an_error():
    with pytest.raises(DatabaseError, match="damaged"):
        decode_ints(encode_ints(np.zeros((3, 5), dtype=np.int64)), (5, 4))


def test_segments_survive():
    table = make_segments(3, 50, 1_000_000, 20.0, {7: 30.0})
    table.valid[2, 40:] = False
    for name, column in table.columns.items():
        column[2, 40:] = 0 if name == "sig" else np.nan
    assert_same_segments(decode_segments(encode_segments(table)), table)


def test_the_mark_of_call_sites_survives():
    table = make_segments(2, 9, 0, 20.0, {})
    marked = dataclasses.replace(table, from_call_sites=np.arange(9) % 3 == 1)
    assert_same_segments(decode_segments(encode_segments(marked)), marked)


PLACES = ("MPI_Allreduce at lmp+0x53c1e", "MPI_Barrier")


def placed(n=9):
    """A table that says where calls ended its segments."""
    table = make_segments(2, n, 0, 20.0, {})
    return dataclasses.replace(table, closed_at=np.arange(n) % 3 - 1, places=PLACES, call_sites=PLACES[:1])


def test_the_calls_that_ended_segments_survive():
    table = placed()
    back = decode_segments(encode_segments(table))
    assert_same_segments(back, table)
    assert [back.closed_by(i) for i in range(4)] == ["", *PLACES, ""]


def test_what_a_table_lacks_takes_no_room():
    """So that what was loaded before there were places is still the same when it is loaded again."""
    plain = make_segments(2, 9, 0, 20.0, {})
    (length,) = struct.unpack_from("<I", encode_segments(plain))
    names = {entry["name"] for entry in json.loads(encode_segments(plain)[4 : 4 + length])}
    assert {name for name in names if not name.startswith("column/")} == {"index", "ranks", "stride", "valid"}


def test_places_that_there_are_not_are_not_known():
    table = placed()
    table.closed_at[:] = [-7, 0, 1, 2, 9, -1, 0, 1, 2]
    assert decode_segments(encode_segments(table)).closed_at.tolist() == [-1, 0, 1, -1, -1, -1, 0, 1, -1]


@pytest.mark.parametrize("texts", [b"[]", b"7", b'{"places": 3}', b'{"places": [1]}', b"\xff", b'{"places": {"a": 1}}'])
def test_odd_texts_are_errors(texts):
    with pytest.raises(DatabaseError):
        decode_segments(encode_arrays({"texts": np.frombuffer(texts, dtype=np.uint8)}))


def encode_arrays(more):
    """A table, with these arrays beside its own."""
    blob = encode_segments(make_segments(2, 9, 0, 20.0, {}))
    (length,) = struct.unpack_from("<I", blob)
    entries, data = json.loads(blob[4 : 4 + length]), blob[4 + length :]
    for name, array in more.items():
        section = Section(name, array.dtype.str, array.shape, ("zstd",))
        encoded = encode(section, array)
        entries.append({**section.to_json(), "size": len(encoded)})
        data += encoded
    listing = json.dumps(entries).encode()
    return struct.pack("<I", len(listing)) + listing + data


def test_no_segments_survive():
    some = make_segments(2, 5, 0, 20.0, {})
    table = SegmentTable(
        some.index[:0], some.ranks, {n: c[:, :0] for n, c in some.columns.items()}, some.valid[:, :0], some.stride[:0]
    )
    assert_same_segments(decode_segments(encode_segments(table)), table)


@given(at=st.integers(0, 3000), bits=st.integers(1, 255))
def test_damaged_segments_are_a_table_or_an_error(at, bits):
    blob = bytearray(encode_segments(placed(20)))
    blob[at % len(blob)] ^= bits
    with suppress(DatabaseError):
        table = decode_segments(bytes(blob))
        assert all(column.shape == table.valid.shape for column in table.columns.values())


@pytest.mark.parametrize("listing", ["[]", "{}", "7", "null", '[{"name": "index"}]', "[7]", '["size"]'])
def test_odd_listings_are_errors(listing):
    raw = json.dumps(json.loads(listing)).encode()
    with pytest.raises(DatabaseError):
        decode_segments(struct.pack("<I", len(raw)) + raw)
