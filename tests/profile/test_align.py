"""Ranks' segments laid side by side: positions, ranks out of step, marks. The truth is a made-up run."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from crosswind.profile.align import align_segments
from crosswind.profile.in_step import Stretches, ranks_in_step
from crosswind.profile.numbering import NO_COMMON_NUMBERS, NOT_COMPARED
from crosswind.profile.segment_blocks import LARGEST
from crosswind.profile.segment_log import SITE_BITS
from crosswind.profile.segments import SegmentTable
from crosswind.profile.spool import SpoolFile

FIELDS = ("duration", "p2p_time", "coll_time", "io_time", "cpu_time")


NAMES = ("MPI_Wait", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier", "MPI_Finalize")


def spool(
    rank: int,
    positions: list[int],
    durations_us: list[float],
    start_us: float = 0.0,
    closed_by: Sequence[str] = (),
) -> SpoolFile:
    """A rank that cuts at these positions (one more than segments), one segment after the other; ticks are ns.

    closed_by: functions, for each segment.
    """
    ns = np.array([round(1000 * d) for d in durations_us], dtype=np.int64)
    at = np.array(positions, dtype=np.int64)
    values = np.zeros((ns.size, len(FIELDS)), dtype=np.int64)
    values[:, 0] = ns
    log = _Log(
        begin=at[:-1],
        end=at[1:],
        begin_tick=round(1000 * start_us) + np.concatenate(([0], np.cumsum(ns)[:-1])),
        signature=np.full(ns.size, 7, dtype=np.int64),
        function=np.array([NAMES.index(f) for f in closed_by]) if closed_by else np.arange(ns.size) % 3 // 2,
        place=np.zeros(ns.size, dtype=np.int64),
        values=values,
    )
    return cast(
        SpoolFile,
        SimpleNamespace(
            path=f"{rank}.xws",
            rank=rank,
            segments=log,
            sites={},
            tick_hz=10**9,
            table=SimpleNamespace(segment_fields=FIELDS, functions=tuple((name, "mpi") for name in NAMES)),
            ticks_to_ns=lambda ticks: ticks,
            tick_to_utc_ns=lambda ticks: ticks,
        ),
    )


class _Log(SimpleNamespace):
    def __len__(self) -> int:
        return int(self.begin.size)


def at(world: int, site: int = 0) -> int:
    """A position."""
    return world << SITE_BITS | site


def sites(n: int, world: int = 0) -> list[int]:
    """The positions of a run of n cuts at call sites, then a collective."""
    return [at(world, s) for s in range(n + 1)] + [at(world + 1)]


def table_of(*files: SpoolFile) -> SegmentTable:
    """The aligned table of files, which there is."""
    table = align_segments(files)
    assert table is not None
    return table


def test_a_run_of_collectives_alone_is_numbered_by_them() -> None:
    table = table_of(spool(0, [at(0), at(1), at(2)], [5, 6]), spool(1, [at(0), at(2)], [11]))
    np.testing.assert_array_equal(table.index, [0])
    np.testing.assert_array_equal(table.stride, [2])
    assert not table.from_call_sites.any()
    np.testing.assert_array_equal(table.columns["dur_us"], [[11], [11]])


def test_collectives_that_one_call_completed_are_one_segment_and_keep_other_ranks_in_step() -> None:
    together = [at(w) for w in range(5)]
    table = table_of(spool(0, together, [5, 0, 7, 8]), spool(1, together, [5, 0, 7, 8]))
    np.testing.assert_array_equal(table.index, [0, 2, 3])
    apart = table_of(spool(0, together, [5, 0, 7, 8]), spool(1, together, [2, 3, 7, 8]))
    np.testing.assert_array_equal(apart.index, [0, 1, 2, 3])
    np.testing.assert_array_equal(apart.columns["dur_us"], [[5, 0, 7, 8], [2, 3, 7, 8]])


def test_cuts_at_call_sites_are_marked_and_numbered_through() -> None:
    positions = [at(0), *sites(3, 1), at(3)]
    table = table_of(*(spool(r, positions, [10, 1, 2, 3, 4, 10]) for r in range(2)))
    np.testing.assert_array_equal(table.index, np.arange(6))
    np.testing.assert_array_equal(table.from_call_sites, [False, True, True, True, True, False])
    np.testing.assert_array_equal(table.stride, np.ones(6))
    assert table.call_sites == ("MPI_Wait", "MPI_Recv")
    assert table.valid.all()


def test_short_stretches_between_collectives_are_not_cut_at_call_sites() -> None:
    """99 stretches of 1.1 ms with ten cuts each, and one of 66 ms."""
    short = [position for world in range(99) for position in sites(10, world)[:-1]]
    positions = short + sites(10, 99)
    table = table_of(*(spool(r, positions, [100.0] * 11 * 99 + [6000.0] * 11) for r in range(2)))
    assert table.valid.all()
    np.testing.assert_array_equal(table.from_call_sites, [False] * 99 + [True] * 11)
    np.testing.assert_array_equal(table.stride, np.ones(110))


def test_ranks_of_different_pace_share_the_coarser_edges() -> None:
    fine = spool(0, sites(8), [1] * 8 + [5])
    coarse = spool(1, [at(0, s) for s in (0, 4, 8)] + [at(1)], [4, 4, 5])
    table = table_of(fine, coarse)
    np.testing.assert_array_equal(table.stride, [4, 4, 1])
    np.testing.assert_array_equal(table.columns["dur_us"], [[4, 4, 5], [4, 4, 5]])


def test_a_rank_that_ends_earlier_keeps_what_it_shares() -> None:
    table = table_of(spool(0, sites(50), [10] * 51), spool(1, sites(40)[:-1], [10] * 40))
    np.testing.assert_array_equal(table.valid.sum(axis=1), [51, 40])


def test_workers_that_go_their_own_way_are_not_compared() -> None:
    """Three workers whose tasks differ, and a master: equal numbers of tasks are no equal stretches of the run."""
    workers = [spool(r, sites(300 // r), [100.0 * r] * (300 // r) + [1]) for r in (1, 2, 3)]
    master = spool(0, sites(550), [55.0] * 551)
    table = table_of(master, *workers)
    assert table.n_segments == 1
    assert not table.from_call_sites.any()
    assert table.valid.all()


def test_a_rank_out_of_step_is_left_out_of_those_in_step() -> None:
    crew = [spool(r, sites(200), [100.0] * 201, start_us=7.0 * r) for r in range(3)]
    writer = spool(3, [at(0), at(1)], [20100.0])
    table = table_of(*crew, writer)
    assert table.n_segments == 201
    np.testing.assert_array_equal(table.valid.all(axis=1), [True, True, True, False])
    assert not table.valid[3].any()
    assert np.isnan(table.columns["dur_us"][3]).all()


def test_in_step_is_a_matter_of_time_and_number() -> None:
    numbers = np.array(sites(100))

    def passing(start_us: float, segment_us: float) -> Stretches:
        starts = start_us + np.arange(101) * segment_us
        return Stretches(numbers[:-1], numbers[1:], starts, np.full(101, segment_us))

    together = ranks_in_step([passing(0, 50), passing(60, 50), passing(150, 50), passing(0, 75)])
    np.testing.assert_array_equal(together, [True, True, True, False])
    assert not ranks_in_step([passing(0, 50 * n) for n in (1, 2, 3, 4)]).any()
    no_sites = Stretches(np.array([at(0)]), np.array([at(1)]), np.zeros(1), np.ones(1))
    assert not ranks_in_step([no_sites] * 2).any()


STEPS = ["MPI_Allreduce", "MPI_Allreduce", "MPI_Barrier"]


def counted(rank: int, closed_by: list[str], durations_us: Sequence[float] = ()) -> SpoolFile:
    """A rank that numbers what closed its segments from 0 on."""
    lengths = list(durations_us) or [10.0] * len(closed_by)
    return spool(rank, [at(w) for w in range(len(closed_by) + 1)], lengths, closed_by=closed_by)


def aligned(*files: SpoolFile) -> tuple[SegmentTable | None, list[tuple[str, str]]]:
    """The table, and what is left out."""
    problems: list[tuple[str, str]] = []
    return align_segments(files, problems), problems


RUN = STEPS * 50
WHOLE = [*RUN, "MPI_Finalize"]


def test_a_rank_that_ended_with_another_number_is_left_out() -> None:
    like = ["MPI_Allreduce"] * 100  # which function closed a segment tells nothing here
    table, problems = aligned(*(counted(r, [*like[r == 2 :], "MPI_Finalize"]) for r in range(4)))
    assert table is not None
    np.testing.assert_array_equal(table.valid.all(axis=1), [True, True, False, True])
    assert not table.valid[2].any()
    assert problems == [("2.xws", NOT_COMPARED)]


@pytest.mark.parametrize("missed", [[0, 1], [0, 1, 2], [0, 0, 1, 1], [0, 0, 1, 2]])
def test_without_a_majority_there_is_no_table(missed: list[int]) -> None:
    table, problems = aligned(
        *(counted(r, [*["MPI_Barrier"] * (99 - n), "MPI_Finalize"]) for r, n in enumerate(missed))
    )
    assert table is None
    assert problems == [("0.xws", NO_COMMON_NUMBERS)]


def test_killed_ranks_are_judged_by_what_closed_their_segments() -> None:
    early, drifted = RUN[:70], [*RUN[:60], *RUN[61:120]]
    table, problems = aligned(counted(0, WHOLE), counted(1, early), counted(2, drifted), counted(3, WHOLE))
    assert table is not None
    np.testing.assert_array_equal(table.valid.sum(axis=1), [151, 70, 0, 151])
    assert problems == [("2.xws", NOT_COMPARED)]


def test_two_ranks_that_drift_apart_and_are_killed_are_no_table() -> None:
    assert aligned(counted(0, RUN), counted(1, RUN[1:])) == (None, [("0.xws", NO_COMMON_NUMBERS)])
    table, problems = aligned(counted(0, RUN), counted(1, RUN[:-1]))
    assert table is not None
    assert problems == []


def test_which_wait_completed_a_collective_is_chance() -> None:
    """Nonblocking collectives: what one rank finds complete before a barrier, another waits for behind it."""
    ranks = [["MPI_Wait", "MPI_Barrier"] * 40, ["MPI_Barrier", "MPI_Wait"] * 40, ["MPI_Wait", "MPI_Barrier"] * 40]
    table, problems = aligned(*(counted(r, [*calls, "MPI_Finalize"]) for r, calls in enumerate(ranks)))
    assert table is not None
    assert problems == []
    assert table.valid.all()


def test_collectives_that_another_thread_called_are_counted_later() -> None:
    """In each step one rank's Allreduce is called by the thread that has segments, and that of the others is not: they
    count it at the Barrier, as a segment without extent.
    """
    calls, late = ["MPI_Allreduce", "MPI_Barrier"], ["MPI_Barrier", "MPI_Barrier"]
    ranks = []
    for r in range(3):
        closed_by = [name for step in range(60) for name in (calls if step % 3 == r else late)]
        lengths = [us for step in range(60) for us in ((5.0, 5.0) if step % 3 == r else (10.0, 0.0))]
        ranks.append(counted(r, [*closed_by, "MPI_Finalize"], [*lengths, 1.0]))
    table, problems = aligned(*ranks)
    assert table is not None
    assert problems == []
    assert table.valid.all()


def test_many_collectives_are_judged_by_some_of_them() -> None:
    many = STEPS * 2000
    table, problems = aligned(counted(0, many), counted(1, many[1:]), counted(2, many))
    assert table is not None
    assert problems == [("1.xws", NOT_COMPARED)]


def test_a_time_that_was_cut_off_is_not_known() -> None:
    files = [counted(r, RUN) for r in range(2)]
    files[1].segments.values[7, 1] = LARGEST
    table = table_of(*files)
    np.testing.assert_array_equal(np.argwhere(~table.valid), [[1, 7]])
