"""How often the truth lies in the interval, on seeds that were never used while it was built."""

import numpy as np
import pytest
from accuracy.scenarios import INJECTED, SCENARIOS

from crosswind.analysis import estimate

HELD_OUT_SEEDS = range(1000, 1003)
ROUNDING_PP = 0.005
KNOWN_LIMIT = "phases that nothing tells apart"


def covered(scenario) -> list[bool]:
    found = []
    for seed in HELD_OUT_SEEDS:
        for injected in INJECTED:
            run = scenario.run(injected, seed)
            low, high = estimate(run.table).interval_pct
            found.append(low - ROUNDING_PP <= run.true_pct <= high + ROUNDING_PP)
    return found


@pytest.fixture(scope="module")
def coverage() -> dict[str, float]:
    return {scenario.name: float(np.mean(covered(scenario))) for scenario in SCENARIOS}


def test_the_truth_lies_in_nine_of_ten_intervals(coverage):
    told = [share for name, share in coverage.items() if name != KNOWN_LIMIT]
    assert np.mean(told) >= 0.9
    assert min(told) >= 0.7, coverage


def test_the_interval_does_not_know_of_phases_that_nothing_tells_apart(coverage):
    assert coverage[KNOWN_LIMIT] < 0.5
