"""The demands on the default estimator, on seeds that it was not tuned on (0 to 199 and 2003 to 2022)."""

import pytest
from accuracy.scenarios import SCENARIOS
from accuracy.study import outcomes, summarize

HELD_OUT_SEEDS = range(1000, 1003)
SEEN = [scenario for scenario in SCENARIOS if scenario.unseen_pct is None]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_demands_are_met(scenario):
    found = summarize(scenario, "robust", list(outcomes(scenario, "robust", HELD_OUT_SEEDS)))
    assert found.meets, found


@pytest.mark.parametrize("scenario", SEEN, ids=lambda scenario: scenario.name)
def test_what_is_called_certain_is_right(scenario):
    found = summarize(scenario, "robust", list(outcomes(scenario, "robust", HELD_OUT_SEEDS)))
    assert found.wrong_and_certain == 0, found
