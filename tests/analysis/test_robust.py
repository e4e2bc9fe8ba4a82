"""The robust estimator, step by step on tables whose answer is plain; accuracy is tests/accuracy's."""

import numpy as np
import pytest

from crosswind.analysis import estimate
from support.segment_tables import table

RNG = np.random.default_rng(5)
N = 400


def noisy(value, n=N):
    return value * (1 + 0.002 * RNG.standard_normal(n))


def reasons(found):
    return {caution.reason for caution in found.cautions}


def test_a_delay_counts_from_the_level_not_from_the_threshold():
    durations = noisy(10_000.0)
    durations[:40] += 1_000
    found = estimate(table(durations, instructions=np.full(N, 1e7)), "robust")
    assert found.hit_segments == 40
    assert found.interference_s == pytest.approx(0.040, rel=0.02)
    assert found.clusters.threshold_us == pytest.approx([10_080], rel=0.005)
    assert found.certain


def test_time_follows_work():
    work = RNG.uniform(1e7, 2e7, N)
    durations = work / 1000 * noisy(1.0)
    assert estimate(table(durations, instructions=work), "robust").interference_pct < 0.1


def test_call_sites_tell_phases_apart():
    heavy = np.arange(N) // 50 % 2 == 1  # in stretches, as interference comes
    durations = np.where(heavy, 14_000.0, 10_000.0) * noisy(1.0)
    sites = np.where(heavy, 11.0, 22.0)
    blind = estimate(table(durations), "robust")
    seeing = table(durations)
    seeing.columns["sig"] = np.broadcast_to(sites, (2, N)).astype(np.uint64)
    assert blind.interference_pct > 10
    assert estimate(seeing, "robust").interference_pct < 0.1


def test_a_phase_that_comes_in_turns_is_no_interference():
    durations = np.where(np.arange(N) % 10 == 9, 14_000.0, 10_000.0) * noisy(1.0)
    assert estimate(table(durations), "robust").interference_pct < 0.1


@pytest.mark.parametrize("second", [12_000.0, 14_000.0])
def test_two_phases_that_alternate_are_no_interference(second):
    """Half of the segments are of each: neither is the exception, and the median lies between them."""
    durations = np.where(np.arange(N) % 2 == 1, second, 10_000.0) * noisy(1.0)
    assert estimate(table(durations), "robust").interference_pct < 0.1


def test_cpu_time_beyond_the_usual_is_not_added_but_leaves_no_certainty():
    held_up = np.where(RNG.random(N) < 0.2, 5_000.0, 0.0)
    found = estimate(table(noisy(10_000.0) + held_up, cpu_us=noisy(9_000.0) + held_up), "robust")
    assert found.interference_pct < 0.5
    assert found.cpu_pct == pytest.approx(100 * held_up.sum() / found.duration_us.sum(), rel=0.05)
    assert "CPU time beyond the usual" in reasons(found)


def test_bytes_that_vary_do_not_split_groups_and_steady_ones_do():
    durations = noisy(10_000.0)
    varying = table(durations, p2p_bytes=RNG.integers(1, 10**6, N).astype(float))
    found = estimate(varying, "robust")
    assert found.clusters.n_clusters == 1
    assert any("p2p bytes" in note for note in found.notes)
    steady = table(durations, p2p_bytes=np.where(np.arange(N) < 200, 100.0, 200.0))
    assert estimate(steady, "robust").clusters.n_clusters == 2


def test_without_counters_computation_is_judged_apart():
    cpu = noisy(8_000.0)
    rest = noisy(2_000.0)
    cpu[:20] += 2_000  # something took CPU time
    rest[100:140] += 3_000  # something held communication up
    found = estimate(table(cpu + rest, cpu_us=cpu), "robust")
    assert found.interference_s == pytest.approx(0.120, rel=0.02)
    assert found.cpu_pct == pytest.approx(100 * 0.040 / found.total_s, rel=0.05)


def test_cpu_times_that_vary_are_not_judged_and_that_is_said():
    cpu = RNG.uniform(4_000, 12_000, N)
    found = estimate(table(cpu + noisy(2_000.0), cpu_us=cpu), "robust")
    assert found.cpu_pct == 0
    assert "CPU times vary" in reasons(found)


def test_a_majority_of_hits_is_found_and_doubted():
    durations = noisy(10_000.0)
    durations[:260] += RNG.uniform(2_000, 5_000, 260)
    found = estimate(table(durations, instructions=np.full(N, 1e7)), "robust")
    assert found.interference_s == pytest.approx((durations[:260] - 10_000).sum() / 1e6, rel=0.02)
    assert {"many segments hit", "two ways of estimating disagree"} <= reasons(found)


def test_nearly_all_hit_is_measured_from_the_quickest_members():
    durations = noisy(10_000.0)
    durations[: int(0.9 * N)] *= RNG.uniform(1.3, 2.5, int(0.9 * N))
    found = estimate(table(durations, instructions=np.full(N, 1e7)), "robust")
    assert found.interference_pct == pytest.approx(100 * (1 - 10_000 * N / durations.sum()), abs=2)
    assert "segments vary widely" in reasons(found)


def test_groups_that_vary_by_nature_are_doubted():
    found = estimate(table(10_000 * np.exp(0.3 * RNG.standard_normal(N)), instructions=np.full(N, 1e7)), "robust")
    assert found.interference_pct < 20  # from the quickest members it would be 40
    assert "segments vary widely" in reasons(found)


def test_a_gross_loss_in_a_small_group_counts_and_the_group_stays_unjudged():
    durations = np.concatenate([noisy(10_000.0), [50_000.0, 50_100.0, 50_050.0, 90_000.0]])
    calls = np.concatenate([np.ones(N), np.full(4, 7.0)])
    found = estimate(table(durations, coll_calls=calls), "robust")
    assert found.interference_s == pytest.approx(0.040, rel=0.01)
    assert found.uncovered_pct == pytest.approx(100 * durations[-4:].sum() / durations.sum())


def test_merged_segments_are_compared_with_their_like():
    durations = np.concatenate([noisy(10_000.0), noisy(20_000.0)])
    stride = np.concatenate([np.ones(N), np.full(N, 2)])
    assert estimate(table(durations, stride=stride), "robust").interference_pct < 0.1


def test_a_delay_shows_where_computation_usually_is_all_there_is():
    cpu = noisy(10_000.0)
    rest = np.zeros(N)
    rest[:40] = 1_000
    assert estimate(table(cpu + rest, cpu_us=cpu), "robust").interference_s == pytest.approx(0.040, rel=0.02)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8])
def test_short_tables(n):
    found = estimate(table(np.full(n, 100.0)), "robust")
    assert found.interference_pct is None or found.interference_pct == 0


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e18])
def test_extreme_durations(value):
    found = estimate(table(np.full(50, value), instructions=np.full(50, 1.0)), "robust")
    assert found.interference_s == 0
