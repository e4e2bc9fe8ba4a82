"""What the time was lost in: planted on one rank, in one kind."""

import numpy as np
import pytest

from crosswind.analysis import KINDS, estimate, lost_by_kind
from support.segment_tables import table

N, RANKS = 300, 4
HIT = np.arange(40, 70)


def run(**extra):
    """Segments of 10 ms on four ranks; in those of HIT rank 2 takes `extra` microseconds longer per kind."""
    times = {"comp_us": 8_000.0, "p2p_us": 1_000.0, "io_us": 500.0, "coll_us": 500.0}
    columns = {name: np.full((RANKS, N), value) for name, value in times.items()}
    for name, value in extra.items():
        columns[name][2, HIT] += value
    held_up = sum(v for name, v in extra.items() if name != "coll_us")
    others = [0, 1, 3]
    columns["coll_us"][np.ix_(others, HIT)] += held_up + extra.get("coll_us", 0)
    durations = sum(columns.values())[0]
    segments = table(durations, n_ranks=RANKS, instructions=np.full(N, 1e6), **columns)
    return segments, estimate(segments)


@pytest.mark.parametrize(("column", "kind"), [(column, kind) for kind, column in KINDS.items()])
def test_the_kind_that_was_held_up(column, kind):
    segments, result = run(**{column: 4_000.0})
    lost = lost_by_kind(segments, result)
    assert lost[kind] == pytest.approx(HIT.size * 0.004, rel=0.01)
    assert sum(lost.values()) == pytest.approx(result.interference_s)
    assert max(seconds for name, seconds in lost.items() if name != kind) < 1e-9


def test_two_kinds_share_the_loss():
    segments, result = run(comp_us=3_000.0, io_us=1_000.0)
    lost = lost_by_kind(segments, result)
    assert lost["computation"] == pytest.approx(3 * lost["I/O"], rel=0.01)


def test_a_quiet_run_and_one_without_times():
    assert sum(lost_by_kind(*run()).values()) == 0
    bare = table(np.full(N, 100.0))
    assert lost_by_kind(bare, estimate(bare)) == {}
