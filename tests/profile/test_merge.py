"""Spool files -> profile: what was counted is in the profile, where and when it was counted."""

import os
from pathlib import Path

import numpy as np
import pytest

from crosswind.profile import FormatError, merge_directory, merge_spools
from crosswind.profile.lifecycle import Machine
from crosswind.profile.merge import merge_files
from crosswind.profile.numbering import NO_COMMON_NUMBERS, NOT_COMPARED
from crosswind.profile.spool import read_spool
from support import spools
from support.spools import (
    FIRST_SLICE,
    GAP,
    HZ,
    LAST,
    SLICE_NS,
    START_NS,
    START_TICK,
    Segment,
    Short,
    Slice,
    SpoolBuilder,
    Thread,
)  # fmt: skip

NOW = START_NS + 10**13
S = 1_000_000_000


def merged(directory, **options):
    [profile] = merge_directory(directory, now_ns=NOW, **options)
    return profile


def test_slices_of_processes_are_aligned_by_number(tmp_path):
    for rank in range(3):
        slices = [Slice(FIRST_SLICE + rank + i, {"mpi_p2p_calls": 10 * rank + i + 1}) for i in range(3)]
        start, end = START_NS + rank * SLICE_NS, START_NS + (rank + 3) * SLICE_NS
        SpoolBuilder(slices=slices, rank=rank, ranks=3, pid=10 + rank, start_ns=start, end_ns=end).write(tmp_path)
    profile = merged(tmp_path)
    assert (profile.first_slice, profile.n_slices) == (FIRST_SLICE, 5)
    np.testing.assert_array_equal(
        profile.metric("mpi_p2p_calls"), [[1, 2, 3, 0, 0], [0, 11, 12, 13, 0], [0, 0, 21, 22, 23]]
    )
    np.testing.assert_array_equal(profile.covered_ns > 0, profile.metric("mpi_p2p_calls") > 0)
    assert [(p.rank, p.state) for p in profile.processes] == [(0, "clean"), (1, "clean"), (2, "clean")]
    assert (profile.job.start_ns, profile.job.end_ns) == (START_NS, START_NS + 5 * SLICE_NS)
    assert not profile.partial.any()


def test_a_killed_process_loses_nothing_that_was_counted(tmp_path):
    builder = SpoolBuilder(
        slices=[Slice(FIRST_SLICE, {"posix_disk_write_calls": 10, "posix_disk_write_bytes": 100})],
        threads=[Thread({"posix_disk_write": (17, 170, 0, HZ)}, {"write": (17, 170, 0, HZ)})],
        state=spools.RUNNING,
    )
    path = builder.write(tmp_path)
    killed_at = START_NS + SLICE_NS + 3 * S
    profile = merge_spools([path], last_seen_ns={str(path): killed_at}, now_ns=NOW)
    os.utime(path, ns=(START_NS, START_NS))
    np.testing.assert_array_equal(profile.metric("posix_disk_write_calls"), [[10, 7]])
    np.testing.assert_array_equal(profile.metric("posix_disk_write_bytes"), [[100, 70]])
    np.testing.assert_array_equal(profile.metric("posix_disk_write_time"), [[0, S]])
    assert profile.totals["posix_disk_write_calls"].tolist() == [17]
    assert profile.functions["write"].tolist() == [[17, 170, 0, S]]
    assert profile.processes[0].state == "killed"
    assert profile.partial.tolist() == [True]


@pytest.mark.parametrize("sign", ["mtime", "rank", "seen"])
def test_the_end_of_a_killed_process_is_its_newest_sign_of_life(tmp_path, sign):
    threads = [Thread({"mpi_p2p": (5, 0, 0, 0)})]
    path = SpoolBuilder(slices=[Slice(FIRST_SLICE, {})], threads=threads, state=spools.RUNNING, rank=1, ranks=2).write(
        tmp_path
    )
    os.utime(path, ns=(START_NS, START_NS))
    end = START_NS + SLICE_NS + 2 * S
    if sign == "mtime":
        os.utime(path, ns=(end, end))
    elif sign == "rank":
        SpoolBuilder(rank=0, ranks=2, pid=1, end_ns=end).write(tmp_path)
    seen = {str(path): end} if sign == "seen" else {}
    profile = merge_spools(list(tmp_path.iterdir()), last_seen_ns=seen, now_ns=NOW)
    assert profile.processes[-1].end_ns == end
    assert profile.covered_ns[-1].tolist() == [SLICE_NS, 2 * S]
    assert profile.metric("mpi_p2p_calls")[-1].tolist() == [0, 5]


