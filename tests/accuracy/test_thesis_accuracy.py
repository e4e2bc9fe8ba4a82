"""The thesis's estimator on simulated runs of known truth: where it works, and where it is known to fail."""

import numpy as np
import pytest
from accuracy.disturbances import episodes, scattered
from accuracy.simulator import Noise, molecular_dynamics, simulate

from crosswind.analysis import accuracy, estimate

STEPS = molecular_dynamics(3_000)
SEEDS = range(5)
INJECTED = (2, 5, 10, 20, 40)


def estimates(delays, **options):
    """True and estimated percent per seed, and the last estimate."""
    pairs = []
    for seed in SEEDS:
        run = simulate(STEPS, delays(seed), seed=seed, **options)
        result = estimate(run.table, "thesis")
        pairs.append((run.true_pct, result.interference_pct))
    true, estimated = np.array(pairs).T
    return true, estimated, result


@pytest.mark.parametrize("pct", INJECTED)
@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
def test_short_episodes_are_measured(share, pct):
    true, estimated, result = estimates(lambda seed: episodes(STEPS, pct, seed, share=share, n=3))
    assert true == pytest.approx(np.full(true.size, pct), abs=0.5)
    assert np.abs(estimated - true).max() < 1.5
    assert accuracy(true, estimated).min() > 0.9
    assert result.certain


@pytest.mark.parametrize("counters", [True, False], ids=["instructions", "no counters"])
@pytest.mark.parametrize("pct", INJECTED)
def test_scattered_delays_are_measured(pct, counters):
    true, estimated, result = estimates(lambda seed: scattered(STEPS, pct, seed, probability=0.02), counters=counters)
    assert np.abs(estimated - true).max() < 1.5
    assert result.certain == counters


@pytest.mark.parametrize("bytes_last", [1, 20], ids=["every segment", "every rebuild"])
@pytest.mark.parametrize("pct", [5, 20])
def test_bytes_that_vary_do_not_hide_the_loss(pct, bytes_last):
    """Atoms that move change the bytes with each neighbour list: an episode then holds all segments of some counts."""
    true, estimated, result = estimates(
        lambda seed: episodes(STEPS, pct, seed, share=0.15, n=3), noise=Noise(p2p_bytes=0.01, bytes_last=bytes_last)
    )
    assert np.abs(estimated - true).max() < 1.5
    assert any("Byte counts" in note for note in result.notes)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noise": Noise(jitter=0.02)},
        {"noise": Noise(p2p_bytes=0.01)},
        {"noise": Noise(work=0.01)},
        {"counters": False},
    ],
    ids=str,
)
def test_no_interference_is_called_none(options):
    true, estimated, result = estimates(lambda seed: None, **options)
    assert true.max() == 0
    assert estimated.max() < 2
    assert result.interference_class == "low"


def test_phases_are_kept_apart():
    """Rebuild and output steps are no interference, and setup, which happens once, is not judged."""
    run = simulate(STEPS, seed=1)
    sizes = sorted(row["size"] for row in estimate(run.table, "thesis").to_json()["clusters"])
    assert sizes == [29, 120, 2_850]


@pytest.mark.parametrize("pct", [10, 20, 40])
@pytest.mark.parametrize("share", [0.6, 0.7])
def test_known_limit_more_than_half_hit_is_missed(share, pct):
    """The median is then a disturbed segment. Nearly all of the loss is missed, but the noise that it makes is seen.

    Measured: of 10, 20 and 40 % injected, 0.0 % is found; `robust` finds it.
    """
    true, estimated, result = estimates(lambda seed: episodes(STEPS, pct, seed, share=share))
    assert (true - estimated).min() > 0.9 * pct
    assert not result.certain


def test_known_limit_a_slow_down_of_the_whole_run_cannot_be_seen():
    """With 90 % of the segments hit the run looks like a steady one of a slower program: not even a warning."""
    true, estimated, result = estimates(lambda seed: episodes(STEPS, 10, seed, share=0.9))
    assert true.min() > 9
    assert estimated.max() < 0.5
    assert result.certain
