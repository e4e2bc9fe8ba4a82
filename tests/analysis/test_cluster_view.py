"""What pages draw of a cluster agrees with its members, counted by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from crosswind.analysis import InputError, cluster_view, estimate
from crosswind.profile.segments import SegmentTable
from support.segment_tables import table

N = 200
SLOW = [20, 21, 50, 120]
START_US = 1.76e15


def run() -> SegmentTable:
    """Steps of 1 ms, all the same; every tenth writes and takes 5 ms; four steps were held up by 2, 3, 4 and 5 ms."""
    writes = np.arange(N) % 10 == 9
    durations = np.where(writes, 5_000.0, 1_000.0) + 0.1 * (np.arange(N) % 7)
    durations[SLOW] += [2_000.0, 3_000.0, 4_000.0, 5_000.0]
    begins = START_US + np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return table(durations, t_start_us=begins, io_calls=writes.astype(float), instructions=np.full(N, 1e6))


def view(segments: SegmentTable, **options):
    return cluster_view(segments, estimate(segments), **options)


def test_the_longest_cluster_is_first_as_in_the_document():
    segments = run()
    found = estimate(segments)
    views = cluster_view(segments, found)
    document = found.to_json()["clusters"]
    assert [v.time_s for v in views] == [row["time_s"] for row in document]
    assert [v.lost_s for v in views] == [row["lost_s"] for row in document]
    assert [v.segments for v in views] == [180, 20]
    assert len(cluster_view(segments, found, clusters=1)) == 1


def test_the_box_is_of_the_members():
    steps = view(run())[0]
    durations = np.sort(run().columns["dur_us"][0][run().columns["io_calls"][0] == 0])
    assert (steps.members, steps.segments) == (180, 180)
    assert steps.median_us == pytest.approx((durations[89] + durations[90]) / 2)
    assert np.count_nonzero(durations < steps.low_us) <= 0.01 * 180
    assert 0.005 * 180 < np.count_nonzero(durations > steps.high_us) <= 0.015 * 180
    assert durations[44] <= steps.q1_us <= durations[45]
    assert durations[134] <= steps.q3_us <= durations[135]


def test_the_threshold_parts_quiet_and_hit():
    steps = view(run())[0]
    assert 1_000.6 < steps.threshold_us < 3_000
    assert int(steps.histogram.hit.sum()) == len(SLOW)


@pytest.mark.parametrize("bins", [1, 7, 60])
def test_each_member_is_in_one_bin(bins):
    for cluster in view(run(), bins=bins):
        histogram = cluster.histogram
        assert histogram.edges_us.size == bins + 1 == histogram.quiet.size + 1
        assert np.all(np.diff(histogram.edges_us) > 0)
        assert int((histogram.quiet + histogram.hit).sum()) == cluster.members


def test_bins_of_a_long_tail_are_logarithmic():
    assert not view(run())[0].histogram.logarithmic
    late = run()
    late.columns["dur_us"][:, 50] = 1e6
    histogram = view(late)[0].histogram
    assert histogram.logarithmic
    assert np.diff(np.log(histogram.edges_us)) == pytest.approx(np.log(1e6 / 1_000) / 60, rel=1e-3)
    assert histogram.hit[-1] == 1


def test_equal_members_are_one_bar():
    histogram = view(table(np.full(50, 1_000.0), instructions=np.full(50, 1e6)))[0].histogram
    assert sorted(histogram.quiet)[-2:] == [0, 50]


def test_hits_are_named_with_their_times():
    segments = run()
    hits = view(segments)[0].hits
    assert hits.segment.tolist() == SLOW
    assert hits.begin_us.tolist() == segments.columns["t_start_us"][0, SLOW].tolist()
    assert hits.lost_us == pytest.approx([2_000, 3_000, 4_000, 5_000], abs=1)
    assert hits.not_listed == 0


def test_of_many_hits_those_that_lost_most_are_listed_in_run_order():
    hits = view(run(), most_hits=2)[0].hits
    assert (hits.segment.tolist(), hits.not_listed) == ([50, 120], 2)


def test_segments_without_start_times_have_hits_without_times():
    segments = run()
    del segments.columns["t_start_us"]
    hits = view(segments)[0].hits
    assert hits.begin_us is None
    assert hits.segment.tolist() == SLOW


def test_merged_segments_count_as_their_mean():
    stride = np.full(50, 4)
    found = view(table(np.full(50, 4_000.0), instructions=np.full(50, 1e6), stride=stride))[0]
    assert (found.members, found.segments, found.median_us) == (50, 200, 1_000)
    assert 1_000 < found.threshold_us < 1_100


def test_a_run_without_judged_segments_has_no_clusters():
    assert view(table(np.zeros(0))) == ()
    assert view(table(np.full(3, 1_000.0))) == ()


def test_a_wrong_table_and_no_bins_are_refused():
    found = estimate(run())
    with pytest.raises(InputError, match="200 segments, the table has 100"):
        cluster_view(_half(run()), found)
    with pytest.raises(InputError, match="a bin or more"):
        cluster_view(run(), found, bins=0)


def _half(segments: SegmentTable) -> SegmentTable:
    columns = {name: values[:, :100] for name, values in segments.columns.items()}
    return replace(
        segments,
        index=segments.index[:100],
        columns=columns,
        valid=segments.valid[:, :100],
        stride=segments.stride[:100],
    )


def test_the_document_is_json():
    document = json.loads(json.dumps([v.to_json() for v in view(run())]))
    assert document[0]["hits"]["segment"] == SLOW
    assert sum(document[0]["histogram"]["hit"]) == 4