def test_the_begin_of_the_last_call_is_a_sign_of_life(tmp_path):
    threads = [Thread({"mpi_p2p": (5, 0, 0, 0)}, call_since=START_TICK + 5 * HZ)]
    path = SpoolBuilder(slices=[Slice(FIRST_SLICE, {})], threads=threads, state=spools.RUNNING).write(tmp_path)
    os.utime(path, ns=(START_NS, START_NS))
    profile = merge_spools([path], now_ns=NOW)
    assert profile.processes[0].end_ns == START_NS + 5 * S
    assert profile.covered_ns.tolist() == [[SLICE_NS, S]]


def test_a_process_that_ended_long_after_its_last_slice_would_have_closed_another(tmp_path):
    path = SpoolBuilder(slices=[Slice(FIRST_SLICE, {})], state=spools.RUNNING, rank=1, ranks=2).write(tmp_path)
    os.utime(path, ns=(NOW, NOW))
    assert merge_spools([path], now_ns=NOW).job.end_ns == START_NS + 2 * SLICE_NS


def test_a_call_still_running_is_not_counted_twice(tmp_path):
    """The slices have charged 3 s of the call; the counters know only the 1 s of calls that returned."""
    path = SpoolBuilder(
        slices=[Slice(FIRST_SLICE, {"mpi_p2p_time": 4 * S})],
        threads=[
            Thread(
                {"mpi_p2p": (1, 0, 0, HZ + HZ // 2)}, call_since=START_TICK + HZ, call_group="mpi_p2p"
            )  # 1.5 s returned, one call runs since second 1
        ],
        state=spools.RUNNING,
    ).write(tmp_path)
    profile = merge_spools([path], last_seen_ns={str(path): START_NS + SLICE_NS + S}, now_ns=NOW)
    np.testing.assert_array_equal(profile.metric("mpi_p2p_time"), [[4 * S, S // 2]])


def test_a_record_over_several_slices_is_spread_by_time(tmp_path):
    slices = [
        Slice(FIRST_SLICE, {"posix_disk_write_bytes": 1000}),
        Slice(FIRST_SLICE + 1, {"posix_disk_write_bytes": 3500, "rss": 7}, flags=GAP, end=2 * SLICE_NS + SLICE_NS // 2),
    ]
    end = START_NS + 4 * SLICE_NS + SLICE_NS // 2
    SpoolBuilder(slices=slices, end_ns=end).write(tmp_path)
    profile = merged(tmp_path)
    np.testing.assert_array_equal(profile.metric("posix_disk_write_bytes"), [[1000, 1000, 1000, 1000, 500]])
    np.testing.assert_array_equal(profile.metric("rss"), [[0, 7, 7, 7, 7]])
    np.testing.assert_array_equal(profile.covered_ns, [[SLICE_NS] * 4 + [SLICE_NS // 2]])


def test_what_spreads_does_not_round_away(tmp_path):
    SpoolBuilder(
        slices=[Slice(FIRST_SLICE, {"posix_disk_write_calls": 10}, end=6 * SLICE_NS)], end_ns=START_NS + 7 * SLICE_NS
    ).write(tmp_path)
    calls = merged(tmp_path).metric("posix_disk_write_calls")
    assert calls.sum() == 10
    assert calls.max() - calls.min() <= 1


def test_counts_of_dropped_records_go_to_the_time_they_cover(tmp_path):
    """The second of three records is damaged: its 20 calls are in the counters, and belong to the hole."""
    builder = SpoolBuilder(
        slices=[Slice(FIRST_SLICE + i, {"posix_disk_write_calls": 10 * (i + 1)}) for i in range(3)],
        slices_per_chunk=1,
        threads=[Thread({"posix_disk_write": (60, 0, 0, 0)})],
        end_ns=START_NS + 3 * SLICE_NS,
    )
    data = bytearray(builder.build())
    data[data.index(builder.slices[1].payload(0)) + 2] ^= 1
    (tmp_path / "1001.x.1.1.xws").write_bytes(data)
    profile = merged(tmp_path)
    np.testing.assert_array_equal(profile.metric("posix_disk_write_calls"), [[10, 20, 30]])
    assert [reason for _, reason in profile.dropped_files] == ["1 slice records dropped: wrong checksum"]


def test_several_records_in_one_slice_add_up(tmp_path):
    slices = [
        Slice(FIRST_SLICE, {"posix_disk_write_calls": 1, "rss": 9}, end=-3 * S),
        Slice(FIRST_SLICE, {"posix_disk_write_calls": 2, "rss": 5}, begin=S, flags=LAST),
    ]
    SpoolBuilder(slices=slices, end_ns=START_NS + SLICE_NS).write(tmp_path)
    profile = merged(tmp_path)
    assert profile.metric("posix_disk_write_calls").tolist() == [[3]]
    assert profile.metric("rss").tolist() == [[5]]
    assert profile.covered_ns.tolist() == [[SLICE_NS]]


def test_exec_makes_a_second_process_of_the_same_pid(tmp_path):
    SpoolBuilder(exe="sh", pid=7, state=spools.RUNNING).write(tmp_path)
    SpoolBuilder(exe="worker", pid=7, start_ns=START_NS + S, end_ns=START_NS + 9 * S).write(tmp_path)
    SpoolBuilder(exe="child", pid=8, parent_pid=7, start_ns=START_NS + 2 * S, end_ns=START_NS + 3 * S).write(tmp_path)
    profile = merged(tmp_path)
    assert [(p.exe, p.state, p.end_ns - START_NS) for p in profile.processes] == [
        ("sh", "replaced", S),
        ("worker", "clean", 9 * S),
        ("child", "clean", 3 * S),
    ]
    assert profile.job.command == "worker"
    assert not profile.partial.any()


def test_an_exec_into_a_short_process_is_seen_in_the_log(tmp_path):
    path = SpoolBuilder(exe="sh", pid=7, state=spools.RUNNING).write(tmp_path)
    log = SpoolBuilder().build_short_log([Short("cat", START_NS + S, 1, pid=7), Short("cat", START_NS - S, 1, pid=7)])
    (tmp_path / "1001.0.u0.1.xwl").write_bytes(log)
    sh = merged(tmp_path).processes[0]
    assert (sh.exe, sh.state, sh.end_ns) == ("sh", "replaced", START_NS + S)
    assert merge_spools([path], now_ns=NOW).processes[0].state == "killed"


def test_a_reused_pid_is_no_exec(tmp_path):
    SpoolBuilder(exe="a", pid=7, start_ticks=100, state=spools.RUNNING).write(tmp_path)
    SpoolBuilder(exe="b", pid=7, start_ticks=999, start_ns=START_NS + S, end_ns=START_NS + 2 * S).write(tmp_path)
    assert [p.state for p in merged(tmp_path).processes] == ["killed", "clean"]


def test_a_living_process_is_running(tmp_path):
    start_ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    boot = Machine.this().boot_id
    if not boot:
        pytest.skip("/proc/sys/kernel/random/boot_id cannot be read here")
    paths = {
        ticks: SpoolBuilder(state=spools.RUNNING, pid=os.getpid(), boot_id=boot, start_ticks=ticks).write(
            tmp_path, f"{ticks}.xws"
        )
        for ticks in (0, start_ticks, start_ticks + 1)
    }
    states = {ticks: merge_files([read_spool(p)], now_ns=NOW).processes[0].state for ticks, p in paths.items()}
    assert states == {0: "running", start_ticks: "running", start_ticks + 1: "killed"}
    elsewhere = SpoolBuilder(state=spools.RUNNING, pid=os.getpid()).write(tmp_path, "elsewhere.xws")
    assert merge_files([read_spool(elsewhere)], now_ns=NOW).processes[0].state == "killed"


def segments_of(rank, numbers, **changes):
    values = {
        "duration": 2 * HZ // 1000,
        "p2p_time": HZ // 10_000,
        "cpu_time": 50_000 + rank,
        "p2p_calls": 3,
        **changes,
    }
    return [Segment(i, START_TICK + i * values["duration"], values) for i in numbers]


def test_a_rank_that_counted_other_collectives_is_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "FUNCTIONS", (*spools.FUNCTIONS, ("MPI_Finalize", "mpi")))
    for rank, n in enumerate((10, 10, 9)):
        segments = segments_of(rank, range(n))
        segments[-1].function = len(spools.FUNCTIONS) - 1
        SpoolBuilder(segments=segments, rank=rank, ranks=3, pid=rank + 1, end_ns=NOW).write(tmp_path, f"{rank}.xws")
    profile = merged(tmp_path)
    assert profile.segments.valid.sum(axis=1).tolist() == [10, 10, 0]
    assert profile.dropped_files == ((str(tmp_path / "2.xws"), NOT_COMPARED),)
    (tmp_path / "1.xws").unlink()
    profile = merged(tmp_path)
    assert profile.segments is None
    assert profile.dropped_files == ((str(tmp_path / "0.xws"), NO_COMMON_NUMBERS),)


def test_segments_are_aligned_over_ranks_and_end_with_a_dead_one(tmp_path):
    for rank, n in ((0, 10), (1, 6)):
        SpoolBuilder(segments=segments_of(rank, range(n)), rank=rank, ranks=2, pid=rank + 1, end_ns=NOW).write(tmp_path)
    table = merged(tmp_path).segments
    assert table.index.tolist() == list(range(10))
    assert table.valid.tolist() == [[True] * 10, [True] * 6 + [False] * 4]
    assert table.columns["dur_us"][0].tolist() == [2000.0] * 10
    assert table.columns["p2p_us"][1, :6].tolist() == [100.0] * 6
    assert table.columns["comp_us"][0, 0] == 1900.0
    assert table.columns["cpu_us"][:, 0].tolist() == [50.0, 50.001]
    assert np.isnan(table.columns["dur_us"][1, 6:]).all()
    assert (table.columns["t_start_us"][0] == START_NS / 1000 + 2000 * np.arange(10)).all()


def test_ranks_that_merged_segments_differently_share_the_finest_common_cuts(tmp_path):
    coarse = [
        Segment(0, START_TICK, {"duration": 4000, "p2p_calls": 2}, count=2, signature=3),
        Segment(2, START_TICK + 4000, {"duration": 4000, "p2p_calls": 2}, count=2, signature=4),
        Segment(4, START_TICK + 8000, {"duration": 2000, "p2p_calls": 1}, signature=5),
    ]
    fine = [Segment(i, START_TICK + 2000 * i, {"duration": 2000, "p2p_calls": 1}) for i in range(5)]
    for rank, segments in enumerate((coarse, fine)):
        SpoolBuilder(segments=segments, rank=rank, ranks=2, pid=rank + 1, end_ns=NOW).write(tmp_path)
    table = merged(tmp_path).segments
    assert table.index.tolist() == [0, 2, 4]
    assert table.stride.tolist() == [2, 2, 1]
    assert table.valid.all()
    assert table.columns["dur_us"].tolist() == [[2.0, 2.0, 1.0]] * 2
    assert table.columns["p2p_calls"].tolist() == [[2, 2, 1]] * 2
    assert table.columns["sig"][0].tolist() == [3, 4, 5]


def test_two_mpi_programs_in_one_step_are_two_worlds(tmp_path):
    for world, (start, n) in enumerate(((START_NS, 3), (START_NS + 100 * S, 5))):
        for rank in range(2):
            SpoolBuilder(
                exe=f"app{world}", segments=segments_of(rank, range(n)), rank=rank, ranks=2, pid=10 * world + rank + 1,
                start_ns=start + rank, end_ns=start + 50 * S,
            ).write(tmp_path)  # fmt: skip
    profile = merged(tmp_path)
    assert [(p.exe, p.rank) for p in profile.processes] == [("app0", 0), ("app0", 1), ("app1", 0), ("app1", 1)]
    assert (profile.job.ranks, profile.job.command, profile.segments.n_segments) == (2, "app1", 5)


def test_the_owner_of_a_file_is_its_user_whatever_it_says(tmp_path):
    SpoolBuilder(pid=1, end_ns=NOW).write(tmp_path)
    SpoolBuilder(pid=2, uid=os.geteuid() + 1, end_ns=NOW).write(tmp_path)
    profile = merged(tmp_path)
    assert [p.uid for p in profile.processes] == [os.geteuid()] * 2
    assert profile.dropped_files == ()
    assert len(merge_directory(tmp_path, now_ns=NOW, believe_uid=True)) == 2  # another user's is another job


def test_unreadable_files_are_listed_and_the_rest_is_merged(tmp_path):
    good = SpoolBuilder(end_ns=NOW).write(tmp_path)
    (tmp_path / "1001.3.99.5.xws").write_bytes(b"XWSPOOL\0 and then nonsense")
    (tmp_path / "2002.3.99.5.xws").write_bytes(b"another job's")
    (tmp_path / "1001.4.98.5.xws").symlink_to(good)
    profile = merged(tmp_path)
    assert [(os.path.basename(path), reason) for path, reason in profile.dropped_files] == [
        ("1001.3.99.5.xws", "is not a Crosswind spool file, or cut off in its header"),
        ("1001.4.98.5.xws", "is a symbolic link, no regular file"),
    ]
    with pytest.raises(FormatError, match="not a Crosswind spool file"):
        merge_spools([tmp_path / "2002.3.99.5.xws"])


def test_jobs_and_steps_are_kept_apart(tmp_path):
    for i, (job, step) in enumerate((("1", "0"), ("1", "1"), ("2", "0"), ("1", "0"))):
        SpoolBuilder(job_id=job, step_id=step, pid=i + 1, start_ns=START_NS + i, end_ns=NOW).write(tmp_path)
    found = [(p.job.id, p.job.step, len(p.processes)) for p in merge_directory(tmp_path, now_ns=NOW)]
    assert found == [("1", "0", 2), ("1", "1", 1), ("2", "0", 1)]
    with pytest.raises(FormatError, match="belong to 3 job steps"):
        merge_spools(sorted(tmp_path.iterdir()))


def test_processes_without_a_job_are_grouped_by_family(tmp_path):
    for pid, parent in ((10, 1), (11, 10), (12, 11), (20, 1)):
        SpoolBuilder(job_id="", pid=pid, parent_pid=parent, start_ns=START_NS + pid, end_ns=NOW).write(tmp_path)
    families = [(p.job.id, [q.pid for q in p.processes]) for p in merge_directory(tmp_path, now_ns=NOW)]
    seconds = START_NS // S
    assert families == [(f"node01.10.{seconds}", [10, 11, 12]), (f"node01.20.{seconds}", [20])]


def test_misfits_are_left_out(tmp_path):
    for pid in (1, 2):
        SpoolBuilder(pid=pid, end_ns=NOW).write(tmp_path)
    SpoolBuilder(pid=3, slice_ns=S).write(tmp_path)
    SpoolBuilder(pid=4, start_ns=START_NS // 2, end_ns=START_NS // 2 + S).write(tmp_path)
    profile = merged(tmp_path)
    assert [p.pid for p in profile.processes] == [1, 2]
    assert sorted(reason for _, reason in profile.dropped_files) == [
        "began too far away in time from the rest of the job",
        "has slices of 1 s, the job has 4 s",
    ]


def test_clock_and_lost_are_summed_up(tmp_path):
    slices = [
        Slice(FIRST_SLICE, {}, end=90_000, max_error_us=700),
        Slice(FIRST_SLICE + 1, {}, begin=90_000, end=110_000, flags=spools.UNSYNCHRONISED),
        Slice(FIRST_SLICE + 2, {}, begin=110_000, end=-(10**9), flags=LAST),
    ]
    SpoolBuilder(slices=slices, end_ns=START_NS + 3 * SLICE_NS - S, lost={"perf": 2}, pid=1).write(tmp_path)
    SpoolBuilder(lost={"perf": 1, "slices": 5}, pid=2, end_ns=NOW).write(tmp_path)
    profile = merged(tmp_path)
    assert profile.lost == {"perf": 3, "slices": 5}
    assert profile.clock.synchronised == pytest.approx(2 / 3)
    assert (profile.clock.max_error_us, profile.clock.late_median_ms, profile.clock.late_max_ms) == (700, 0.1, 0.11)


def test_copies_and_hard_links_count_nothing_twice(tmp_path):
    values = {"posix_disk_write_calls": 7}
    longer = SpoolBuilder(slices=[Slice(FIRST_SLICE + i, values) for i in range(3)], end_ns=START_NS + 3 * SLICE_NS)
    path = longer.write(tmp_path)
    (tmp_path / "1001.x.1.1.xws").write_bytes(path.read_bytes())
    (tmp_path / "1001.x.2.2.xws").hardlink_to(path)
    SpoolBuilder(slices=longer.slices[:1], end_ns=START_NS + SLICE_NS).write(tmp_path, "1001.x.3.3.xws")
    SpoolBuilder(slices=longer.slices, end_ns=START_NS + 3 * SLICE_NS, pid=9).write(tmp_path)
    [profile] = merge_directory(tmp_path)
    assert profile.slices["posix_disk_write_calls"].tolist() == [[7, 7, 7], [7, 7, 7]]
    assert [why for _, why in profile.dropped_files] == ["is a copy of another file of the job"] * 3
