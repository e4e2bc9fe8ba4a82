"""The stretches that are shaded and listed, against losses that are known."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.web.hits import hit_stretches, shading, worst_hits

NAN = float("nan")
SLICE_NS = 4_000_000_000


def test_hit_stretches_join_neighbours_and_leave_out_next_to_nothing() -> None:
    lost = np.array([0.0, 1.0, 3.0, 0.3, 0.0, NAN, 0.01, 0.1])
    assert hit_stretches(lost, 4.0) == [(1, 3, 3), (3, 4, 1), (7, 8, 0)]
    assert hit_stretches(np.zeros(0), 4.0) == []


def test_long_runs_are_shaded_in_bins_that_hold_all_that_was_lost() -> None:
    lost = np.zeros(10_000)
    lost[4000:4400] = 1.0
    hits = shading(lost, 100, SLICE_NS)
    assert [(hit.from_ms, hit.to_ms) for hit in hits] == [((100 + 4000) * 4000, (100 + 4400) * 4000)]
    assert hits[0].lost_s == pytest.approx(400)
    assert hits[0].share == pytest.approx(0.25)
    noisy = np.random.default_rng(1).random(100_000)
    assert len(shading(noisy, 0, SLICE_NS)) <= 500


def test_the_list_joins_neighbours_however_hard_and_has_the_worst_first() -> None:
    lost = np.array([0.0, 1.0, 3.0, 0.3, 0.0, NAN, 0.01, 5.0])
    hits, n = worst_hits(lost, 10, SLICE_NS, 1)
    assert (len(hits), n) == (1, 2)
    assert (hits[0].from_ms, hits[0].to_ms, hits[0].lost_s) == (17 * 4000, 18 * 4000, 5.0)
    first = worst_hits(lost, 10, SLICE_NS, 5)[0][1]
    assert (first.from_ms, first.to_ms, first.lost_s) == (11 * 4000, 14 * 4000, pytest.approx(4.3))
    assert worst_hits(np.zeros(0), 0, SLICE_NS, 5) == ([], 0)
