"""Profiles compared array by array: what was loaded and what comes back."""

from dataclasses import fields

import numpy as np


def assert_same_profile(left, right):
    for name in (
        "job",
        "processes",
        "columns",
        "slice_ns",
        "first_slice",
        "n_slices",
        "clock",
        "lost",
        "mpi_functions",
    ):
        assert getattr(left, name) == getattr(right, name), name
    assert sorted(left.dropped_files) == sorted(right.dropped_files)
    np.testing.assert_array_equal(left.covered_ns, right.covered_ns)
    np.testing.assert_array_equal(left.partial, right.partial)
    for name in ("slices", "totals", "functions", "access"):
        a, b = (_not_zero(getattr(p, name)) for p in (left, right))
        assert a.keys() == b.keys(), name
        for key in a:
            np.testing.assert_array_equal(a[key], b[key], err_msg=f"{name} {key}")
    assert (left.segments is None) == (right.segments is None)
    if left.segments is not None:
        assert_same_segments(left.segments, right.segments)


def assert_same_segments(left, right):
    for field in fields(left):
        if field.name != "columns":
            np.testing.assert_array_equal(getattr(left, field.name), getattr(right, field.name), err_msg=field.name)
    assert left.columns.keys() == right.columns.keys()
    for name, column in left.columns.items():
        np.testing.assert_array_equal(column, right.columns[name], err_msg=name)


def _not_zero(arrays):
    return {name: values for name, values in arrays.items() if values.any()}
