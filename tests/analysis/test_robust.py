"""The robust estimator, step by step on tables whose answer is plain; accuracy is tests/accuracy's."""

from dataclasses import replace

import numpy as np
import pytest

from crosswind.analysis import estimate
from crosswind.analysis.uncertainty import widened
from crosswind.profile.segments import SegmentTable
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


@pytest.mark.parametrize(("every", "longer", "share"), [(4, 5_000.0, "5.9%"), (10, 8_000.0, "3.8%"), (4, 0.0, None)])
def test_what_comes_in_turns_could_be_interference_all_the_same(every, longer, share):
    """One run cannot tell: the note says how much is at stake."""
    durations = (20_000.0 + longer * (np.arange(N) % every == every - 1)) * noisy(1.0)
    notes = [note for note in estimate(table(durations), "robust").notes if "fixed number of segments" in note]
    assert [f"were it interference, {share} of the run" in note for note in notes] == ([True] if share else [])


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


# --- short segments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length_us", [15.0, 40.0, 60.0])
def test_what_clocks_cannot_tell_apart_is_no_wide_variation(length_us):
    """A microsecond of jitter is a tenth of such a segment, and neither interference nor a reason for doubt."""
    durations = length_us + np.abs(np.random.default_rng(3).standard_normal(5_000))
    durations[np.random.default_rng(4).choice(5_000, 50, replace=False)] += 500
    found = estimate(table(durations, instructions=np.full(5_000, 1e4)), "robust")
    assert "segments vary widely" not in reasons(found)
    assert found.interference_s == pytest.approx(50 * 500e-6, rel=0.02)
    assert any("delay below 8 us" in note for note in found.notes)


def test_short_segments_that_do_vary_are_still_doubted():
    durations = 20.0 * np.exp(0.5 * np.random.default_rng(3).standard_normal(5_000))
    assert {"segments vary widely"} & reasons(estimate(table(durations, instructions=np.full(5_000, 1e4)), "robust"))


# --- more than 70 % of a group hit ------------------------------------------------------------------------------------


def test_a_small_group_that_is_mostly_hit_is_measured_by_the_noise_of_the_others():
    durations = np.concatenate([noisy(10_000.0, 2_000), noisy(13_000.0, 120)])
    calls = np.concatenate([np.ones(2_000), np.full(120, 7.0)])
    held_up = np.zeros(2_120)
    held_up[2_000:2_096] = np.random.default_rng(1).uniform(1_000, 3_000, 96)
    found = estimate(table(durations + held_up, coll_calls=calls, instructions=np.full(2_120, 1e7)), "robust")
    assert found.interference_s == pytest.approx(held_up.sum() / 1e6, rel=0.02)


def test_a_group_that_varies_by_nature_is_not_measured_by_the_noise_of_the_others():
    durations = np.concatenate([noisy(10_000.0, 2_000), 13_000 * np.exp(0.04 * np.random.default_rng(1).random(120))])
    calls = np.concatenate([np.ones(2_000), np.full(120, 7.0)])
    found = estimate(table(durations, coll_calls=calls, instructions=np.full(2_120, 1e7)), "robust")
    assert found.interference_pct < 0.05


# --- merged segments --------------------------------------------------------------------------------------------------


def merged(run, counts):
    """The run with neighbours merged as the library does it: `counts` of them in turn, signatures summed mod 2**32."""
    ends = np.cumsum(counts)
    assert ends[-1] == run.n_segments
    begins = ends - counts
    columns = {name: np.add.reduceat(values, begins, axis=1) for name, values in run.columns.items() if name != "sig"}
    if "t_start_us" in columns:
        columns["t_start_us"] = run.columns["t_start_us"][:, begins]
    if "sig" in run.columns:
        sums = np.add.reduceat(run.columns["sig"], begins, axis=1, dtype=np.uint64)
        columns["sig"] = sums & np.uint64(0xFFFFFFFF)
    valid = run.valid[:, begins]
    return SegmentTable(run.index[begins], run.ranks, columns, valid, np.asarray(counts, dtype=np.int64))


def signed(run, signature):
    run.columns["sig"] = np.broadcast_to(np.asarray(signature, dtype=np.uint64), run.valid.shape).copy()
    return run


