"""Tables of parts of a run joined, against the table that aligning all ranks at once would give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.profile.join_segments import join_segments
from crosswind.profile.segments import SegmentTable
from support.profiles import make_segments, ranks_of


def table(n_ranks: int = 5, n_segments: int = 60) -> SegmentTable:
    made = make_segments(n_ranks, n_segments, 1_000_000, 20.0, {7: 30.0})
    signature = np.arange(n_ranks * n_segments, dtype=np.uint64).reshape(n_ranks, n_segments) * np.uint64(123456789)
    return replace(
        made,
        columns={**made.columns, "sig": signature & np.uint64(0xFFFFFFFF)},
        closed_at=np.arange(n_segments) % 4 - 1,
        places=("MPI_Barrier", "MPI_Allreduce at a+0x10", "MPI_Allreduce at a+0x20"),
    )


def merged(whole: SegmentTable, cuts: list[int]) -> SegmentTable:
    """With neighbours merged between these numbers of segments."""
    at = np.array([0, *cuts, whole.n_segments])
    columns = {}
    for name, column in whole.columns.items():
        summed = np.add.reduceat(column, at[:-1], axis=1)
        columns[name] = column[:, at[:-1]] if name == "t_start_us" else summed
    columns["sig"] = columns["sig"] & np.uint64(0xFFFFFFFF)
    return replace(
        whole, index=at[:-1], columns=columns, valid=whole.valid[:, at[:-1]], stride=np.diff(at),
        from_call_sites=np.zeros(at.size - 1, dtype=np.bool_), closed_at=whole.closed_at[at[1:] - 1],
    )  # fmt: skip


def closings(table: SegmentTable) -> list[str]:
    return [table.closed_by(segment) for segment in range(table.n_segments)]


def assert_same(left: SegmentTable, right: SegmentTable) -> None:
    for name in ("index", "ranks", "valid", "stride"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), name)
    assert closings(left) == closings(right)
    assert left.columns.keys() == right.columns.keys()
    for name, column in left.columns.items():
        np.testing.assert_allclose(column, right.columns[name], rtol=1e-12, err_msg=name)


def test_the_parts_of_nodes_are_the_whole() -> None:
    whole = table()
    joined = join_segments(ranks_of(whole, [3, 4]), ranks_of(whole, [0, 1, 2]))
    assert_same(joined, whole)


def test_three_parts_in_any_order() -> None:
    whole = table()
    parts = [ranks_of(whole, rows) for rows in ([0, 2], [1], [3, 4])]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        joined = None
        for number in order:
            joined = join_segments(joined, parts[number])
        assert_same(joined, whole)


def test_the_longer_version_of_a_rank_stays() -> None:
    whole = table()
    early = merged(whole, list(range(1, 60)))
    early = replace(
        early, index=early.index[:20], stride=early.stride[:20], valid=early.valid[:, :20],
        columns={n: c[:, :20] for n, c in early.columns.items()}, from_call_sites=np.zeros(20, dtype=np.bool_),
    )  # fmt: skip
    assert join_segments(early, whole) is whole
    assert join_segments(whole, early) is whole
    part, rest = ranks_of(whole, [0, 1]), ranks_of(early, [1, 2, 3, 4])
    joined = join_segments(part, rest)
    assert joined.ranks.tolist() == [0, 1, 2, 3, 4]
    assert joined.valid.sum(axis=1).tolist() == [60, 60, 20, 20, 20]
    np.testing.assert_array_equal(joined.columns["dur_us"][1], whole.columns["dur_us"][1])
    assert np.isnan(joined.columns["dur_us"][2, 20:]).all()


@settings(deadline=None, max_examples=50)
@given(st.sets(st.integers(1, 59)), st.sets(st.integers(1, 59)))
def test_nodes_that_merged_differently_share_the_edges_that_both_have(left: set[int], right: set[int]) -> None:
    whole = table()
    joined = join_segments(
        ranks_of(merged(whole, sorted(left)), [0, 1, 2]), ranks_of(merged(whole, sorted(right)), [3, 4])
    )
    assert_same(joined, merged(whole, sorted(left & right)))


def test_a_segment_that_one_rank_lost_is_not_valid_there() -> None:
    whole = table()
    valid = whole.valid.copy()
    valid[4, 33] = False
    holed = replace(whole, valid=valid)
    joined = join_segments(ranks_of(holed, [0, 1]), ranks_of(holed, [2, 3, 4]))
    np.testing.assert_array_equal(joined.valid, valid)
    assert np.isnan(joined.columns["dur_us"][4, 33])
    assert joined.columns["sig"][4, 33] == 0


def test_segments_cut_at_call_sites_are_not_mixed() -> None:
    whole = table()
    marked = replace(ranks_of(whole, [0, 1]), from_call_sites=np.ones(60, dtype=np.bool_))
    larger = ranks_of(whole, [2, 3, 4])
    assert join_segments(marked, larger) is larger
    assert join_segments(larger, marked) is larger


@pytest.mark.parametrize("one", [None, table(2, 9)])
def test_nothing_and_something(one: SegmentTable | None) -> None:
    assert join_segments(one, None) is one
    assert join_segments(None, one) is one


def test_the_lowest_rank_that_is_there_says_which_call_ended_a_segment() -> None:
    whole = table()
    renamed = replace(ranks_of(whole, [0, 1]), places=tuple(f"{place}b" for place in whole.places))
    valid = renamed.valid.copy()
    valid[:, 50:] = False
    early, rest = replace(renamed, valid=valid), ranks_of(whole, [2, 3, 4])
    for joined in (join_segments(early, rest), join_segments(rest, early)):
        assert closings(joined) == [f"{text}b" if text else "" for text in closings(whole)[:50]] + closings(whole)[50:]
    unknown = replace(early, places=(), closed_at=np.full(60, -1))
    assert closings(join_segments(unknown, rest)) == closings(whole), "who knows it says it"
