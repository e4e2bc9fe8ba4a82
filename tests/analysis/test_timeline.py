"""Rates, gaps, sums, axes and resampling on numbers that can be checked by eye."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.analysis import timeline
from crosswind.analysis.errors import InputError
from crosswind.analysis.units import display_unit

S = 1_000_000_000
NAN = np.nan


def same(got, expected):
    return np.array_equal(got, np.array(expected, dtype=float), equal_nan=True)


def test_counters_become_rates_of_the_covered_time():
    """The second slice was covered for half a second, the third not at all."""
    values = np.array([[8, 8, 0]])
    covered = np.array([[4 * S, S // 2, 0]])
    assert same(timeline.rates(values, covered, "B", "counter"), [[2, 16, NAN]])


def test_nothing_done_is_zero_and_nobody_there_is_a_gap():
    assert same(timeline.rates(np.array([[0, 0]]), np.array([[S, 0]]), "count", "counter"), [[0, NAN]])


def test_times_become_shares():
    assert same(timeline.rates(np.array([[S, 3 * S]]), np.array([[4 * S, S]]), "ns", "counter"), [[0.25, 3]])


def test_gauges_stay():
    assert same(timeline.rates(np.array([[7, 9]]), np.array([[4 * S, 0]]), "B", "gauge"), [[7, NAN]])


def test_large_counters_do_not_overflow():
    """Nanosecond counters of thousands of threads, times 1e9, leave the range of int64."""
    values = np.array([[4 * 10**18]])
    assert timeline.rates(values, np.array([[S]]), "B", "counter")[0, 0] == pytest.approx(4e18)


@pytest.mark.parametrize(
    ("unit", "kind", "result"),
    [("B", "counter", "B/s"), ("count", "counter", "1/s"), ("ns", "counter", "share"), ("B", "gauge", "B")],
)
def test_units_of_rates(unit, kind, result):
    assert timeline.rate_unit(unit, kind) == result


def test_job_rates_of_processes_that_follow_each_other():
    """Ten processes of 100 ms write 5 bytes each within a slice of 1 s: 50 B/s, not 500."""
    covered = np.zeros((11, 3), dtype=np.int64)
    covered[0] = [S, 0, S]
    covered[1:, 1] = S // 10
    values = np.where(covered > 0, 5, 0)
    assert same(timeline.job_rates(values, covered, S, "B", "counter"), [5, 50, 5])


def test_job_is_there_partly_at_both_ends():
    covered = np.array([[0, S, 4 * S, 2 * S, 0], [0, S // 2, 4 * S, S, 0]])
    assert same(timeline.job_seconds(covered, 4 * S), [NAN, 1, 4, 2, NAN])
    values = np.array([[0, 3, 8, 4, 0], [0, 1, 8, 4, 0]])
    assert same(timeline.job_rates(values, covered, 4 * S, "count", "counter"), [NAN, 4, 4, 4, NAN])


def test_a_job_that_goes_on_is_there_for_whole_slices():
    covered = np.array([[0, 1, 2, 3]]) * S
    assert same(timeline.job_seconds(covered, 4 * S, (True, False)), [NAN, 4, 4, 3])
    assert same(timeline.job_seconds(covered, 4 * S, (False, True)), [NAN, 1, 4, 4])
    assert same(timeline.job_seconds(covered, 4 * S, (True, True)), [NAN, 4, 4, 4])


def test_cpu_times_add_up_to_processors():
    covered = np.full((3, 2), 4 * S)
    busy = np.array([[4 * S, 0], [4 * S, 0], [2 * S, S]])
    assert same(timeline.job_rates(busy, covered, 4 * S, "ns", "counter"), [2.5, 0.25])


def test_gauges_add_up_over_those_present():
    covered = np.array([[S, S], [S, 0]])
    assert same(timeline.job_rates(np.array([[5, 5], [7, 7]]), covered, S, "B", "gauge"), [12, 5])


def test_no_process_no_job():
    assert same(
        timeline.job_rates(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64), S, "B", "counter"),
        [NAN, NAN],
    )


def test_band_leaves_gaps_out():
    spread = timeline.band(np.array([[1, NAN, NAN], [5, 2, NAN], [3, 4, NAN]]))
    assert same(spread.low, [1, 2, NAN])
    assert same(spread.median, [3, 3, NAN])
    assert same(spread.high, [5, 4, NAN])


def test_others_are_the_total_less_oneself_and_never_negative():
    assert timeline.others(np.array([10, 4, 3]), np.array([4, 4, 5])).tolist() == [6, 0, 0]


@given(
    st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(NAN)), min_size=1, max_size=200),
    st.integers(1, 50),
)
def test_resampling_keeps_peaks_dents_and_gaps(points, max_points):
    values = np.array(points)
    reduced = timeline.resample(values, max_points)
    assert reduced.start.size <= max_points
    bins = [values[begin : begin + reduced.width] for begin in reduced.start]
    assert sum(part.size for part in bins) == values.size
    for part, low, mean, high in zip(bins, reduced.low, reduced.mean, reduced.high, strict=True):
        numbers = part[~np.isnan(part)]
        if numbers.size:
            assert (low, high) == (numbers.min(), numbers.max())
            assert mean == pytest.approx(numbers.mean(), abs=1e-6)
        else:
            assert np.isnan([low, mean, high]).all()


def test_a_short_series_is_not_resampled():
    values = np.array([1.0, NAN, 3.0])
    reduced = timeline.resample(values, 3)
    assert reduced.width == 1
    assert same(reduced.low, values)
    assert same(reduced.mean, values)
    assert same(reduced.high, values)


def test_resampling_needs_a_point():
    assert timeline.resample(np.zeros(0), 5).mean.size == 0
    with pytest.raises(InputError, match="0 points"):
        timeline.resample(np.zeros(3), 0)


@pytest.mark.parametrize(
    ("unit", "values", "factor", "label"),
    [
        ("B/s", [0, 5 * 2**20], 2**-20, "MiB/s"),
        ("B/s", [1023], 1, "B/s"),
        ("B/s", [-1024], 2**-10, "KiB/s"),
        ("B", [2**33, NAN], 2**-30, "GiB"),
        ("1/s", [12_000], 1e-3, "k/s"),
        ("1/s", [12], 1, "1/s"),
        ("count", [3e9], 1e-9, "G"),
        ("ns", [2_500_000], 1e-6, "ms"),
        ("ns", [0], 1, "ns"),
        ("share", [0.4], 100, "%"),
        ("processors", [3], 1, "processors"),
        ("B/s", [NAN, NAN], 1, "B/s"),
        ("B/s", [], 1, "B/s"),
    ],
)
def test_display_units(unit, values, factor, label):
    got = display_unit(unit, values)
    assert got.factor == pytest.approx(factor)
    assert got.label == label
