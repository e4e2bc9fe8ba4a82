"""How often the truth lies in the interval, on seeds that were never used while it was built."""

import numpy as np
import pytest
from accuracy.scenarios import SCENARIOS
from accuracy.study import outcomes

HELD_OUT_SEEDS = range(1000, 1003)
KNOWN_LIMITS = {"phases that nothing tells apart", "episodes of 100 % of the run"}


@pytest.fixture(scope="module")
def coverage() -> dict[str, float]:
    return {
        scenario.name: float(np.mean([run.in_interval for run in outcomes(scenario, "robust", HELD_OUT_SEEDS)]))
        for scenario in SCENARIOS
    }


def test_the_truth_lies_in_nine_of_ten_intervals(coverage):
    told = [share for name, share in coverage.items() if name not in KNOWN_LIMITS]
    assert np.mean(told) >= 0.9
    assert min(told) >= 0.7, coverage


def test_the_interval_does_not_know_of_the_limits_of_the_method(coverage):
    assert all(coverage[name] < 0.5 for name in KNOWN_LIMITS), coverage
