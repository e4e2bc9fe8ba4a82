"""Dents and peaks with known places and depths."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup import Side, deviation, shortfall


def _series(seed: int = 1) -> np.ndarray:
    """A rate that drifts from 1000 to 1500 with noise of 1 %."""
    random = np.random.default_rng(seed)
    return np.linspace(1000, 1500, 600) * (1 + random.normal(0, 0.01, 600))


def test_dents_are_found_where_they_are_and_as_deep() -> None:
    rate = _series()
    rate[100:110] *= 0.6
    rate[400] *= 0.2
    found = deviation(rate, Side.DENT)
    assert [(e.first, e.last) for e in found.episodes] == [(100, 109), (400, 400)]
    assert found.depth[100:110] == pytest.approx(0.4, abs=0.03)
    assert found.depth[400] == pytest.approx(0.8, abs=0.02)
    assert found.episodes[0].area == pytest.approx(4.0, abs=0.2)
    assert np.count_nonzero(found.depth) == 11


def test_a_peak_is_no_dent_and_the_other_way_round() -> None:
    rate = _series()
    rate[50:60] *= 3
    assert [(e.first, e.last) for e in deviation(rate, Side.PEAK).episodes] == [(50, 59)]
    assert deviation(rate, Side.DENT).episodes == ()


def test_a_gap_is_no_dent() -> None:
    rate = _series()
    rate[200:250] = np.nan
    found = deviation(rate, Side.DENT)
    assert found.episodes == ()
    assert np.isnan(found.depth[200:250]).all()
    assert not np.isnan(found.level[225])


def test_noise_without_dents_has_none() -> None:
    assert sum(len(deviation(_series(seed), Side.DENT).episodes) for seed in range(50)) <= 1


@pytest.mark.parametrize("values", [np.zeros(0), np.full(5, np.nan), np.zeros(300), np.array([1.0])])
def test_empty_and_constant_series(values: np.ndarray) -> None:
    found = deviation(values, Side.DENT)
    assert found.episodes == ()
    assert found.depth.shape == values.shape


def test_refusals() -> None:
    with pytest.raises(InputError):
        deviation(np.zeros((2, 2)), Side.DENT)
    with pytest.raises(InputError):
        deviation(np.zeros(2), Side.DENT, window=0)


def test_shortfall() -> None:
    assert shortfall(np.array([10.0, 10.0, 5.0, np.nan, 12.0])) == pytest.approx([0, 0, 0.5, np.nan, -0.2], nan_ok=True)
    assert shortfall(np.zeros(3)).tolist() == [0, 0, 0]
