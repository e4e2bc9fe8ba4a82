"""The front: sums, verdict, cautions, what is said when nothing can be said, and the document it makes."""

import dataclasses
import json

import numpy as np
import pytest

from crosswind.analysis import InputError, estimate_profile
from crosswind.analysis import estimate as estimate_by
from crosswind.analysis.result import percent_text, seconds_text
from crosswind.profile.numbering import NO_COMMON_NUMBERS
from support.profiles import LAMMPS_RATES, make_profile
from support.segment_tables import table

WORK = {"instructions": [1e6] * 100, "cpu_us": [80.0] * 100}


def estimate(segments):
    """The front is the same for all methods; the thesis's gives numbers that a head can check."""
    return estimate_by(segments, "thesis")


def hundred(hit_us: float, n_hit: int):
    """A hundred segments of 100 us, the last n_hit of them longer by hit_us."""
    return table([100.0] * (100 - n_hit) + [100.0 + hit_us] * n_hit, **WORK)


def reasons(result):
    return [caution.reason for caution in result.cautions]


@pytest.mark.parametrize(
    ("hit_us", "name", "chance"), [(50, "low", 0.0936), (125, "medium", 0.4879), (300, "high", 0.9843)]
)
def test_sums_class_and_probability(hit_us, name, chance):
    result = estimate(hundred(hit_us, 10))
    assert result.interference_s == pytest.approx(10 * hit_us / 1e6)
    assert result.interference_pct == pytest.approx(100 * 10 * hit_us / (10_000 + 10 * hit_us))
    assert (result.interference_class, result.hit_segments, result.segments) == (name, 10, 100)
    assert result.probability == pytest.approx(chance, abs=0.0001)
    assert result.certain
    assert result.cpu_pct == 0


def test_every_segment_is_accounted_for():
    result = estimate(hundred(50, 10))
    assert result.excess_us.sum() / 1e6 == pytest.approx(result.interference_s)
    assert np.flatnonzero(result.hit).tolist() == list(range(90, 100))
    assert result.duration_us.sum() / 1e6 == pytest.approx(result.total_s)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-6, "0.002 ms"), (0.0996, "100 ms"), (0.1, "0.1 s"), (9.96, "10 s"), (99.6, "100 s"), (180, "3 min")],
)
def test_durations_are_written_out(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("percent", "text"), [(0.05, "less than 0.1 %"), (7.56, "about 7.6 %"), (99.6, "about 100 %")])
def test_percentages_are_written_out(percent, text):
    assert percent_text(percent) == text


def test_sentences():
    assert estimate(hundred(50, 10)).sentence() == (
        "Lost about 4.8 % (0.5 ms) to interference in 10 of 100 segments; fairly certain."
    )
    assert estimate(hundred(0, 0)).sentence() == "No interference seen in 100 segments; fairly certain."
    assert estimate(hundred(0.1, 1)).sentence().startswith("Lost less than 0.1 % (")
    assert estimate(hundred(50, 40)).sentence().endswith("segments; less certain (many segments hit).")


def test_an_hour_is_not_told_in_seconds():
    hours = table([6e8] * 90 + [1.2e9] * 10, instructions=[1e9] * 100)
    assert "(100 min)" in estimate(hours).sentence()


def test_no_segments_cannot_be_told():
    result = estimate_profile(make_profile(mpi="", n_segments=0))
    assert result.sentence() == (
        "Whether time was lost to interference cannot be told: no segments: no MPI program, or its ranks meet nowhere "
        "in step."
    )
    document = result.to_json()
    assert (document["interference_pct"], document["probability"], document["class"]) == (None, None, "unknown")
    assert (document["certain"], document["uncovered_pct"], document["segments"]) == (False, 100.0, 0)


def test_too_few_segments_cannot_be_told():
    result = estimate(table([100.0] * 4, instructions=[1e6] * 4))
    assert result.interference_pct is None
    assert not result.certain
    assert result.sentence().endswith("cannot be told: too few like segments (4 in all).")


@pytest.mark.parametrize(("method", "least"), [("robust", 8), ("thesis", 5)])
def test_without_enough_like_segments_nothing_was_lost(method, least):
    """Even where one of the few took ten times as long: there is no figure that seconds and hits could belong to."""
    few = least - 1
    result = estimate_by(table([100.0] * (few - 1) + [1000.0], instructions=[1e6] * few), method=method)
    assert (result.interference_pct, result.interference_s, result.hit_segments) == (None, 0.0, 0)
    assert not result.hit.any()
    assert not result.excess_us.any()
    assert f"no {least} of them are alike" in result.warnings[0]


def test_segments_that_mostly_take_no_time_are_not_judged():
    mostly_none = [0.0] * 60 + [500.0] * 40
    result = estimate_by(table(mostly_none + [1000.0] * 100, p2p_calls=[1.0] * 100 + [2.0] * 100))
    assert result.clusters.covered.tolist() == [False, True]
    assert result.uncovered_pct == pytest.approx(100 * 20_000 / 120_000)


def test_segments_without_duration_cannot_be_told():
    assert estimate(table([0.0] * 50)).interference_pct is None


def test_cautions_of_a_single_run():
    assert reasons(estimate(hundred(50, 10))) == []
    assert reasons(estimate(hundred(50, 36))) == ["many segments hit"]
    assert reasons(estimate(table([100.0] * 29, instructions=[1e6] * 29))) == ["few segments"]
    lonely = table([100.0] * 100 + [4_000.0], instructions=[1e6] * 100 + [5e7])
    assert reasons(estimate(lonely)) == ["29% of the time not judged"]
    assert estimate(lonely).uncovered_pct == pytest.approx(100 * 4_000 / 14_000)
    merged = table([400.0] * 100, instructions=[1e6] * 100, stride=[4] * 100)
    assert reasons(estimate(merged)) == ["merged segments"]
    noisy = table(1e5 * (1 + 0.1 * np.tile([-1, 0, 1, 0.5], 25)), instructions=[1e6] * 100)
    assert reasons(estimate(noisy)) == ["noisy segments"]


