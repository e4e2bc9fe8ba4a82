"""Stretches that were hit, on tables whose answer is plain."""

import dataclasses

import numpy as np
import pytest

from crosswind.analysis import InputError, estimate, untrusted_intervals
from support.segment_tables import table

N = 200


def run(slow):
    """Segments of 10 ms that begin at 1 s; those in `slow` take 5 ms longer."""
    durations = np.full(N, 10_000.0)
    durations[list(slow)] += 5_000
    begins = 1e6 + np.concatenate([[0], np.cumsum(durations)[:-1]])
    segments = table(durations, t_start_us=begins, instructions=np.full(N, 1e6))
    return segments, estimate(segments)


def test_neighbours_are_one_interval_and_two_quiet_segments_are_bridged():
    found = untrusted_intervals(*run([50, 51, 54, 58, 120]))
    assert found.first.tolist() == [50, 58, 120]
    assert found.last.tolist() == [54, 58, 120]
    assert found.segments.tolist() == [5, 1, 1]
    assert found.hit.tolist() == [3, 1, 1]
    assert found.lost_s == pytest.approx([0.015, 0.005, 0.005])
    assert found.begin_s == pytest.approx([0.5, 0.595, 1.22])
    assert found.begin_us == pytest.approx(1e6 + 1e6 * found.begin_s)
    assert found.end_us - found.begin_us == pytest.approx([65_000, 15_000, 15_000])


def test_merged_segments_count_as_what_they_merge():
    """Every column of this table is four segments: 40 to 43 and so on."""
    segments, result = run([10, 12])
    merged = dataclasses.replace(segments, index=4 * segments.index, stride=4 * segments.stride)
    found = untrusted_intervals(merged, result)
    assert (found.first.tolist(), found.last.tolist()) == ([40], [51])
    assert (found.segments.tolist(), found.hit.tolist()) == ([12], [8])


def test_the_first_and_the_last_segment():
    found = untrusted_intervals(*run([0, 1, N - 1]))
    assert found.first.tolist() == [0, N - 1]
    assert found.last.tolist() == [1, N - 1]


def test_all_losses_lie_in_intervals():
    segments, result = run(np.flatnonzero(np.random.default_rng(4).random(N) < 0.2))
    found = untrusted_intervals(segments, result)
    assert found.lost_s.sum() == pytest.approx(result.interference_s)
    assert found.hit.sum() == result.hit_segments
    assert np.all(found.first[1:] > found.last[:-1] + 2)


def test_a_quiet_run_has_none():
    assert untrusted_intervals(*run([])).n == 0


def test_misuse_is_refused():
    segments, result = run([3])
    with pytest.raises(InputError, match=f"{N} segments, the table has 5"):
        untrusted_intervals(table(np.ones(5), t_start_us=np.arange(5.0)), result)
    segments.columns.pop("t_start_us")
    with pytest.raises(InputError, match="start times"):
        untrusted_intervals(segments, result)
