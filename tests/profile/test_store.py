"""The profile file: what is written is what is read."""

import dataclasses
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crosswind.profile import FormatError, SegmentTable, read_profile, write_profile
from support.profiles import make_lammps, make_profile, make_writer


def assert_same(a, b):
    """Two values made of dataclasses, arrays, tuples and dicts are equal, to the bit."""
    if dataclasses.is_dataclass(a):
        for f in dataclasses.fields(a):
            assert_same(getattr(a, f.name), getattr(b, f.name))
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    else:
        assert a == b


@pytest.mark.parametrize(
    "profile",
    [
        make_lammps(),
        make_writer(),
        make_profile(killed_rank=1, n_segments=10),
        make_profile(n_slices=0, rates={}, functions={}),
    ],
)
def test_round_trip(tmp_path, profile):
    path = tmp_path / "p.xwp"
    write_profile(profile, path)
    assert_same(read_profile(path), profile)


extreme = st.sampled_from([0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63)])


@settings(max_examples=60)
@given(data=st.data(), n=st.integers(0, 5), s=st.integers(0, 7))
def test_round_trip_of_any_numbers(tmp_path_factory, data, n, s):
    ints = st.one_of(extreme, st.integers(-(2**63), 2**63 - 1))
    floats = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 10**9).map(lambda v: v / 1000))
    base = make_profile(n_ranks=2, n_slices=s)
    values = data.draw(arrays(np.int64, (2, s), elements=ints))
    valid = data.draw(arrays(np.bool_, (3, n)))
    table = SegmentTable(
        index=np.arange(n, dtype=np.int64),
        ranks=np.array([0, 2, 9], dtype=np.int64),
        columns={
            "dur_us": np.where(valid, data.draw(arrays(np.float64, (3, n), elements=floats)), np.nan),
            "sig": data.draw(arrays(np.uint64, (3, n))),
        },
        valid=valid,
        stride=np.ones(n, dtype=np.int64),
        from_call_sites=data.draw(arrays(np.bool_, n)),
        call_sites=tuple(data.draw(st.lists(st.text(max_size=20), max_size=3))),
    )
    profile = dataclasses.replace(base, slices={"cpu_time": values} if values.any() else {}, segments=table)
    path = tmp_path_factory.mktemp("any") / "p.xwp"
    write_profile(profile, path)
    assert_same(read_profile(path), profile)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "p.xwp"
    write_profile(make_writer(), path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_profile(make_lammps(), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.xwp"]


def test_the_file_obeys_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_profile(make_writer(), tmp_path / "p.xwp")
    finally:
        os.umask(old)
    assert (tmp_path / "p.xwp").stat().st_mode & 0o777 == 0o640


def test_a_day_of_a_process_is_small(tmp_path):
    """The goal of the design is 1 MB a process and day; a noisy LAMMPS-like day in the profile is below it."""
    path = tmp_path / "day.xwp"
    write_profile(make_profile(n_slices=21_600, n_ranks=2, jitter=0.05), path)
    assert path.stat().st_size / 2 < 2_000_000


def test_what_is_no_profile_is_refused(tmp_path):
    path = tmp_path / "no.xwp"
    path.write_text("seg,rank,dur_us\n")
    with pytest.raises(FormatError, match=r"no\.xwp: is not a Crosswind profile"):
        read_profile(path)
    with pytest.raises(FileNotFoundError):
        read_profile(tmp_path / "absent.xwp")
