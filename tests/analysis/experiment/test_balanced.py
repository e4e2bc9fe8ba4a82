"""The part of two runs that counts, on runs whose course is known."""

import numpy as np
import pytest

from crosswind.analysis.errors import InputError
from crosswind.analysis.experiment import Progress, common_part

S = 1_000_000_000
T0 = 1_800_000_000 * S


def progress(per_second, start_s=0.0, *, length_s=None, of_volume=True):
    start = T0 + round(start_s * S)
    length = len(per_second) if length_s is None else length_s
    return Progress(start, start + round(length * S), np.array(per_second, dtype=float), of_volume)


def seconds(ns):
    return (ns - T0) / S


def test_until_one_has_written_nine_tenths():
    fast = progress([100.0] * 10)  # 1000 in 10 s, 900 after 9 s
    slow = progress([50.0] * 18 + [10.0] * 10)  # a tail of one straggler
    part = common_part([fast, slow])
    assert part.balanced
    assert (seconds(part.begin_ns), seconds(part.end_ns)) == pytest.approx((0.0, 9.0))
    assert fast.rate(part.begin_ns, part.end_ns) == pytest.approx(100.0)
    assert slow.rate(part.begin_ns, part.end_ns) == pytest.approx(50.0)


def test_within_a_second_work_is_even():
    run = progress([0.0, 100.0])
    assert seconds(run.time_of_share(0.9)) == pytest.approx(1.9, abs=1e-6)
    assert run.done_by(T0 + 1.25 * S) == pytest.approx(25.0, abs=1e-4)


def test_a_tail_alone_is_left_out_of_a_run_alone():
    run = progress([100.0] * 9 + [10.0] * 10)
    part = common_part([run])
    assert seconds(part.end_ns) == pytest.approx(9.0, abs=1e-5)
    assert run.rate(part.begin_ns, part.end_ns) == pytest.approx(100.0)


def test_of_fixed_times_both_count_while_both_ran():
    first = progress([10.0] * 8, start_s=0.0, of_volume=False)
    second = progress([20.0] * 8, start_s=2.5, of_volume=False)
    part = common_part([first, second])
    assert not part.balanced
    assert (seconds(part.begin_ns), seconds(part.end_ns)) == pytest.approx((2.5, 8.0))


def test_a_signal_that_is_stopped_does_not_cut_the_probe():
    probe = progress([10.0] * 20)
    signal = progress([30.0] * 23, start_s=-3.0, of_volume=False)
    part = common_part([probe, signal])
    assert not part.balanced
    assert (seconds(part.begin_ns), seconds(part.end_ns)) == pytest.approx((0.0, 20.0))


def test_the_last_second_ends_with_the_run():
    run = progress([100.0, 50.0], length_s=1.5)
    assert run.rate(run.start_ns, run.end_ns) == pytest.approx(100.0)


def test_what_makes_no_sense():
    with pytest.raises(InputError, match="in common"):
        common_part([progress([1.0] * 2), progress([1.0] * 2, start_s=5)])
    with pytest.raises(InputError):
        Progress(T0, T0, np.ones(1), True)
    with pytest.raises(InputError):
        progress([1.0, -1.0])


def test_nothing_done_is_no_balanced_part():
    assert not common_part([progress([0.0] * 5), progress([1.0] * 5)]).balanced


def test_a_run_without_a_second_has_done_nothing():
    run = Progress(T0, T0 + S, np.zeros(0), True)
    assert run.done_by(T0 + S / 2) == 0.0
    assert common_part([run]).end_ns == T0 + S
