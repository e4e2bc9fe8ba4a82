"""The thesis's estimator, step by step, on tables whose answer is known on paper."""

import numpy as np
import pytest

from crosswind.analysis.arrays import Grouping
from crosswind.analysis.features import segment_features
from crosswind.analysis.thesis import beyond_threshold, communication_groups, detect
from support.segment_tables import table


def reasons(detection):
    return {caution.reason for caution in detection.cautions}


def test_table_5_1_threshold():
    """Cluster 46 of lammps: median 26951 us and MAD 294.14 us put the threshold at 28127.5 us."""
    median, mad = 26951.0, 294.14
    durations = median + np.array([-3 * mad, -mad, -mad, 0.0, mad, mad, 3_000.0])
    threshold, hit, excess = beyond_threshold(
        durations, Grouping.of(np.zeros(7, dtype=np.int64)), np.ones(7, dtype=bool)
    )
    assert threshold == pytest.approx(28127.48, abs=0.1)
    assert hit.tolist() == [False] * 6 + [True]
    assert excess.sum() == pytest.approx(median + 3_000 - 28127.48, abs=0.1)


def test_excess_is_counted_from_the_threshold_not_the_median():
    durations = [98.0, 99.0, 100.0, 101.0, 102.0, 200.0]  # median 100.5, deviations 2.5 1.5 .5 .5 1.5 99.5: MAD 1.5
    found = detect(segment_features(table(durations, instructions=[1000.0] * 6)))
    assert found.threshold_us.tolist() == [106.5] * 6
    assert found.excess_us.tolist() == [0, 0, 0, 0, 0, 93.5]
    assert found.hit.tolist() == [False] * 5 + [True]


def test_more_work_is_not_interference():
    """Long segments that complete twice the instructions form a cluster of their own."""
    durations = [100.0] * 10 + [200.0] * 10
    work = [1e6] * 10 + [2e6] * 10
    assert detect(segment_features(table(durations, instructions=work))).excess_us.sum() == 0


def test_other_communication_is_not_interference():
    durations, calls = [100.0] * 10 + [200.0] * 6, [10] * 10 + [11] * 6
    found = detect(segment_features(table(durations, instructions=[1e6] * 16, p2p_calls=calls)))
    assert found.excess_us.sum() == 0
    assert len(set(found.labels)) == 2


def test_clusters_of_fewer_than_five_are_not_judged():
    durations = [100.0] * 10 + [500.0] * 3 + [900.0]
    work = [1e6] * 10 + [3e6] * 4
    found = detect(segment_features(table(durations, instructions=work)))
    assert found.covered.tolist() == [True] * 10 + [False] * 4
    assert not found.hit.any()


@pytest.mark.parametrize("size", [4, 5])
def test_five_is_enough(size):
    found = detect(segment_features(table([100.0] * (size - 1) + [150.0], instructions=[1e6] * size)))
    assert found.hit.sum() == (size == 5)


def test_clusters_most_of_which_took_no_time_are_not_judged():
    """Median and MAD are 0, so formally the three that took any time would be lost whole."""
    durations = [0.0] * 10 + [50.0] * 3
    found = detect(segment_features(table(durations, instructions=[0.0] * 13, p2p_calls=[1.0] * 13)))
    assert not found.covered.any()
    assert not found.hit.any()


def test_durations_are_medians_over_ranks():
    """One rank that leaves late, with its clock or a signal, does not lengthen the segment."""
    durations = np.full((5, 20), 100.0)
    durations[3, 7] = 10_000
    assert not detect(segment_features(table(durations, n_ranks=5, instructions=[1e6] * 20))).hit.any()


def test_work_is_that_of_the_busiest_rank():
    work = np.full((2, 12), 1e6)
    work[1, 6:] = 3e6
    labels = detect(segment_features(table([100.0] * 12, instructions=work))).labels
    assert labels.tolist() == [0] * 6 + [1] * 6


def test_calls_are_summed_over_ranks():
    """The same calls on another rank are the same communication."""
    calls = np.array([[3, 1] * 5, [1, 3] * 5])
    assert set(detect(segment_features(table([100.0] * 10, instructions=[1e6] * 10, p2p_calls=calls))).labels) == {0}


def test_bytes_that_vary_are_dropped_and_said_so():
    rng = np.random.default_rng(4)
    columns = {"p2p_calls": [4] * 60, "p2p_bytes": rng.integers(1_000, 9_000_000, 60)}
    found = detect(segment_features(table([100.0] * 59 + [300.0], instructions=[1e6] * 60, **columns)))
    assert found.hit.tolist() == [False] * 59 + [True]
    assert any("Byte counts" in note for note in found.notes)
    without_counters = detect(segment_features(table([100.0] * 60, **columns)))
    assert "byte counts vary" in reasons(without_counters)


