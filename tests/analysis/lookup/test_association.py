"""Association against scipy's rank correlation, planted lags, and p values that are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup import associate, association


def _bursts(random: np.random.Generator, n: int) -> np.ndarray:
    return (np.convolve(random.random(n) < 0.02, np.ones(8), "same") > 0) * random.uniform(0.5, 1.5, n)


def test_rho_is_spearmans_also_with_gaps() -> None:
    random = np.random.default_rng(3)
    loss = random.random(400)
    load = loss + random.normal(0, 1, 400)
    load[50:90] = np.nan
    loss[200:220] = np.nan
    known = ~np.isnan(load) & ~np.isnan(loss)
    # Ranks are taken over all slices of the victim, so gaps of a suspect make a small difference.
    rho = associate(loss, load[None], lags=(0,), surrogates=99).rho[0]
    assert rho == pytest.approx(spearmanr(load[known], loss[known]).statistic, abs=0.01)


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_the_lag_of_a_planted_cause_is_found(lag: int) -> None:
    random = np.random.default_rng(lag)
    load = _bursts(random, 500)
    loss = np.roll(load, lag) + random.normal(0, 0.1, 500)
    found = associate(loss, load[None], surrogates=499)
    assert found.lag[0] == lag
    assert found.p[0] == 1 / 500
    assert found.loss_when_high[0] > found.loss_when_low[0] + 0.5


def test_p_values_of_chance_are_uniform_or_larger() -> None:
    """Loss and loads that remember themselves but not each other."""
    random = np.random.default_rng(7)
    p = np.concatenate([
        associate(_bursts(random, 400) + 0.1 * random.random(400), np.array([_bursts(random, 400) for _ in range(20)]),
                  surrogates=199, seed=k).p
        for k in range(20)
    ])  # fmt: skip
    assert np.mean(p <= 0.05) < 0.08
    assert np.mean(p <= 0.01) < 0.025
    assert np.mean(p <= 0.5) > 0.3  # and not without power


def test_what_cannot_be_tested_is_not_a_number() -> None:
    loss = np.random.default_rng(1).random(100)
    short = np.full(100, np.nan)
    short[:10] = np.arange(10)
    found = associate(loss, np.array([np.zeros(100), np.ones(100), short]), surrogates=19)
    assert np.isnan(found.p).all()
    assert np.isnan(associate(np.full(100, np.nan), loss[None], surrogates=19).p).all()


def test_the_same_input_gives_the_same_result() -> None:
    random = np.random.default_rng(2)
    loss, loads = random.random(200), random.random((5, 200))
    first, second = (associate(loss, loads, surrogates=99) for _ in range(2))
    np.testing.assert_array_equal(first.p, second.p)


def test_refusals() -> None:
    with pytest.raises(InputError):
        associate(np.zeros(5), np.zeros((1, 6)))
    with pytest.raises(InputError):
        associate(np.zeros(5), np.zeros((1, 5)), lags=(-1,))


def test_one_long_stretch_repeats_nothing() -> None:
    random = np.random.default_rng(4)
    once = np.zeros(900)
    once[300:600] = 1.0
    often = np.zeros(900)
    often[::30] = often[1::30] = 1.0
    noise = 0.01 * random.random(900)
    assert not associate(once + noise, once[None], surrogates=99).repeats
    assert associate(often + noise, often[None], surrogates=99).repeats


def test_batches_of_surrogates_are_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(9)
    loss, loads = random.random(150), random.random((4, 150))
    counted = associate(loss, loads, surrogates=1000).p * 1001
    assert counted == pytest.approx(np.rint(counted))
    monkeypatch.setattr(association, "_BATCH_VALUES", 150 * 37)
    again = associate(loss, loads, surrogates=1000).p
    assert again == pytest.approx(counted / 1001, abs=0.06)  # other draws of the same chance
