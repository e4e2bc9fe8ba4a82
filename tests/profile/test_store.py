"""The profile file: what is written is what is read."""

import dataclasses

import numpy as np

from crosswind.profile import read_profile, write_profile
from support.profiles import make_lammps, make_profile, make_writer


def assert_same(a, b):
    """Two values made of dataclasses, arrays, tuples and dicts are equal."""
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


def test_round_trip(tmp_path):
    for i, profile in enumerate((make_lammps(), make_writer(), make_profile(killed_rank=1, n_segments=10))):
        path = tmp_path / f"{i}.xwp"
        write_profile(profile, path)
        assert_same(read_profile(path), profile)
        print(path.stat().st_size)
