"""Phases and dents against planted ones, and that p is what it says where there is nothing."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from crosswind.analysis.errors import InputError
from crosswind.analysis.experiment import PhaseRun, active_share, phase_effect

S = 1_000_000_000


def periodic(n, active=4, silent=4, phase=0):
    return (((np.arange(n) + phase) % (active + silent)) < active).astype(float)


def noise(random, n, memory=0.5):
    """A rate that remembers itself."""
    values = random.standard_normal(n)
    for i in range(1, n):
        values[i] += memory * values[i - 1]
    return 100 + 10 * values


def test_active_share_of_slices():
    share = active_share([(10 * S, 12 * S + S // 2), (14 * S, 15 * S)], first_slice=9, n_slices=7, slice_ns=S)
    assert share.tolist() == [0.0, 1.0, 1.0, 0.5, 0.0, 1.0, 0.0]


def test_active_share_bears_phases_beyond_and_over_each_other():
    assert active_share([(0, 100 * S)], 50, 3, S).tolist() == [1.0, 1.0, 1.0]
    assert active_share([(0, 6 * S), (2 * S, 4 * S), (5 * S, 7 * S)], 0, 8, S).tolist() == [1.0] * 7 + [0.0]
    assert active_share([], 0, 3, S).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError):
        active_share([(5, 4)], 0, 1, S)


def test_dents_are_found_with_their_depth():
    random = np.random.default_rng(1)
    active = periodic(64)
    rate = 100 * (1 - 0.5 * active) * random.normal(1, 0.05, 64)
    found = phase_effect([PhaseRun(rate, active)])
    assert found.rho == pytest.approx(spearmanr(rate, active).statistic, abs=1e-9)
    assert found.depth_pct == pytest.approx(50, abs=4)
    assert (found.slices_inside, found.slices_outside) == (32, 32)
    assert found.p == pytest.approx(1 / 8)  # one run: eight shifts of a period of eight slices look different


def test_repetitions_say_more_than_one_run():
    random = np.random.default_rng(2)
    runs = []
    for phase in range(5):
        active = periodic(48, phase=phase)
        runs.append(PhaseRun(100 * (1 - 0.3 * active) * random.normal(1, 0.1, 48), active))
    found = phase_effect(runs)
    assert found.p < 0.001
    assert len(found.by_run) == 5
    assert found.rho == pytest.approx(np.mean(found.by_run))


def test_one_p_of_many_shifts_is_exact():
    """A signal without a period: every shift differs."""
    random = np.random.default_rng(4)
    active = random.random(40)
    found = phase_effect([PhaseRun(100 - 50 * active, active)])
    assert found.p == pytest.approx(1 / 40)
    assert found.rho == pytest.approx(-1.0)


def test_p_is_uniform_when_nothing_is_there():
    """Rates that remember themselves beside signals with random phases: no more small p-values than chance has."""
    random = np.random.default_rng(7)
    found = []
    for _ in range(400):
        runs = [PhaseRun(noise(random, 40), np.roll(random.random(40), 3)) for _ in range(2)]
        found.append(phase_effect(runs, seed=int(random.integers(1 << 30))).p)
    values = np.sort(found)
    distance = np.abs(values - np.arange(1, 401) / 400).max()
    assert distance < 1.63 / np.sqrt(400), distance  # Kolmogorov and Smirnov, 1 %


def test_p_of_periodic_signals_never_lies_low():
    random = np.random.default_rng(8)
    p = np.array([
        phase_effect([PhaseRun(noise(random, 48), periodic(48, phase=int(random.integers(8)))) for _ in range(3)]).p
        for _ in range(400)
    ])  # fmt: skip
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 2.6 * np.sqrt(level * (1 - level) / 400), level


@pytest.mark.parametrize("n", [45, 52])
def test_a_probe_with_the_signals_period_is_no_finding(n):
    """Both come and go every ten slices, each from a point of its own, in runs that are no whole number of periods."""
    random = np.random.default_rng(9)

    def run():
        rate = (1 - 0.3 * periodic(n, 4, 6, int(random.integers(10)))) * random.normal(1, 0.05, n)
        return PhaseRun(rate, periodic(n, 5, 5, int(random.integers(10))), 10.0)

    p = np.array([phase_effect([run() for _ in range(3)]).p for _ in range(400)])
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 2.6 * np.sqrt(level * (1 - level) / 400), level
    alone = np.array([phase_effect([run()]).p for _ in range(100)])
    assert alone.min() >= 1 / 10


def test_a_run_shorter_than_a_period_tells_nothing():
    active = periodic(12, 8, 8)
    assert np.isnan(phase_effect([PhaseRun(100 - 50 * active, active, 16.0)]).p)


def test_a_period_need_not_be_whole_slices():
    n, period = 47, 7.5
    active = ((np.arange(n) % period) < 3).astype(float)
    found = phase_effect([PhaseRun(100 - 50 * active, active, period)])
    assert found.rho == pytest.approx(-1.0)
    assert 1 / 45 <= found.p <= 6 / 45


def test_a_probe_that_speeds_up_is_no_finding():
    active = periodic(64)
    found = phase_effect([PhaseRun(100 + 50 * active, active)])
    assert found.rho > 0.9
    assert found.p > 0.8
    assert found.depth_pct == pytest.approx(-50)


def test_slices_without_a_rate_do_not_count():
    active = periodic(32)
    rate = 100 - 50 * active
    rate[:2] = np.nan
    found = phase_effect([PhaseRun(rate, active)])
    assert (found.slices_inside, found.slices_outside) == (14, 16)
    assert found.rho == pytest.approx(-1.0)


def test_nothing_to_tell():
    constant = phase_effect([PhaseRun(np.full(20, 5.0), periodic(20))])
    short = phase_effect([PhaseRun(np.array([1.0, 2.0]), np.array([1.0, 0.0]))])
    never = phase_effect([PhaseRun(np.arange(20.0), np.zeros(20))])
    for found in (constant, short, never):
        assert np.isnan(found.p)
        assert np.isnan(found.rho)
        assert np.isnan(found.by_run[0])
    assert np.isnan(never.inside)
    assert np.isnan(never.depth_pct)


def test_what_does_not_fit():
    with pytest.raises(InputError):
        phase_effect([])
    with pytest.raises(InputError):
        phase_effect([PhaseRun(np.ones(3), np.ones(4))])
