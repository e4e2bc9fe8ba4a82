"""Logs of short processes: one row per executable, counts spread over their time."""

import numpy as np
import pytest

from crosswind.profile import FormatError, merge_directory, read_short_log
from support.spools import SLICE_NS, START_NS, Short, SpoolBuilder

S = 1_000_000_000


def write_log(directory, shorts, **header):
    path = directory / "1001.0.u0.1.xwl"
    path.write_bytes(SpoolBuilder(**header).build_short_log(shorts))
    return path


def some(n=5, exe="cc1"):
    return [
        Short(
            exe,
            START_NS + i * S,
            S // 2,
            {"posix_disk_read_bytes": 1000, "rss": 50 + i},
            {"read": (3, 0, 1000, 77)},
            pid=i,
        )
        for i in range(n)
    ]


def test_what_is_written_is_read(tmp_path):
    log = read_short_log(write_log(tmp_path, [*some(2), Short("we\u00ebrd \n", START_NS, 0)]))
    assert log.pid.tolist() == [0, 1, 5000]
    assert [log.names[e] for e in log.exe] == ["cc1", "cc1", "we\u00ebrd ?"]
    assert log.pieces.begin.tolist() == [START_NS, START_NS + S, START_NS]
    assert log.pieces.value.tolist() == [1000, 50, 1000, 51]
    assert log.functions.tolist() == [[0, 0, 3, 0, 1000, 77], [1, 0, 3, 0, 1000, 77]]
    assert (log.host, log.job_id, log.problems) == ("node01", "1001", ())


def test_one_row_per_executable(tmp_path):
    write_log(tmp_path, [*some(6), *some(2, "as")])
    SpoolBuilder(exe="make", end_ns=START_NS + 10 * S).write(tmp_path)
    [profile] = merge_directory(tmp_path)
    assert [(p.exe, p.state, p.count, p.pid) for p in profile.processes] == [
        ("make", "clean", 1, 4000),
        ("cc1", "short", 6, 0),
        ("as", "short", 2, 0),
    ]
    np.testing.assert_array_equal(profile.metric("posix_disk_read_bytes"), [[0, 0, 0], [4000, 2000, 0], [2000, 0, 0]])
    np.testing.assert_array_equal(profile.covered_ns[1], [2 * S, S, 0])
    assert profile.functions["read"].tolist() == [[0] * 4, [18, 0, 6000, 462], [6, 0, 2000, 154]]
    assert profile.totals["rss"].tolist() == [0, 55, 51]
    assert profile.job.command == "make"


def test_processes_at_once_cover_a_slice_once(tmp_path):
    write_log(tmp_path, [Short("a", START_NS, SLICE_NS, {"posix_disk_read_calls": 1}) for _ in range(9)])
    [profile] = merge_directory(tmp_path)
    assert profile.covered_ns.tolist() == [[SLICE_NS]]
    assert profile.metric("posix_disk_read_calls").tolist() == [[9]]


def test_many_executables_share_the_last_row(tmp_path):
    write_log(tmp_path, [s for i in range(100) for s in some(2 if i < 10 else 1, f"x{i}")])
    [profile] = merge_directory(tmp_path)
    assert len(profile.processes) == 64
    assert (profile.processes[-1].exe, profile.processes[-1].count) == ("other", 110 - 20 - 53)
    assert profile.totals["posix_disk_read_bytes"].sum() == 110 * 1000


@pytest.mark.parametrize("at", [3, 12, 20, 30])
def test_a_damaged_record_ends_the_log(tmp_path, at):
    path = write_log(tmp_path, some(5))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"cc1") - 20 - 0 + at] ^= 0x10
    path.write_bytes(data)
    log = read_short_log(path)
    assert len(log) in (3, 4)
    assert "dropped" in log.problems[0]


@pytest.mark.parametrize("torn", [1, 2, 3, 9, 30])
def test_a_torn_record_hides_no_later_one(tmp_path, torn):
    first, second = (write_log(tmp_path, some(n)).read_bytes() for n in (3, 5))
    path = tmp_path / "both.xwl"
    path.write_bytes(first[:-torn] + second[len(write_log(tmp_path, []).read_bytes()) :])
    log = read_short_log(path)
    assert len(log) in (7, 8)  # the torn one may have lost nothing but its padding
    assert "bytes of short processes dropped" in log.problems[0]


def test_a_torn_record_ends_the_log(tmp_path):
    path = write_log(tmp_path, some(5))
    path.write_bytes(path.read_bytes()[:-5])
    assert len(read_short_log(path)) == 4


def test_what_is_no_log_is_refused(tmp_path):
    path = tmp_path / "x.xwl"
    path.write_bytes(SpoolBuilder().build())
    with pytest.raises(FormatError, match="not a Crosswind"):
        read_short_log(path)
    assert len(read_short_log(write_log(tmp_path, []))) == 0


def test_a_log_that_grows_gives_the_same_rows_with_more_in_them(tmp_path):
    """So that loading it again replaces what was loaded before, and adds nothing twice."""

    def rows(n):
        shorts = [s for i in range(n) for s in some(1 if i < 70 else 9, f"x{i % 90}")]
        shorts += [Short("late", START_NS - 2 * S, S)] if n > 80 else []  # it began before those that ended before it
        write_log(tmp_path, shorts)
        [profile] = merge_directory(tmp_path)
        return {(p.host, p.pid, p.start_ns, p.exe): p.count for p in profile.processes}

    before = rows(40)
    for n in (63, 64, 65, 80, 90, 120):
        after = rows(n)
        assert before.keys() <= after.keys()
        assert all(after[image] >= count for image, count in before.items())
        before = after
    assert len(before) == 64
