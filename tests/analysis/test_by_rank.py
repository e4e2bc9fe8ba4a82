"""A delay that goes through the ranks like a wave, as in a ring of halo exchanges: each rank loses it once."""

import dataclasses

import numpy as np
import pytest

from crosswind.analysis.by_rank import rank_tables
from crosswind.analysis.interference import estimate
from crosswind.profile.segments import SegmentTable
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
    tables = list(rank_tables(segments))
    assert len(tables) == 5
    assert all(t.valid.all() and t.n_segments == 400 for t in tables)
    segments.valid[:] = False
    assert list(rank_tables(segments)) == [segments]


def imbalanced(sites) -> SegmentTable:
    """Segments of 1000 us of four ranks; each rank by itself shows 400 us more in some, which the median is deaf to."""
    n = 3000
    own = 1000 + 2 * np.random.default_rng(3).standard_normal((4, n))
    own[np.arange(n) % 4, np.arange(n)] += 400 * (np.random.default_rng(4).random(n) < 0.3)
    return dataclasses.replace(table(own, n_ranks=4), from_call_sites=sites)


def test_a_stretch_cut_at_call_sites_leaves_the_rest_to_all_ranks():
    """40 of 3000 segments; a rank's own durations elsewhere would pass for interference."""
    none = np.zeros(3000, dtype=bool)
    some = none.copy()
    some[1000:1040] = True
    assert estimate(imbalanced(none)).interference_pct == pytest.approx(0, abs=0.1)
    found = estimate(imbalanced(some))
    assert found.interference_pct < 0.2
    assert any(note.startswith("At recurring call sites nothing synchronised the ranks") for note in found.notes)
    assert estimate(imbalanced(~none)).interference_pct > 1


def test_each_rank_is_alone_at_call_sites_only():
    sites = np.arange(400) < 100
    segments = dataclasses.replace(wave(3), from_call_sites=sites)
    segments.columns["sig"] = np.full((3, 400), 7, dtype=np.uint64)
    for rank, alone in enumerate(rank_tables(segments)):
        assert alone.valid[:, 100:].all()
        assert alone.valid[:, :100].all(axis=1).tolist() == [rank == r for r in range(3)]
        assert np.array_equal(np.isnan(alone.columns["dur_us"]), ~alone.valid)
        assert np.array_equal(alone.columns["sig"] == 0, ~alone.valid)


def test_the_interval_holds_those_of_all_ranks():
    segments = wave()
    found = estimate(segments)
    each = [estimate(dataclasses.replace(t, from_call_sites=np.zeros(400, dtype=bool))) for t in rank_tables(segments)]
    assert found.interval_pct == (min(e.interval_pct[0] for e in each), max(e.interval_pct[1] for e in each))
