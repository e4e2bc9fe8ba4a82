"""What was higher in one stretch, against a plain loop over all stretches."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup import rises


def by_hand(load: np.ndarray, begin: int, end: int) -> tuple[float, float, float]:
    """during, usual and p of a load without gaps, by its words."""
    width = end - begin
    means = [load[b : b + width].mean() for b in range(load.size - width + 1)]
    high = [max(means[max(b - lag, 0)] if b >= lag else -np.inf for lag in (0, 1, 2)) for b in range(len(means))]
    return high[begin], float(np.median(high)), float(np.mean([h >= high[begin] for h in high]))


def test_it_is_what_its_words_say() -> None:
    random = np.random.default_rng(3)
    loads = random.random((4, 60))
    loads[1, 20:24] += 5
    for begin, end in ((20, 24), (0, 1), (59, 60), (0, 60), (21, 30)):
        found = rises(loads, begin, end)
        for i, load in enumerate(loads):
            assert (found.during[i], found.usual[i], found.p[i]) == pytest.approx(by_hand(load, begin, end))


def test_loads_below_zero_count_as_any_other() -> None:
    """A low frequency is trouble, so it is turned round."""
    frequency = np.where(np.arange(60) == 30, 1e9, 3e9) + np.arange(60)
    found = rises(-frequency[None], 30, 31)
    assert (found.during[0], found.p[0]) == (-1e9 - 30, pytest.approx(3 / 60))
    assert by_hand(-frequency, 30, 31)[2] == pytest.approx(found.p[0])


def test_nothing_is_not_made_higher_by_rounding() -> None:
    load = np.zeros((1, 200))
    load[0, :40] = np.random.default_rng(1).random(40) / 3
    assert rises(load, 100, 103).p[0] == 1


def test_what_began_just_before_counts() -> None:
    """The loss follows the load by up to two slices."""
    load = np.zeros((1, 100))
    load[0, 40:43] = 1
    assert rises(load, 42, 45).p[0] < 0.05
    assert rises(load, 48, 51).p[0] == 1


def test_gaps_are_left_out() -> None:
    load = np.array([[np.nan, np.nan, 1, 1, 3, np.nan, 1, 1.0]])
    found = rises(load, 4, 6)
    assert found.during[0] == 3
    assert np.isnan(rises(np.full((1, 5), np.nan), 1, 3).p).all()
    assert np.isnan(rises(load, 0, 1).p).all()


@pytest.mark.parametrize(("begin", "end"), [(3, 3), (-1, 2), (0, 9)])
def test_refusals(begin: int, end: int) -> None:
    with pytest.raises(InputError):
        rises(np.zeros((1, 8)), begin, end)