def test_jitter_of_short_segments_is_noise_only_at_high_rates():
    jitter = 1 + 0.04 * np.tile([-1, 0, 1, 1], 25)
    assert reasons(estimate(table(200 * jitter, **WORK))) == ["very short segments"]
    assert reasons(estimate(table(20_000 * jitter, **WORK))) == []


def test_missing_counters_cost_certainty():
    result = estimate(table([100.0] * 100, cpu_us=[80.0] * 100, instructions=[0.0] * 100))
    assert not result.certain
    assert result.work_kind == "cpu_us"
    assert result.cpu_pct is None
    assert "no processor counters" in result.sentence()


def test_document_is_json_and_bounded():
    durations = np.repeat(100.0 * 1.3 ** np.arange(40), 5)
    result = estimate(table(durations, instructions=durations * 1e3))
    document = json.loads(json.dumps(result.to_json(max_clusters=7), allow_nan=False))
    assert {
        "interference_pct", "interference_s", "class", "probability", "certain", "warnings", "segments", "hit_segments",
        "cpu_pct", "run_delay_pct", "uncovered_pct", "method", "clusters",
    } <= set(document)  # fmt: skip
    assert len(document["clusters"]) == 7
    assert document["clusters_not_listed"] == 33
    longest = document["clusters"][0]
    assert longest["median_us"] == pytest.approx(durations[-1])
    assert (longest["size"], longest["first_segment"], longest["hit"], longest["lost_s"]) == (5, 195, 0, 0)


def test_clusters_add_up():
    document = estimate(hundred(50, 10)).to_json()
    cluster = document["clusters"][0]
    assert (cluster["size"], cluster["hit"], cluster["median_us"], cluster["mad_us"]) == (100, 10, 100, 0)
    assert cluster["lost_s"] == document["interference_s"]
    assert cluster["time_s"] == document["total_s"]


def test_planted_slow_segments_are_found_in_a_profile():
    planted = {i: 12.0 for i in range(200, 260)}
    profile = make_profile(n_segments=2_000, slow_segments=planted)
    result = estimate_profile(profile)
    assert set(planted) <= set(np.flatnonzero(result.hit))
    assert result.interference_s == pytest.approx(60 * 0.012, rel=0.02)


def test_run_delay_is_that_of_the_mpi_ranks():
    """2 ms per process and second, as the profile was made with."""
    assert estimate_profile(make_profile(n_segments=50)).run_delay_pct == pytest.approx(0.2)
    assert estimate_profile(make_profile(mpi="")).run_delay_pct is None


def test_ranks_without_processors_of_their_own_are_said():
    """80 ms a second: a slow-down of the whole run, which segments do not show."""
    crowded = estimate_profile(make_profile(n_segments=2_000, rates=LAMMPS_RATES | {"run_delay": 80_000_000}))
    assert crowded.run_delay_pct == pytest.approx(8)
    assert reasons(crowded) == ["processors were shared"]
    assert crowded.interference_pct < 0.5


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"dur_us": [100.0, -3.0]}, "segment 1: dur_us is -3"),
        ({"dur_us": [100.0, np.inf]}, "segment 1: dur_us is inf"),
        ({"dur_us": [100.0, np.nan]}, "segment 1: dur_us is nan"),
        ({"dur_us": [100.0, 100.0], "instructions": [-5.0, -5.0]}, "segment 0: instructions is -5"),
        ({"dur_us": [100.0, 100.0], "io_bytes": [0.0, -8.0]}, "segment 1: io_bytes is -16"),
    ],
)
def test_impossible_values_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        estimate(table(**bad))


def test_unknown_method_is_named():
    with pytest.raises(InputError, match="no method 'guess'; there are: robust, thesis"):
        estimate_by(hundred(0, 0), method="guess")


def test_durations_are_needed():
    lame = table([100.0] * 5)
    lame.columns.pop("dur_us")
    with pytest.raises(InputError, match="dur_us"):
        estimate(lame)


def test_a_rank_that_ended_early_is_told_and_the_rest_is_judged():
    valid = np.ones((3, 200), dtype=bool)
    valid[2, 120:] = False
    result = estimate_by(table([100.0] * 150 + [150.0] * 5 + [100.0] * 45, n_ranks=3, valid=valid))
    assert result.interference_s == pytest.approx(5 * 50 / 1e6)
    assert "1 of 3 ranks ended before the last segment; the others are judged from then on." in result.notes


def test_ranks_without_segments_are_told_and_did_not_end_early():
    valid = np.ones((4, 200), dtype=bool)
    valid[1] = False
    result = estimate_by(table([100.0] * 200, n_ranks=4, valid=valid))
    assert "1 of 4 ranks left out" in reasons(result)
    assert not result.certain
    assert not any("ended before" in note for note in result.notes)
    assert "ranks left out" not in " ".join(reasons(estimate_by(table([100.0] * 200, n_ranks=4))))


def test_ranks_that_counted_different_collectives_are_told():
    profile = make_profile(n_segments=0)
    unlike = dataclasses.replace(profile, segments=None, dropped_files=(("a.xws", NO_COMMON_NUMBERS),))
    result = estimate_profile(unlike)
    assert result.interference_class == "unknown"
    assert reasons(result) == ["ranks counted different collectives"]
