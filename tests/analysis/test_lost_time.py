"""Losses per slice against a sum over microseconds, one after the other."""

import numpy as np
import pytest

from crosswind.analysis import InputError, estimate, estimate_profile, lost_per_slice
from support.profiles import make_profile
from support.segment_tables import table

SLICE_NS = 1_000_000  # 1 ms
FIRST_SLICE = 50


def run(durations, start_us=FIRST_SLICE * 1000.0):
    """A table of segments that follow each other from the begin of the first slice."""
    durations = np.asarray(durations, dtype=float)
    begins = start_us + np.concatenate([[0], np.cumsum(durations)[:-1]])
    return table(durations, t_start_us=begins, instructions=[1e6] * durations.size)


def test_loss_is_spread_over_the_segment():
    """Segments of 500 us; the one from 1000 to 3500 us lost 2000 us, evenly over slices 1, 2 and half of 3."""
    segments = run([500, 500, 2500] + [500] * 20)
    lost = lost_per_slice(segments, estimate(segments), SLICE_NS, FIRST_SLICE, 6)
    assert lost == pytest.approx([0, 0.0008, 0.0008, 0.0004, 0, 0], abs=1e-12)


def test_against_a_sum_over_microseconds():
    rng = np.random.default_rng(8)
    durations = rng.integers(300, 320, 200) + np.where(rng.random(200) < 0.1, rng.integers(200, 3000, 200), 0)
    segments = run(durations)
    result = estimate(segments)
    ticks = np.repeat(result.excess_us / durations, durations) / 1e6
    n_slices = -(-ticks.size // 1000)
    expected = np.add.reduceat(ticks, np.arange(0, ticks.size, 1000))
    lost = lost_per_slice(segments, result, SLICE_NS, FIRST_SLICE, n_slices)
    assert lost == pytest.approx(expected, abs=1e-12)
    assert lost.sum() == pytest.approx(result.interference_s)


def test_slices_beside_the_run_lose_nothing():
    segments = run([500] * 30 + [5_000])
    result = estimate(segments)
    early = lost_per_slice(segments, result, SLICE_NS, FIRST_SLICE - 10, 10)
    late = lost_per_slice(segments, result, SLICE_NS, FIRST_SLICE + 20, 10)
    assert early.tolist() == [0] * 10
    assert late == pytest.approx([0] * 10, abs=1e-15)


def test_a_quiet_run_loses_nothing():
    segments = run([500] * 30)
    assert lost_per_slice(segments, estimate(segments), SLICE_NS, FIRST_SLICE, 4).tolist() == [0] * 4


def test_losses_lie_where_they_were_planted():
    """15 s into the run, at 20 ms a segment: slice 3 of 4 s."""
    profile = make_profile(n_segments=2_500, slow_segments={750 + i: 8.0 for i in range(30)})
    result = estimate_profile(profile)
    lost = lost_per_slice(profile.segments, result, profile.slice_ns, profile.first_slice, profile.n_slices)
    assert np.argmax(lost) == 3
    assert lost[3] == pytest.approx(30 * 0.008, rel=0.02)


def test_misuse_is_refused():
    segments = run([500] * 30)
    with pytest.raises(InputError, match="30 segments, the table has 31"):
        lost_per_slice(run([500] * 31), estimate(segments), SLICE_NS, FIRST_SLICE, 4)
    segments.columns.pop("t_start_us")
    with pytest.raises(InputError, match="start times"):
        lost_per_slice(segments, estimate(segments), SLICE_NS, FIRST_SLICE, 4)
