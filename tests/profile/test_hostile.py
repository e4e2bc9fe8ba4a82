"""Hostile files: only a FormatError or a valid profile ever comes out, in bounded time."""

import collections
import json
import random
import struct
import time
import zlib

import numpy as np
import pytest
import zstandard

from crosswind.profile import FormatError, read_profile, write_profile
from support.hostile import KINDS, PROFILE_PREFIX, SUFFIX, Samples, try_file
from support.profiles import make_profile

SLOWEST_S = 5.0


@pytest.mark.parametrize("kind", KINDS)
def test_mutations(tmp_path, kind):
    samples, rng, path = Samples(tmp_path), random.Random(2024), tmp_path / f"hostile{SUFFIX[kind]}"
    outcomes = collections.Counter()
    for number in range(400):
        path.write_bytes(samples.mutated(kind, rng))
        began = time.monotonic()
        try:
            outcomes[try_file(path, kind)] += 1
        except Exception as error:
            pytest.fail(f"mutation {number} of kind {kind}: {error!r}")
        assert time.monotonic() - began < SLOWEST_S, f"mutation {number} took too long"
    assert outcomes["read"] > 40, "the mutations are too wild to reach what is behind the first checks"
    assert outcomes["refused"] > 40, "the mutations are too tame"


def rewrite(path, change):
    """Change the header of a profile file, and sign it."""
    data = path.read_bytes()
    magic, version, length, _, zero = PROFILE_PREFIX.unpack_from(data)
    header = json.loads(data[PROFILE_PREFIX.size : PROFILE_PREFIX.size + length])
    body = bytearray(data[PROFILE_PREFIX.size + length :])
    change(header, body)
    raw = json.dumps(header).encode()
    path.write_bytes(PROFILE_PREFIX.pack(magic, version, len(raw), zlib.crc32(raw), zero) + raw + bytes(body))


@pytest.fixture
def profile_file(tmp_path):
    path = tmp_path / "p.xwp"
    write_profile(make_profile(), path)
    return path


def test_a_bomb_is_refused_before_it_is_unpacked(profile_file):
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 28))

    def plant(header, body):
        entry = header["sections"][0]
        entry.update(offset=len(body), size=len(bomb), crc32=zlib.crc32(bomb))
        body += bomb

    rewrite(profile_file, plant)
    with pytest.raises(FormatError, match="holds 268435456 bytes instead of"):
        read_profile(profile_file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["sections"][0].update(shape=[1 << 39]), "too large"),
        (lambda h: h["sections"][0].update(dtype="|O8"), "unknown type"),
        (lambda h: h["sections"][0].update(filters=["zstd", "zstd"]), "unknown type or filters"),
        (lambda h: h["sections"][0].update(size=1 << 33), "outside the file"),
        (lambda h: h["sections"].append(h["sections"][0]), "there twice"),
        (lambda h: h["sections"].pop(0), "covered_ns is missing"),
        (lambda h: h.update(n_slices=3), "not <i8"),
        (lambda h: h.update(processes=h["processes"][:1]), "not <i8"),
        (lambda h: h["job"].update(id=7), "no usable id"),
        (lambda h: h["processes"][0].update(state="undead"), "unknown state"),
        (lambda h: h["columns"].append(h["columns"][0]), "names a column twice"),
        (lambda h: h["clock"].update(synchronised=float("inf")), "no usable synchronised"),
    ],
)
def test_an_impossible_header_is_refused(profile_file, change, message):
    rewrite(profile_file, lambda header, body: change(header))
    with pytest.raises(FormatError, match=message):
        read_profile(profile_file)


@pytest.mark.parametrize("size", [0, 5, 23, 24, 200, -1])
def test_a_cut_off_profile_is_refused(profile_file, size):
    profile_file.write_bytes(profile_file.read_bytes()[:size])
    with pytest.raises(FormatError):
        read_profile(profile_file)


def test_a_newer_format_is_refused_with_the_way_out(profile_file):
    data = bytearray(profile_file.read_bytes())
    struct.pack_into("<I", data, 8, 2)
    profile_file.write_bytes(data)
    with pytest.raises(FormatError, match="format version 2; this Crosswind reads up to version 1: update it"):
        read_profile(profile_file)


def test_what_a_later_version_adds_is_ignored(profile_file):
    before = read_profile(profile_file)

    def extend(header, body):
        header["colour"] = "green"
        header["job"]["mood"] = 3
        header["sections"].append(
            {"name": "spectra/x", "dtype": "<i8", "shape": [1], "filters": ["zstd"], "offset": 0, "size": 1, "crc32": 0}
        )

    rewrite(profile_file, extend)
    after = read_profile(profile_file)
    assert after.job == before.job
    np.testing.assert_array_equal(after.covered_ns, before.covered_ns)
