"""False-discovery rates against scipy's and a worked example."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

from crosswind.analysis.lookup import false_discovery_rate


def test_it_is_benjamini_and_hochbergs() -> None:
    p = np.random.default_rng(5).random(200) ** 3
    np.testing.assert_allclose(false_discovery_rate(p), false_discovery_control(p))


def test_untested_ones_stay_untested_and_do_not_count() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.5])
    np.testing.assert_allclose(false_discovery_rate(p), [0.03, np.nan, 0.06, 0.5])
    assert false_discovery_rate(np.zeros(0)).size == 0
