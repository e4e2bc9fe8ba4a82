"""Segments without their like: counted as lost only amid others that were all hit, at the rate of the time beside."""

import numpy as np
import pytest

from crosswind.analysis import estimate
from crosswind.analysis.lone_segments import lost_amid_hits
from support.segment_tables import table

N = 60
LATE = 400.0  # by which a hit segment of 1000 us is late


def lost(lone, hit, length_us=5_000.0, judged=None):
    """The loss of the lone segments, [lone], in a run of segments of 1 ms, 1.4 ms where hit."""
    alone, struck = np.zeros(N, dtype=bool), np.zeros(N, dtype=bool)
    alone[lone], struck[hit] = True, True
    struck &= ~alone
    duration = np.where(alone, length_us, np.where(struck, 1_000.0 + LATE, 1_000.0))
    told = ~alone if judged is None else judged & ~alone
    found = lost_amid_hits(alone, told, duration, np.where(struck, LATE, 0.0))
    assert np.all(found[~alone] == 0)
    return found[alone]


def test_amid_hits_it_lost_at_their_rate():
    assert lost([30], slice(20, 41)) == pytest.approx([5_000 * LATE / 1_400])


def test_at_the_begin_and_the_end_one_side_tells():
    rate = LATE / 1_400
    assert lost([0], slice(0, 12)) == pytest.approx([5_000 * rate])
    assert lost([N - 1], slice(40, N)) == pytest.approx([5_000 * rate])


@pytest.mark.parametrize("hit", [slice(20, 30), slice(31, 41), slice(0, 0), slice(20, 41, 2)])
def test_where_not_all_beside_it_were_hit_nothing_is_known(hit):
    assert lost([30], hit) == 0


def test_one_quiet_neighbour_is_enough_to_say_nothing():
    hits = np.setdiff1d(np.arange(10, 51), [36])
    assert lost([30], hits) == 0


def test_the_rate_is_that_of_as_much_time_as_it_takes_itself():
    """20 ms: 8 hit segments on either side are 11.2 ms, the rest of that time was quiet."""
    hits = slice(22, 39)
    beside_us, lost_us = 8 * 1_400 + 9 * 1_000, 8 * LATE
    assert lost([30], hits, length_us=20_000.0) == pytest.approx([20_000 * lost_us / beside_us])


def test_neighbours_without_their_like_are_one_stretch():
    rate = LATE / 1_400
    assert lost([30, 31, 32], slice(10, 55)) == pytest.approx(3 * [5_000 * rate])
    assert lost([30, 34], slice(10, 55)).tolist() == [0, 0]


def test_what_was_not_compared_tells_nothing():
    judged = np.ones(N, dtype=bool)
    judged[18:44] = False
    assert lost([30], slice(18, 44), length_us=15_000.0, judged=judged) == 0


def test_longer_than_all_that_tells_of_it():
    assert lost([30], slice(0, N), length_us=300_000.0) == 0


def test_short_runs_and_none():
    assert lost_amid_hits(*np.ones((2, 3), dtype=bool), np.ones(3), np.ones(3)).tolist() == [0, 0, 0]
    none = np.zeros(0)
    assert lost_amid_hits(none.astype(bool), none.astype(bool), none, none).size == 0


def test_the_estimate_has_it_in_figure_note_and_upper_bound_but_not_in_the_lower():
    """A long setup and the first 100 steps of 500 took half as long again."""
    durations = np.r_[50_000.0, np.full(500, 1_000.0)] + np.tile([0.0, 1.0, 2.0], 167)
    durations[:101] *= 1.5
    segments = table(durations, instructions=np.ones(501), io_calls=np.r_[99.0, np.zeros(500)])
    found = estimate(segments)
    true_us = 25_000 + 100 * 500
    assert 1e6 * found.interference_s == pytest.approx(true_us, rel=0.01)
    assert found.hit[0]
    assert found.uncovered_pct == pytest.approx(100 * durations[0] / durations.sum())
    low, high = found.interval_pct
    assert low < 100 * 50_000 / durations.sum() + 0.01 < found.interference_pct <= high
    assert any("amid others that were all hit" in note for note in found.notes)
