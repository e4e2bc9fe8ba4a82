"""A delay that goes through the ranks like a wave, as in a ring of halo exchanges: each rank loses it once."""

import dataclasses

import numpy as np
import pytest

from crosswind.analysis.by_rank import rank_tables
from crosswind.analysis.interference import estimate
from support.segment_tables import table


def wave(n_ranks: int = 8, n_segments: int = 400):
    """Segments of 1000 us; 20 delays of 2000 us, each one segment later on each next rank."""
    rng = np.random.default_rng(5)
    durations = 1000 + rng.normal(0, 2, (n_ranks, n_segments))
    begins = rng.choice(n_segments - n_ranks, 20, replace=False)
    for rank in range(n_ranks):
        durations[rank, begins + rank] += 2000
    return dataclasses.replace(table(durations, n_ranks=n_ranks), from_call_sites=np.ones(n_segments, dtype=bool))


def test_a_wave_of_delays_is_found_on_each_rank():
    segments = wave()
    truth = 100 * 20 * 2000 / (400 * 1000 + 20 * 2000)
    found = estimate(segments)
    assert found.interference_pct == pytest.approx(truth, abs=1)
    assert any("judged each by itself" in note for note in found.notes)
    by_medians = estimate(dataclasses.replace(segments, from_call_sites=np.zeros(400, dtype=bool)))
    assert by_medians.interference_pct < 1


def test_ranks_that_are_missing_or_many_are_passed_over():
    segments = wave(40)
    segments.valid[3:] &= np.arange(40)[3:, None] % 2 == 0
    tables = rank_tables(segments)
    assert len(tables) == 5
    assert all(t.valid.all() and t.n_segments == 400 for t in tables)
    segments.valid[:] = False
    assert rank_tables(segments) == [segments]
