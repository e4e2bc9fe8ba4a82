"""Clusters against the thesis's worked examples (figures 5.3, 5.5, 5.6) and against its algorithm spelt out."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.analysis.clustering import exact_groups, hybrid_clusters, relative_distance_clusters
from crosswind.analysis.errors import InputError

# Figure 5.3 gives distances, not values: 2 -> 4 is 106, 3 -> 6 is 191. Values of that kind, segments 1 to 6:
FLOP = np.array([200.0, 214.0, 2_400.0, 320.0, 1_000.0, 2_591.0])


def partition(labels):
    """The clusters as a set of sets of segment numbers from 1."""
    return {frozenset(np.flatnonzero(labels == label) + 1) for label in np.unique(labels)}


def absolute_distance_clusters(values, threshold):
    """What the figure compares with."""
    order = np.argsort(values)
    labels = np.empty(values.size, dtype=int)
    labels[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) >= threshold)])
    return labels


def clusters_step_by_step(values, threshold):
    """The algorithm as section 5.1.1 tells it, one value after the other."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    labels = [0] * len(values)
    label = 0
    for previous, this in itertools.pairwise(order):
        low, high = values[previous], values[this]
        distance = 0.0 if high == low else float("inf") if low == 0 else high / low - 1
        label += not distance < threshold
        labels[this] = label
    return labels


def test_figure_5_3_relative_distance_groups_like_an_observer():
    assert FLOP[3] - FLOP[1] == 106
    assert FLOP[5] - FLOP[2] == 191
    assert partition(relative_distance_clusters(FLOP)) == {
        frozenset({1, 2}), frozenset({3, 6}), frozenset({4}), frozenset({5}),
    }  # fmt: skip


def test_figure_5_3_no_absolute_distance_does():
    assert partition(absolute_distance_clusters(FLOP, 100)) >= {frozenset({3}), frozenset({6}), frozenset({4})}
    assert partition(absolute_distance_clusters(FLOP, 200)) == {
        frozenset({1, 2, 4}), frozenset({3, 6}), frozenset({5}),
    }  # fmt: skip


def test_figure_5_5_groups_agree_in_every_feature():
    read = np.array([25, 10, 10, 25, 1])
    written = np.array([120, 90, 90, 120, 0])
    calls = np.array([35, 30, 30, 35, 0])
    sent = np.array([250, 280, 280, 250, 0])
    groups = exact_groups([read, written, calls, sent])
    assert partition(groups) == {frozenset({1, 4}), frozenset({2, 3}), frozenset({5})}


def test_one_feature_is_enough_to_part_a_group():
    same, differs = np.array([7, 7, 7]), np.array([1, 1, 2])
    assert partition(exact_groups([same, differs])) == {frozenset({1, 2}), frozenset({3})}
    assert partition(exact_groups([same])) == {frozenset({1, 2, 3})}


def test_hybrid_clusters_split_by_either_side():
    """Figure 5.6: same work but other communication is another cluster, and the reverse."""
    work = np.array([0, 0, 0, 1, 1])
    groups = np.array([0, 0, 1, 1, 1])
    assert partition(hybrid_clusters(work, groups)) == {frozenset({1, 2}), frozenset({3}), frozenset({4, 5})}


def test_a_step_of_exactly_the_threshold_opens_a_cluster():
    assert partition(relative_distance_clusters(np.array([100.0, 110.0]))) == {frozenset({1}), frozenset({2})}
    assert partition(relative_distance_clusters(np.array([100.0, 109.9]))) == {frozenset({1, 2})}


def test_small_steps_chain_into_one_wide_cluster():
    drift = 1_000 * 1.05 ** np.arange(50)
    assert relative_distance_clusters(drift).max() == 0
    assert drift[-1] / drift[0] > 10


def test_zeros_stay_together_and_apart_from_the_rest():
    assert relative_distance_clusters(np.array([0.0, 5.0, 0.0, 1e-300])).tolist() == [0, 2, 0, 1]


def test_labels_ascend_with_the_values():
    values = np.array([900.0, 1.0, 30.0, 31.0])
    assert relative_distance_clusters(values).tolist() == [2, 0, 1, 1]


@given(st.lists(st.floats(0, 1e15), max_size=60), st.sampled_from([0.05, 0.1, 0.5]))
def test_vectorised_form_equals_the_step_by_step_one(values, threshold):
    expected = clusters_step_by_step(values, threshold)
    got = relative_distance_clusters(np.array(values, dtype=float), threshold)
    # Where a step is the threshold to the last digit, the two may round differently: compare away from there.
    ascending = np.sort(np.array(values, dtype=float))
    with np.errstate(all="ignore"):
        distance = ascending[1:] / ascending[:-1] - 1
    if not np.any(np.abs(distance - threshold) < 1e-12):
        assert got.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0, 2).map(round)), max_size=40))
def test_groups_equal_a_dictionary_of_rows(rows):
    columns = [np.array([row[i] for row in rows]) for i in range(3)]
    numbers = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    got = exact_groups(columns)
    assert partition(got) == partition(np.array(expected, dtype=int))
    assert sorted(set(got.tolist())) == list(range(len(numbers)))


@pytest.mark.parametrize("bad", [[-1.0], [np.nan, 1.0], [np.inf]])
def test_values_that_are_no_amount_of_work_are_refused(bad):
    with pytest.raises(InputError, match="finite and not negative"):
        relative_distance_clusters(np.array(bad))


def test_misuse_is_refused():
    with pytest.raises(InputError, match="threshold"):
        relative_distance_clusters(np.array([1.0]), 0)
    with pytest.raises(InputError, match="at least one"):
        exact_groups([])
    with pytest.raises(InputError, match="length"):
        exact_groups([np.zeros(2), np.zeros(3)])


def test_nothing_gives_no_labels():
    assert relative_distance_clusters(np.zeros(0)).size == 0
    assert exact_groups([np.zeros(0)]).size == 0
