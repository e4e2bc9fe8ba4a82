"""What segments should take by their work: a line where there is one, found although most members lie above it."""

import numpy as np
import pytest

from crosswind.analysis.work_model import fit_work_model

N = 600
RNG = np.random.default_rng(3)
WORK = RNG.uniform(1e6, 3e6, N)
EXPECTED = 500 + WORK / 1000
NOISE = 1 + 0.003 * RNG.standard_normal(N)


def test_a_line_is_found():
    model = fit_work_model(EXPECTED * NOISE, {"work": WORK, "bytes": RNG.random(N)})
    assert model.regressor == "work"
    assert model.expected == pytest.approx(EXPECTED, rel=0.005)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.58])
def test_it_is_found_under_members_that_are_held_up(share):
    held_up = np.where(RNG.random(N) < share, RNG.uniform(0.1, 0.8, N), 0.0)
    model = fit_work_model(EXPECTED * NOISE * (1 + held_up), {"work": WORK})
    assert model.regressor == "work"
    assert model.expected == pytest.approx(EXPECTED, rel=0.02)


def test_work_that_hardly_varies_is_left_alone():
    model = fit_work_model(NOISE, {"work": 1 + 0.01 * RNG.standard_normal(N)})
    assert model.regressor is None
    assert np.all(model.expected == np.median(NOISE))


def test_more_work_never_takes_less_time():
    model = fit_work_model(EXPECTED.max() - EXPECTED + 100, {"work": WORK})
    assert model.regressor is None


def test_a_regressor_that_tells_nothing_is_not_taken():
    assert fit_work_model(NOISE, {"work": WORK}).regressor is None


def test_few_members_have_no_line():
    assert fit_work_model(EXPECTED[:11], {"work": WORK[:11]}).regressor is None


def test_the_model_never_nears_zero():
    y = np.where(np.arange(N) % 2 == 0, 1.0, 100.0)
    model = fit_work_model(y, {"work": np.where(np.arange(N) % 2 == 0, 0.0, 50.0)})
    assert model.expected.min() >= 0.05 * np.median(y)


def test_the_same_input_gives_the_same_model():
    y = EXPECTED * NOISE
    assert np.array_equal(fit_work_model(y, {"work": WORK}).expected, fit_work_model(y, {"work": WORK}).expected)
