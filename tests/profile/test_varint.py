"""Checksums and numbers of many records at once, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.profile import varint
from support import spools


def spread(payloads):
    """The payloads as records of a chunk: bytes, starts, lengths."""
    data, starts = b"", []
    for payload in payloads:
        starts.append(len(data) + 8)
        data += bytes(8) + payload + bytes(-len(payload) % 4)
    lengths = np.array([len(p) for p in payloads], dtype=np.int64)
    return np.frombuffer(data, dtype=np.uint8), np.array(starts, dtype=np.int64), lengths


def test_the_check_value_of_crc32c():
    data = np.frombuffer(b"123456789", dtype=np.uint8)
    assert varint.crc32c(data, np.array([0]), np.array([9])).tolist() == [0xE3069283]
    assert spools.crc32c(b"123456789") == 0xE3069283


@given(st.lists(st.binary(min_size=1, max_size=90), max_size=60))
def test_checksums(payloads):
    assert varint.crc32c(*spread(payloads)).tolist() == [spools.crc32c(p) for p in payloads]


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12), max_size=40))
def test_numbers(records):
    numbers = varint.decode(*spread([b"".join(map(spools.varint, r)) for r in records]))
    assert numbers.good.all()
    found = [numbers.values[f : f + c].tolist() for f, c in zip(numbers.first, numbers.count, strict=True)]
    assert found == records
    ends = [numbers.end[f : f + c].tolist() for f, c in zip(numbers.first, numbers.count, strict=True)]
    assert ends == [np.cumsum([len(spools.varint(v)) for v in r]).tolist() for r in records]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_signed_numbers(values):
    numbers = varint.decode(*spread([b"".join(map(spools.svarint, values)) + b"\0"]))
    assert varint.unzigzag(numbers.values)[:-1].tolist() == values


@pytest.mark.parametrize(
    ("payload", "good"),
    [
        (b"\x80", False),  # cut off
        (b"\xff" * 9 + b"\x01", True),
        (b"\xff" * 9 + b"\x02", False),  # 65 bits
        (b"\x80" * 10 + b"\x00", False),  # 11 bytes
        (b"\x85\x80\x00", True),  # padded
    ],
)
def test_impossible_numbers_spoil_their_record_only(payload, good):
    numbers = varint.decode(*spread([b"\x01\x02", payload, b"\x03"]))
    assert numbers.good.tolist() == [True, good, True]
    assert numbers.values[numbers.first[2]] == 3
    assert numbers.count.tolist()[::2] == [2, 1]
