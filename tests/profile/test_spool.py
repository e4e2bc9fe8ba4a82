"""Reading spool files that were written byte by byte."""

import os

import numpy as np
import pytest

from crosswind.profile.errors import FormatError
from crosswind.profile.spool import read_spool
from support import spools
from support.spools import FIRST_SLICE, HZ, SLICE_NS, START_NS, START_TICK, Segment, Slice, SpoolBuilder, Thread


def triples(log):
    """{(slice index, column): value} of a slice log."""
    return {(int(log.index[r]), int(c)): int(v) for r, c, v in zip(log.record, log.column, log.value, strict=True)}


def make_slices(n, first=FIRST_SLICE):
    return [
        Slice(first + i, {"mpi_p2p_calls": 3 * i, "cpu_time": 10**9 + i, "rss": 1 << 40}, begin=85_000, end=-90_000 - i)
        for i in range(n)
    ]


def make_segments(n, start=START_TICK):
    return [
        Segment(i, start + 100_000 * i + i % 7, {"duration": 90_000 + i % 5, "cpu_time": 30, "io_bytes": 1 << 50})
        for i in range(n)
    ]


def test_what_is_written_is_read(tmp_path):
    builder = SpoolBuilder(
        slices=make_slices(3),
        segments=make_segments(5),
        threads=[
            Thread({"mpi_p2p": (3, 20, 30, 40)}, {"MPI_Send": (3, 20, 30, 41)}),
            Thread({"mpi_p2p": (1, 2, 3, 4)}, {"read": (1, 0, 3, 4)}, state=2),
            Thread(call_since=START_TICK + 5, call_group="mpi_wait"),
        ],
        state=spools.EXITED,
        end_ns=START_NS + 10**9,
        rank=3,
        ranks=8,
        lost={"perf": 2},
        mpi="openmpi",
        exe="bad\nname",
    )
    file = read_spool(builder.write(tmp_path))
    assert (file.state, file.rank, file.ranks, file.lost, file.exe) == (spools.EXITED, 3, 8, {"perf": 2}, "bad?name")
    assert (file.start.real_ns, file.end.real_ns, file.tick_hz) == (START_NS, START_NS + 10**9, HZ)
    assert file.problems == ()
    assert list(file.slices.index) == [FIRST_SLICE + i for i in range(3)]
    assert list(file.slices.begin_ns) == [(FIRST_SLICE + i) * SLICE_NS + 85_000 for i in range(3)]
    assert list(file.slices.end_ns) == [(FIRST_SLICE + i + 1) * SLICE_NS - 90_000 - i for i in range(3)]
    expected = {
        (s.index, spools.COLUMN[name]): value for s in builder.slices for name, value in s.values.items() if value
    }
    assert triples(file.slices) == expected
    assert list(file.segments.begin_tick) == [s.begin_tick for s in builder.segments]
    assert file.table.segment_fields[0] == "duration"
    assert list(file.segments.values[:, 0]) == [s.values["duration"] for s in builder.segments]
    assert list(file.segments.signature) == [0xC0FFEE] * 5
    assert list(file.groups[spools.group_index("mpi_p2p")]) == [4, 22, 33, 44]
    assert {n: list(q) for (n, _), q in zip(file.table.functions, file.functions, strict=True) if any(q)} == {
        "read": [1, 0, 3, 4],
        "MPI_Send": [3, 20, 30, 41],
    }
    assert [(c.group, c.since_tick) for c in file.running] == [(spools.group_index("mpi_wait"), START_TICK + 5)]
    assert file.n_threads == 3


@pytest.mark.parametrize("per_chunk", [None, 1, 7])
def test_records_continue_in_the_next_chunk(tmp_path, per_chunk):
    builder = SpoolBuilder(
        slices=make_slices(20), segments=make_segments(20), slices_per_chunk=per_chunk, segments_per_chunk=per_chunk
    )
    file = read_spool(builder.write(tmp_path))
    assert list(file.slices.index) == [s.index for s in builder.slices]
    assert list(file.segments.begin_tick) == [s.begin_tick for s in builder.segments]
    assert triples(file.slices)[FIRST_SLICE + 19, spools.COLUMN["mpi_p2p_calls"]] == 57


def test_a_damaged_record_costs_the_rest_of_its_chunk_only(tmp_path):
    builder = SpoolBuilder(slices=make_slices(20), slices_per_chunk=10)
    data = bytearray(builder.build())
    payload = builder.slices[4].payload(builder.slices[3].index)
    at = data.index(payload)
    data[at + 3] ^= 0x40
    path = tmp_path / "damaged.xws"
    path.write_bytes(data)
    file = read_spool(path)
    assert list(file.slices.index) == [FIRST_SLICE + i for i in (*range(4), *range(10, 20))]
    assert file.problems == ("6 slice records dropped: wrong checksum",)


def test_an_uncommitted_record_does_not_count(tmp_path):
    builder = SpoolBuilder(slices=make_slices(5), state=spools.RUNNING)
    data = bytearray(builder.build())
    at = data.index(builder.slices[4].payload(builder.slices[3].index))
    data[at - 8 : at - 4] = bytes(4)
    path = tmp_path / "open.xws"
    path.write_bytes(data)
    file = read_spool(path)
    assert len(file.slices) == 4
    assert file.problems == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:100], "not a Crosswind spool file"),
        (lambda d: b"", "not a Crosswind spool file"),
        (lambda d: bytes(8) + d[8:], "just starting"),
        (lambda d: d[:8] + b"\x04\0\0\0" + d[12:], "spool format version 4"),
        (lambda d: d[:16] + b"\xff\xff\xff\xff" + d[20:], "outside the file"),
        (lambda d: d[:24] + b"\x40\0\0\0" + d[28:], "impossible size"),
        (lambda d: d.replace(b"column 1000 cpu_time ns", b"column 1000 cpu_time \x00\x00"), "cannot be read"),
        (lambda d: d.replace(b"lost perf\n", b"lost papi\n", 1), "gives a name twice"),
    ],
)
def test_what_is_no_spool_file_is_refused_in_one_line(tmp_path, change, message):
    path = tmp_path / "evil\n.xws"
    path.write_bytes(change(SpoolBuilder(slices=make_slices(2)).build()))
    with pytest.raises(FormatError, match=message) as caught:
        read_spool(path)
    assert "\n" not in str(caught.value)
    assert "evil?.xws" in str(caught.value)


def test_links_and_devices_are_refused(tmp_path):
    real = SpoolBuilder().write(tmp_path)
    link = tmp_path / "link.xws"
    link.symlink_to(real)
    with pytest.raises(FormatError, match="symbolic link"):
        read_spool(link)
    fifo = tmp_path / "fifo.xws"
    os.mkfifo(fifo)
    with pytest.raises(FormatError, match="no regular file"):
        read_spool(fifo)


def test_tick_rate(tmp_path):
    ended = SpoolBuilder(tick_hz=0, end_ns=START_NS + 10**10)
    assert read_spool(ended.write(tmp_path, "a")).tick_hz == pytest.approx(HZ)
    killed = read_spool(SpoolBuilder(tick_hz=0, state=spools.RUNNING).write(tmp_path, "b"))
    assert killed.tick_hz == 0
    assert killed.problems == ("the rate of its cycle counter is not known: times are left out",)
    np.testing.assert_array_equal(killed.ticks_to_ns(np.array([5, 6])), [0, 0])
