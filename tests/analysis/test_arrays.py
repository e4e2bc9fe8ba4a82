"""Shared reductions against NumPy's own, group by group and column by column."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crosswind.analysis import arrays
from crosswind.analysis.errors import InputError

matrices = hnp.arrays(
    float,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.one_of(st.integers(-50, 50).map(float), st.just(np.nan)),
)


@given(hnp.arrays(float, st.integers(1, 40), elements=st.floats(-1e9, 1e9)))
def test_median_is_numpys(values):
    before = values.copy()
    assert arrays.median(values) == np.median(values)
    assert np.array_equal(values, before)


@given(matrices)
def test_median_over_rows_is_nanmedian(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nanmedian warns of columns without numbers
        expected = np.nanmedian(values, axis=0)
    assert np.array_equal(arrays.median_over_rows(values), expected, equal_nan=True)


def test_median_over_rows_across_blocks(monkeypatch):
    monkeypatch.setattr(arrays, "_BLOCK_VALUES", 10)
    values = np.random.default_rng(3).random((4, 101))
    assert np.allclose(arrays.median_over_rows(values), np.median(values, axis=0))


def test_no_rows_have_no_median():
    assert np.isnan(arrays.median_over_rows(np.zeros((0, 3)))).all()
    assert arrays.median_over_rows(np.zeros((3, 0))).size == 0


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 100)), min_size=1, max_size=50),
    st.sampled_from([0, 0.05, 0.5, 1]),
)
def test_group_statistics_equal_numpy_per_group(members, q):
    names = sorted({name for name, _ in members})
    labels = np.array([names.index(name) for name, _ in members])
    values = np.array([float(value) for _, value in members])
    groups = arrays.Grouping.of(labels)
    parts = [values[labels == i] for i in range(len(names))]
    assert np.allclose(groups.quantile(values, q), [np.quantile(part, q) for part in parts])
    medians = groups.median(values)
    assert np.allclose(groups.mad(values, medians), [np.median(np.abs(part - np.median(part))) for part in parts])
    assert np.allclose(groups.sum(values), [part.sum() for part in parts])
    assert groups.first().tolist() == [int(np.flatnonzero(labels == i)[0]) for i in range(len(names))]


def test_labels_must_be_dense():
    with pytest.raises(InputError, match="dense"):
        arrays.Grouping.of(np.array([0, 2]))
    with pytest.raises(InputError, match="negative"):
        arrays.Grouping.of(np.array([-1, 0]))


def test_no_members_no_groups():
    groups = arrays.Grouping.of(np.zeros(0, dtype=np.int64))
    assert groups.n_groups == 0
    assert groups.median(np.zeros(0)).size == 0
