"""The undisturbed level of a group: stands a majority of disturbed members, and knows hits that come in turns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.analysis.baseline import find_baseline, period_of_hits, quickest_baseline

RNG = np.random.default_rng(7)
QUIET = 1 + 0.01 * RNG.standard_normal(1000)


def disturbed(share, by):
    """QUIET with the first `share` of it held up by about `by`."""
    held_up = np.arange(QUIET.size) < share * QUIET.size
    return QUIET + np.where(held_up, by * (1 + 0.3 * RNG.random(QUIET.size)), 0.0), held_up


def test_quiet_values_are_not_hit():
    found = find_baseline(QUIET, 0.0)
    assert found.level == pytest.approx(1, abs=0.01)
    assert found.noise == pytest.approx(0.0067, rel=0.25)  # median distance of a Gaussian from its mean: 0.67 sigma
    assert np.count_nonzero(found.hit) < 0.01 * QUIET.size


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.6, 0.69])
def test_the_level_stands_a_majority_of_hits(share):
    values, held_up = disturbed(share, 0.5)
    found = find_baseline(values, 0.0)
    assert found.level == pytest.approx(1, abs=0.02)
    assert np.mean(found.hit == held_up) > 0.99


def test_beyond_that_the_lowest_values_are_the_level():
    values, _ = disturbed(0.9, 0.5)
    found = quickest_baseline(values, 0.0)
    assert found.level == pytest.approx(1, abs=0.02)
    assert found.agrees(values)


def test_values_that_vary_by_nature_have_no_such_level():
    values = np.exp(0.3 * np.random.default_rng(2).standard_normal(500))
    assert not quickest_baseline(values, 0.0).agrees(values)


def agreeing(draw, n_runs=300):
    """In what share of groups of 29 the quickest are taken for undisturbed; draw: seeded generator -> values."""
    groups = [draw(np.random.default_rng([3, i])) for i in range(n_runs)]
    return np.mean([quickest_baseline(values, 0.002).agrees(values) for values in groups])


def test_a_few_that_are_close_by_chance_are_no_level():
    """Of 29 values that vary by 30 % the two quickest are within 2 % of each other in one group of twenty."""
    assert agreeing(lambda rng: np.exp(0.3 * rng.standard_normal(29))) < 0.02


def test_as_many_that_agree_more_than_chance_makes_them_are():
    """Seven of 29 undisturbed, the others late by 20 to 80 %."""
    assert agreeing(lambda rng: np.r_[1 + 0.003 * rng.standard_normal(7), rng.uniform(1.2, 1.8, 22)]) > 0.95


def test_what_clocks_cannot_tell_apart_is_no_hit():
    values = np.array([1.0] * 50 + [1.01])
    assert find_baseline(values, 0.0).hit.sum() == 1
    assert find_baseline(values, 0.01).hit.sum() == 0


@given(st.lists(st.floats(0.5, 2.0), min_size=8, max_size=60), st.floats(0.1, 10))
def test_ratios_in_another_unit_are_judged_alike(values, factor):
    values = np.round(np.array(values), 3)
    one, other = find_baseline(values, 0.01), find_baseline(values * factor, 0.01 * factor)
    assert other.level == pytest.approx(factor * one.level, rel=1e-6)
    assert other.threshold == pytest.approx(factor * one.threshold, rel=1e-6)


@given(st.lists(st.floats(0.5, 2.0), min_size=8, max_size=60))
def test_the_level_lies_among_the_values_and_the_lowest_is_never_hit(values):
    values = np.array(values)
    found = find_baseline(values, 0.0)
    assert values.min() <= found.level <= np.median(values)
    assert not found.hit[np.argmin(values)]


@pytest.mark.parametrize("period", [2, 5, 10, 100])
def test_hits_that_come_in_turns(period):
    assert period_of_hits(np.arange(2000) % period == period - 1) == period


def test_hits_in_stretches_or_without_order_have_no_period():
    stretch = np.zeros(1000, dtype=bool)
    stretch[300:600] = True
    assert period_of_hits(stretch) is None
    assert period_of_hits(np.random.default_rng(1).random(1000) < 0.2) is None
    assert period_of_hits(np.zeros(1000, dtype=bool)) is None
    assert period_of_hits(np.ones(1000, dtype=bool)) is None


def test_a_period_must_repeat_to_be_one():
    assert period_of_hits(np.arange(40) % 20 == 0) is None
