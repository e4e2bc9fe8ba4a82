"""The names of the places that end segments, from spool files to the table; hostile ones among them."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from crosswind.profile import read_profile
from crosswind.profile.align import align_segments
from crosswind.profile.call_sites import CallSite, read_sites
from crosswind.profile.merge import merge_spools
from crosswind.profile.segment_csv import read_csv, write_csv
from crosswind.profile.spool import read_spool
from crosswind.profile.store import write_profile
from support.segment_blocks import Row, block
from support.spools import HZ, START_TICK, Site, SpoolBuilder, crc32c

STEP = HZ // 1000
NAMED = (Site(1, "lmp", 0x401234), Site(2, "libexample.so.3", 0x99))
LABELS = ("MPI_Allreduce at lmp+0x401234", "MPI_Allreduce at libexample.so.3+0x99", "MPI_Allreduce")


def rows(places: list[int]) -> list[Row]:
    """A segment each, that ended at these places."""
    return [Row(i, START_TICK + i * STEP, {"duration": STEP}, place=place) for i, place in enumerate(places)]


def write(directory: Path, rank: int, in_block: list[int], behind: list[int], sites: tuple[Site, ...] = NAMED) -> Path:
    """A rank's file."""
    all_rows = rows([*in_block, *behind])
    return SpoolBuilder(
        version=3, rank=rank, ranks=2, pid=4000 + rank, sites=sites, end_ns=0,
        blocks=[block(all_rows[: len(in_block)], HZ, {})], rows=all_rows[len(in_block) :],
    ).write(directory)  # fmt: skip


def test_places_are_read_from_blocks_and_rows(tmp_path: Path) -> None:
    file = read_spool(write(tmp_path, 0, [1, 2, 1], [2, 0]))
    assert file.problems == ()
    assert file.sites == {1: CallSite(4, "lmp", 0x401234), 2: CallSite(4, "libexample.so.3", 0x99)}
    assert file.segments.place.tolist() == [1, 2, 1, 2, 0]
    assert file.segments.function.tolist() == [4] * 5


def test_ranks_that_number_places_otherwise_agree_on_their_names(tmp_path: Path) -> None:
    """The first valid rank says it: here rank 1 alone knows the last two."""
    turned = (Site(2, "lmp", 0x401234), Site(1, "libexample.so.3", 0x99))
    files = [read_spool(write(tmp_path, 0, [1, 2], [0])), read_spool(write(tmp_path, 1, [2, 1], [0, 2, 1], turned))]
    table = align_segments(files)
    assert table is not None
    expected = [LABELS[0], LABELS[1], LABELS[2], LABELS[0], LABELS[1]]
    assert [table.closed_by(i) for i in range(table.n_segments)] == expected


def test_the_profile_and_the_csv_keep_them(tmp_path: Path) -> None:
    profile = merge_spools([write(tmp_path, 0, [1, 2], [0])])
    write_profile(profile, tmp_path / "a.xwp")
    table = read_profile(tmp_path / "a.xwp").segments
    assert table is not None
    assert tuple(map(table.closed_by, range(3))) == LABELS
    write_csv(table, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert tuple(line.split(",")[lines[0].split(",").index("closed_by")] for line in lines[1:]) == LABELS
    again = read_csv(tmp_path / "a.csv")
    np.testing.assert_array_equal(again.columns["dur_us"], table.columns["dur_us"])
    assert again.closed_by(0) == ""


@pytest.mark.parametrize(
    "site",
    [Site(0, "lmp", 1), Site(256, "lmp", 1), Site(1, "", 1), Site(1, "lmp", 1 << 63), Site(1, "lmp", 1, function=99)],
    ids=["number 0", "number too large", "no name", "impossible offset", "unknown function"],
)
def test_an_impossible_place_is_left_out(tmp_path: Path, site: Site) -> None:
    file = read_spool(write(tmp_path, 0, [2], [], (site, NAMED[1])))
    assert file.sites == {2: CallSite(4, "libexample.so.3", 0x99)}
    assert file.problems == ("1 call sites dropped: impossible content",)


def test_a_flood_of_places_takes_little_memory_and_one_line() -> None:
    """Whatever a file says is such a log: what was read last is kept, for the other ranks."""
    tracemalloc.start()
    assert read_sites([bytes(1 << 24) for _ in range(3)], 9) == ({}, ())
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 20
    payload = bytes((0, 4, 1, 1)) + b"x"
    record = struct.pack("<II", len(payload), crc32c(payload)) + payload + bytes(3)
    assert read_sites([record * 200] * 90, 9) == ({}, ("800 call sites dropped: impossible content",))


def test_names_hold_no_commas_quotes_or_control_characters(tmp_path: Path) -> None:
    file = read_spool(write(tmp_path, 0, [1], [], (Site(1, 'a,"\n\x1b[1m/é', 1),)))
    assert file.sites[1].module == "a?????1m???"


def test_damage_costs_the_names_behind_it(tmp_path: Path) -> None:
    path = write(tmp_path, 0, [1, 2], [])
    data = path.read_bytes()
    assert data.count(b"libexample.so.3") == 1
    path.write_bytes(data.replace(b"libexample.so.3", b"libexample.so.4"))
    file = read_spool(path)
    assert list(file.sites) == [1]
    assert file.problems == ("the rest of a chunk of call sites dropped: damaged",)
    table = align_segments([file])
    assert table is not None
    assert [table.closed_by(i) for i in (0, 1)] == [LABELS[0], LABELS[2]]