def test_bytes_that_tell_phases_apart_are_kept():
    """A tenth of the segments moves other bytes each time; the rest is regular: the bytes stay a feature."""
    sent = np.where(np.arange(50) % 10 == 9, 1_000 + np.arange(50), np.where(np.arange(50) % 2, 64, 128))
    features = segment_features(table([100.0] * 50, instructions=[1e6] * 50, p2p_bytes=sent))
    groups, notes, cautions = communication_groups(features)
    assert not notes
    assert not cautions
    assert groups[0] != groups[1]


def test_bytes_that_drift_in_steps_are_dropped():
    """Twenty stretches of ten segments with the same bytes each: every one is too short a piece of the run."""
    features = segment_features(table([100.0] * 200, instructions=[1e6] * 200, p2p_bytes=np.arange(200) // 10))
    groups, notes, _ = communication_groups(features)
    assert set(groups) == {0}
    assert "Byte counts" in notes[0]


def test_nine_kinds_of_bytes_are_phases():
    features = segment_features(table([100.0] * 90, instructions=[1e6] * 90, p2p_bytes=np.arange(90) % 9))
    groups, notes, _ = communication_groups(features)
    assert (len(set(groups)), notes) == (9, ())


def test_bytes_stay_where_dropping_them_helps_nothing():
    features = segment_features(table([100.0] * 8, p2p_calls=range(8), p2p_bytes=range(8)))
    groups, notes, cautions = communication_groups(features)
    assert (len(set(groups)), notes, cautions) == (8, (), ())


def test_the_best_work_feature_is_taken_and_each_step_down_is_said():
    flops = {"flops": [1e6] * 9, "instructions": [2e6] * 9, "cpu_us": [90.0] * 9}
    best = detect(segment_features(table([100.0] * 9, **flops)))
    assert (best.work_kind, best.notes, best.cautions) == ("flops", (), ())
    second = detect(segment_features(table([100.0] * 9, **flops | {"flops": [0.0] * 9})))
    assert second.work_kind == "instructions"
    assert "instructions stand in" in second.notes[0]
    third = detect(segment_features(table([100.0] * 9, cpu_us=[90.0] * 9, instructions=[0.0] * 9)))
    assert (third.work_kind, reasons(third)) == ("cpu_us", {"no processor counters"})
    last = detect(segment_features(table([100.0] * 9)))
    assert (last.work_kind, reasons(last)) == ("none", {"no measure of work"})


def test_cpu_time_beyond_the_usual_is_told_apart_from_the_loss():
    """Of two hit segments one waited and one computed longer: only the latter shows as CPU time."""
    durations, cpu = [100.0] * 18 + [150.0, 150.0], [90.0] * 18 + [90.0, 140.0]
    found = detect(segment_features(table(durations, instructions=[1e6] * 20, cpu_us=cpu)))
    assert found.excess_us.sum() == 100
    assert found.cpu_excess_us.sum() == 50
    assert detect(segment_features(table(durations, cpu_us=cpu))).cpu_excess_us is None


def test_drift_that_chains_is_said():
    work = 1e6 * 1.02 ** np.arange(60)
    assert "work drifts" in reasons(detect(segment_features(table(work / 1e4, instructions=work))))
    steady = 1e6 * (1 + 0.01 * np.sin(np.arange(60)))
    assert not reasons(detect(segment_features(table(steady / 1e4, instructions=steady))))


def test_merged_segments_are_compared_with_their_like():
    durations = [100.0] * 10 + [400.0] * 10
    found = detect(segment_features(table(durations, cpu_us=[50.0] * 20, stride=[1] * 10 + [4] * 10)))
    assert not found.hit.any()
    assert len(set(found.labels)) == 2


def test_a_rank_that_died_leaves_the_rest_usable():
    valid = np.ones((3, 40), dtype=bool)
    valid[1, 25:] = False
    durations = [100.0] * 39 + [180.0]
    found = detect(
        segment_features(table(durations, n_ranks=3, valid=valid, instructions=[1e6] * 40, p2p_calls=[5] * 40))
    )
    assert found.covered.all()
    assert np.flatnonzero(found.hit).tolist() == [39]


def test_segments_that_no_rank_has_weigh_nothing():
    valid = np.ones((2, 20), dtype=bool)
    valid[:, 4:12] = False
    found = detect(segment_features(table([100.0] * 19 + [120.0], valid=valid, instructions=[1e6] * 20)))
    assert np.flatnonzero(found.hit).tolist() == [19]
    assert found.excess_us[19] == 20


def test_sums_are_over_the_ranks_that_are_there():
    """After rank 1 died the others still do two different things: 1 + 9 and 2 + 9 calls."""
    valid = np.ones((3, 20), dtype=bool)
    valid[1] = False
    calls = np.array([[1, 2] * 10, [5] * 20, [9] * 20])
    features = segment_features(table([100.0] * 20, n_ranks=3, valid=valid, p2p_calls=calls))
    assert features.calls["p2p_calls"].tolist() == [10, 11] * 10


def test_absent_segments_are_not_alike_to_present_ones():
    """Without any feature, only their presence tells them apart from segments of no duration."""
    valid = np.ones((2, 20), dtype=bool)
    valid[:, 8:] = False
    assert not detect(segment_features(table([100.0] * 20, valid=valid))).hit.any()
