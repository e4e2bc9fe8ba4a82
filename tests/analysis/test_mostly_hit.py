"""Programs that compute most of the time and are held up in nearly every segment, as a real one was; no counters."""

import numpy as np
import pytest

from crosswind.analysis import estimate
from crosswind.profile import SegmentTable

N = 850
COMPUTING_US, RANKS = 1750.0, 2


def computing_program(delay_us: np.ndarray, seed: int) -> SegmentTable:
    """Like segments of 1.8 ms, nearly all of it computation that varies by 5 %, some 80 us of communication that vary
    by 20 %, and what they are held up by, [segment].
    """
    rng = np.random.default_rng(seed)
    cpu = COMPUTING_US * (1 + 0.05 * np.abs(rng.standard_normal((RANKS, N))))
    communication = 65 + 20 * np.abs(rng.standard_normal(N))
    duration = np.broadcast_to(cpu.max(axis=0) + communication + delay_us, (RANKS, N))
    columns = {"dur_us": duration, "cpu_us": cpu, "p2p_calls": np.full((RANKS, N), 4.0)}
    return SegmentTable(
        np.arange(N), np.arange(RANKS), columns, np.ones((RANKS, N), dtype=bool), np.ones(N, dtype=np.int64)
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("untouched", [0.07, 0.12, 0.3])
def test_the_few_untouched_segments_are_the_baseline(untouched, seed):
    """Two places in a segment where a delay of half its length may strike: the untouched are few, but agree."""
    rng = np.random.default_rng([seed, 1])
    hits = rng.binomial(2, 1 - np.sqrt(untouched), size=N)
    delay_us = 900 * hits * np.maximum(1 + 0.2 * rng.standard_normal(N), 0.1)
    table = computing_program(delay_us, seed)
    true_pct = 100 * delay_us.sum() / np.median(table.columns["dur_us"], axis=0).sum()
    found = estimate(table)
    assert found.interference_pct == pytest.approx(true_pct, abs=3)
    assert not found.certain


@pytest.mark.parametrize("seed", range(8))
def test_without_delays_there_is_no_interference(seed):
    assert estimate(computing_program(np.zeros(N), seed)).interference_pct < 2