def test_merges_of_many_different_numbers_are_still_judged():
    """Fewer than 8 of each number: compared by what one of the merged segments took."""
    counts = np.random.default_rng(4).permutation(np.repeat(np.arange(1, 121), 5))
    durations = noisy(10_000.0, int(counts.sum()))
    held_up = np.zeros(durations.size)
    held_up[3_000:6_000] = 2_000
    run = signed(table(durations + held_up, coll_calls=np.ones(durations.size)), 0xDEADBEEF)
    found = estimate(merged(run, counts), "robust")
    assert found.uncovered_pct < 2
    assert found.interference_s == pytest.approx(held_up.sum() / 1e6, rel=0.05)
    assert "merged segments" in reasons(found)


@pytest.mark.parametrize("count", [2, 16, 64])
def test_merging_costs_little(count):
    run = signed(table(noisy(10_000.0, 6_400), coll_calls=np.ones(6_400)), 0x12345678)
    run.columns["dur_us"][:, 1_000:2_000] += 3_000
    whole, half = estimate(run, "robust"), estimate(merged(run, [count] * (6_400 // count)), "robust")
    assert half.interference_s == pytest.approx(whole.interference_s, rel=0.02)


def test_signatures_of_merges_tell_phases_apart_whatever_their_number():
    """Two phases that only call sites tell apart, each merged in threes, fours and fives."""
    counts = np.tile([4, 3, 5], 300)
    second = np.repeat(np.arange(counts.size) // 30 % 2 == 1, counts)
    durations = np.where(second, 14_000.0, 10_000.0) * noisy(1.0, second.size)
    run = signed(table(durations), np.where(second, 0xCAFE0001, 0x0BAD0001))
    assert estimate(merged(run, counts), "robust").interference_pct < 0.1


# --- segments cut at call sites ---------------------------------------------------------------------------------------


def test_segments_cut_at_call_sites_are_compared_with_their_like_and_doubted():
    of_sites = np.arange(N) % 2 == 1
    run = table(np.where(of_sites, 5_000.0, 10_000.0) * noisy(1.0), instructions=np.full(N, 1e7))
    found = estimate(replace(run, from_call_sites=of_sites), "robust")
    assert found.clusters.n_clusters == 2
    assert found.interference_pct < 0.1
    assert reasons(found) == {"segments cut at call sites"}


# --- the interval -----------------------------------------------------------------------------------------------------


def test_the_interval_holds_the_loss_and_is_as_wide_as_the_noise_makes_it():
    held_up = np.where(np.arange(N) < 60, 3_000.0, 0.0)
    widths = []
    for noise in (0.002, 0.04):
        durations = 10_000.0 * (1 + noise * np.random.default_rng(8).standard_normal(N)) + held_up
        found = estimate(table(durations, instructions=np.full(N, 1e7)), "robust")
        low, high = found.interval_pct
        assert low < 100 * held_up.sum() / durations.sum() < high
        assert low <= found.interference_pct <= high
        assert f"; between {low:.1f} and {high:.1f} %, " in found.sentence()
        assert found.to_json()["interval_pct"] == [low, high]
        widths.append(high - low)
    least = 2 * (1 + 0.05 * 100 * held_up.sum() / (10_000 * N + held_up.sum()))
    assert widths[0] == pytest.approx(least, rel=0.01)
    assert 2 * widths[0] < widths[1]


def test_the_interval_of_a_run_has_a_least_width():
    """One percent of the run and a twentieth of the loss on either side; never below no loss."""
    assert widened(20.0, (19.9, 20.3), 200.0) == (17.0, 23.0)
    assert widened(20.0, (10.0, 40.0), 200.0) == (10.0, 40.0)
    assert widened(1.0, (0.9, 1.1), 200.0) == (0.0, pytest.approx(3.05))


def test_a_quiet_run_has_a_most_that_can_hide():
    found = estimate(table(noisy(10_000.0), instructions=np.full(N, 1e7)), "robust")
    assert found.interval_pct[0] == 0
    assert found.interval_pct[1] == pytest.approx(1, abs=0.02)
    assert "; at most 1.0 %, fairly certain." in found.sentence()


def test_the_interval_is_the_same_every_time_and_the_thesis_has_none():
    segments = table(noisy(10_000.0), instructions=np.full(N, 1e7))
    assert estimate(segments, "robust").interval_pct == estimate(segments, "robust").interval_pct
    assert estimate(segments, "thesis").interval_pct is None
    assert estimate(segments, "thesis").to_json()["interval_pct"] is None
